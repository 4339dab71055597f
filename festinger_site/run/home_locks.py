"""Two file locks decide who may start and stop the processes of a home. The kernel drops them with their holder.

run.lock  held by the launcher for as long as it runs; its text is the launcher's process id
use.lock  shared by every command that uses Postgres; held alone by whoever starts or stops Postgres
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
AGAIN_S = 0.2
RUN, USE = "run.lock", "use.lock"


class HomeInUse(Exception):
    """Another launcher has this home."""


@contextmanager
def launching(home: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold run.lock. Wait for a launcher that is stopping; raise HomeInUse for one that is not."""
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
    """Return the process id of the last launcher of the home at this path; 0 if there is none."""
    with suppress(OSError, ValueError):
        return int((home / RUN).read_text().partition(",")[0])
    return 0


def tell_stopping(home: Path) -> None:
    """Tell whoever wants to launch next that it may wait."""
    with suppress(OSError):  # of a home that was deleted meanwhile: what runs from it has to stop all the same
        (home / RUN).write_text(f"{os.getpid()}, stopping")


def is_launched(home: Path) -> bool:
    # Shared: two commands that look at once must not take each other for a launcher.
    with lock_file(home, RUN) as lock:
        return not try_lock(lock, fcntl.LOCK_SH)


@contextmanager
def starting(home: Path, on_wait: Callable[[], None]) -> Iterator[None]:
    """Hold use.lock alone, once no command uses the home's Postgres; until then call ``on_wait`` over and over."""
    with lock_file(home, USE) as users:
        while not try_lock(users, fcntl.LOCK_EX):
            on_wait()
            time.sleep(AGAIN_S)
        yield


@contextmanager
def using(
    home: Path, *, start: Callable[[], None], is_usable: Callable[[], bool], stop: Callable[[], None]
) -> Iterator[None]:
    """Share use.lock while Postgres ``is_usable``. The first user, who is alone, has to ``start`` it, the last one to
    ``stop`` it."""
    with lock_file(home, USE) as users:
        try:
            while True:
                if try_lock(users, fcntl.LOCK_EX):
                    start()
                # Not at once with the line above: somebody else may start or stop it in between.
                fcntl.flock(users, fcntl.LOCK_SH)
                if is_usable():
                    break
                fcntl.flock(users, fcntl.LOCK_UN)  # a launcher may be waiting for it
                time.sleep(AGAIN_S)
            yield
        finally:
            # The lock becomes exclusive only if nobody else shares it.
            if try_lock(users, fcntl.LOCK_EX):
                stop()


def lock_file(home: Path, name: str) -> IO[str]:
    """Raises EnvironmentMistake if the home belongs to another user."""
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
