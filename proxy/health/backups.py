"""The backups in a home, for whoever watches their age."""

from pathlib import Path
from typing import Final

FOLDER: Final = "backups"
SUFFIX: Final = ".tar"


def find_newest(home: Path) -> float | None:
    """Return when the newest finished backup was written, in seconds since the epoch; None where there is none."""
    try:
        return max((file.stat().st_mtime for file in (home / FOLDER).glob(f"*{SUFFIX}")), default=None)
    except OSError:  # a file that has just been deleted
        return find_newest(home)
