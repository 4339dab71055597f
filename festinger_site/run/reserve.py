"""A file in the home that only takes up room. It is deleted when the disk is full, so that what must not be lost can
still be written: the journal, Postgres' write-ahead log."""

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from festinger_site.run.console import say

NAME: Final = "reserve"
MIB: Final = 1024 * 1024
SIZE_MIB: Final = 64  # what the journals of a home may take (memory/learning/journal.py)
FULL_BYTES: Final = 16 * MIB  # the next segment of Postgres' log would not fit
# Free before it is made: as much must stay free, or it would go again at once.
ROOM_BYTES: Final = 2 * SIZE_MIB * MIB
AGAIN_S: Final = 5.0  # from one attempt to make it to the next: where a quota is used up, all of them fail


class Reserve:
    """The reserve of a home."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._file = home / NAME
        self._not_before = 0.0  # by the monotonic clock

    def keep(self) -> None:
        """Delete it where the disk is full, and make it where there is room; takes microseconds else."""
        with suppress(OSError):
            free = shutil.disk_usage(self._home).free
            if free < FULL_BYTES and self._file.exists():
                self._file.unlink()
                say(f"The disk of {self._home} is full: make room there. Until then little or nothing is stored.")
            elif free > ROOM_BYTES and not self._file.exists() and time.monotonic() >= self._not_before:
                self._not_before = time.monotonic() + AGAIN_S
                self._make()

    def _make(self) -> None:
        """Raises OSError, and leaves nothing, where it does not fit."""
        unfinished = self._file.with_name(f"{NAME}.unfinished")
        try:
            with unfinished.open("wb") as file:
                for _ in range(SIZE_MIB):  # no zeros and no hole, which some file systems keep no room for
                    file.write(os.urandom(MIB))
                os.fsync(file.fileno())
            unfinished.rename(self._file)
        except OSError:
            unfinished.unlink(missing_ok=True)
            raise
