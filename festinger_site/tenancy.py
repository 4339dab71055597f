"""Who may start and stop what lives in a home: three locks, which the kernel drops together with their holder.

run.lock    held by the launcher for as long as it runs; its text is the launcher's process id
start.lock  held while Postgres is started, set up or stopped; the others wait
use.lock    shared by every command that uses Postgres while no launcher runs; the last one out stops it
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

# A launcher that has been told to stop, or whose make was killed, is about to let go; a command holds the lock
# for a moment when it looks who runs.
PATIENCE_S = 3


class AlreadyRunning(Exception):
    """Another launcher has this home."""


@contextmanager
def launching(home: Path) -> Iterator[None]:
    """This home is ours to run. Raises AlreadyRunning after PATIENCE_S."""
    with (home / "run.lock").open("a+") as lock:
        if not wait_for(lambda: try_lock(lock, fcntl.LOCK_EX), timeout_s=PATIENCE_S):
            lock.seek(0)
            raise AlreadyRunning(f"Festinger is already running from {home} (pid {lock.read().strip()})")
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        yield


def is_launched(home: Path) -> bool:
    """True where a launcher runs."""
    with (home / "run.lock").open("a") as lock:
        return not try_lock(lock, fcntl.LOCK_SH)


@contextmanager
def starting(home: Path) -> Iterator[None]:
    with (home / "start.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def starting_alone(home: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """As ``starting``, once no command uses the home's Postgres; until then ``on_wait`` is told over and over."""
    while True:
        # Let go between two looks: a command needs start.lock to leave.
        with starting(home), (home / "use.lock").open("a") as users:
            if try_lock(users, fcntl.LOCK_EX):
                yield
                return
        on_wait()
        time.sleep(0.2)


@contextmanager
def using(home: Path, *, arrive: Callable[[], None], leave_last: Callable[[], None]) -> Iterator[None]:
    """``arrive`` runs before, one caller at a time; ``leave_last`` after, where nobody else uses the home."""
    with (home / "use.lock").open("a") as users:
        with starting(home):
            fcntl.flock(users, fcntl.LOCK_SH)
            arrive()
        try:
            yield
        finally:
            with starting(home):
                if try_lock(users, fcntl.LOCK_EX):
                    leave_last()


def try_lock(file: IO[str], kind: int) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(file, kind | fcntl.LOCK_NB)
        return True
    return False


def wait_for(is_so: Callable[[], bool], *, timeout_s: float) -> bool:
    deadline = time.monotonic() + timeout_s
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True
