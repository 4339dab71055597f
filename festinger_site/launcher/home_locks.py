"""Three file locks decide who may start and stop the processes of a home. The kernel drops them with their holder.

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

from festinger_site.environment import EnvironmentMistake

# Seconds. A launcher whose make was killed is about to notice; a command holds the lock just to see who runs.
PATIENCE_S = 3

RUN = "run.lock"


class HomeInUse(Exception):
    """Another launcher has this home."""


@contextmanager
def launching(home: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Holds run.lock. Waits for a launcher that is stopping; raises HomeInUse for one that is not."""
    with lock_file(home, RUN) as lock:
        started = time.monotonic()
        while not try_lock(lock, fcntl.LOCK_EX):
            holder = (home / RUN).read_text()
            if "stopping" in holder:
                on_wait()
            elif time.monotonic() - started > PATIENCE_S:
                raise HomeInUse(f"Festinger is already running from {home} (pid {holder})")
            time.sleep(0.05)
        # Written over, not replaced by a new file: the lock is on this one.
        (home / RUN).write_text(str(os.getpid()))
        yield


def read_launcher(home: Path) -> int:
    """Return the process id of the last launcher of the home at this path; 0 where there is none."""
    with suppress(OSError, ValueError):
        return int((home / RUN).read_text().partition(",")[0])
    return 0


def tell_stopping(home: Path) -> None:
    """Tells whoever wants to launch next that it may wait."""
    with suppress(OSError):  # of a home that was deleted meanwhile: what runs from it has to stop all the same
        (home / RUN).write_text(f"{os.getpid()}, stopping")


def is_launched(home: Path) -> bool:
    # Shared: two commands that look at once must not take each other for a launcher.
    with lock_file(home, RUN) as lock:
        return not try_lock(lock, fcntl.LOCK_SH)


@contextmanager
def starting(home: Path) -> Iterator[None]:
    with lock_file(home, "start.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@contextmanager
def starting_alone(home: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Holds start.lock, once no command uses the home's Postgres; until then calls ``on_wait`` over and over."""
    while True:
        # Released between two attempts: a command needs start.lock to leave.
        with starting(home), lock_file(home, "use.lock") as users:
            if try_lock(users, fcntl.LOCK_EX):
                yield
                return
        on_wait()
        time.sleep(0.2)


@contextmanager
def using(home: Path, *, arrive: Callable[[], bool], leave_last: Callable[[], None]) -> Iterator[None]:
    """Holds use.lock. Before, ``arrive`` runs, in one process at a time, until it returns true; after, ``leave_last``
    runs if nobody else uses the home."""
    with lock_file(home, "use.lock") as users:
        try:
            while True:
                with starting(home):
                    fcntl.flock(users, fcntl.LOCK_SH)
                    if arrive():
                        break
                    # The launcher may be waiting for this one.
                    fcntl.flock(users, fcntl.LOCK_UN)
                time.sleep(0.2)
            # Without start.lock: others come and go while this command works.
            yield
        finally:
            with starting(home):
                # The lock becomes exclusive only if no other command shares it.
                if try_lock(users, fcntl.LOCK_EX):
                    leave_last()


def lock_file(home: Path, name: str) -> IO[str]:
    """Raises EnvironmentMistake where the home belongs to another user."""
    try:
        # Not "w", which would empty what the holder wrote.
        return (home / name).open("a")
    except OSError as error:
        raise EnvironmentMistake(f"{home}: this home cannot be used ({name}: {error.strerror})") from error


def try_lock(file: IO[str], kind: int) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(file, kind | fcntl.LOCK_NB)
        return True
    return False
