"""A file in the home that only takes up room. It is deleted when the disk is full, so that what must not be lost can
still be written: the journal, Postgres' write-ahead log."""

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from festinger_site.launcher.console import say

NAME: Final = "reserve"
MIB: Final = 1024 * 1024
SIZE_MIB: Final = 64  # what the journals of a home may take (memory/learning/journal.py)
FULL_BYTES: Final = 16 * MIB  # the next segment of Postgres' log would not fit
# Free before it is made: as much must stay free, or it would go again at once.
ROOM_BYTES: Final = 2 * SIZE_MIB * MIB


def keep(home: Path) -> None:
    """Deletes the reserve where the disk is full, and makes it where there is room; takes microseconds else."""
    file = home / NAME
    with suppress(OSError):
        free = shutil.disk_usage(home).free
        if free < FULL_BYTES and file.exists():
            file.unlink()
            say(f"The disk of {home} is full: make room there. Until then little or nothing is stored or logged.")
        elif free > ROOM_BYTES and not file.exists():
            make(file)


def make(file: Path) -> None:
    """Raises OSError, and leaves nothing, where it does not fit."""
    try:
        with file.open("wb") as reserve:
            for _ in range(SIZE_MIB):  # bytes, and not a hole, which would reserve nothing
                reserve.write(bytes(MIB))
    except OSError:
        file.unlink(missing_ok=True)
        raise
