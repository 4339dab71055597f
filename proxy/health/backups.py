"""The backups in a home, for whoever watches their age."""

from contextlib import suppress
from pathlib import Path
from typing import Final

FOLDER: Final = "backups"
SUFFIX: Final = ".tar"


def find_newest(home: Path) -> float | None:
    """Return when the newest finished backup was written, in seconds since the epoch; None where there is none."""
    times = []
    for file in (home / FOLDER).glob(f"*{SUFFIX}"):
        with suppress(OSError):  # it has just been deleted
            times.append(file.stat().st_mtime)
    return max(times, default=None)
