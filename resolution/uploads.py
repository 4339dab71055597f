"""Files that operators have uploaded and not confirmed yet: in the home, which all processes of a machine share.

Each has a name that nobody guesses, which the session of whoever uploaded it keeps. It comes in parts, so that no
process holds it in memory. What was left behind goes with a later upload.
"""

import fcntl
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Final

from django.conf import settings

BYTES_MAX: Final = 512 * 1024**2  # of one file: some two million facts
ALL_BYTES_MAX: Final = 4 * BYTES_MAX
TOLD_EVERY_S: Final = 0.5
KEPT_S: Final = 24 * 3600.0  # after its last part
_KEY: Final = re.compile(r"[A-Za-z0-9_-]{32}")


class UploadError(Exception):
    """The upload cannot be kept or used; the text says why."""


def begin() -> str:
    """The key of a new, empty upload. Raises UploadError."""
    _clean_up()
    if sum(_size(file) for file in _folder().iterdir()) > ALL_BYTES_MAX:
        raise UploadError("Too many uploaded files wait to be imported. Discard some, or try again tomorrow.")
    key = secrets.token_urlsafe(24)
    os.close(os.open(_path(key), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    return key


def add(key: str, part: Iterator[bytes], *, at: int) -> int:
    """Writes a part to where it belongs; how long the file is now. Raises UploadError."""
    with _opened(key, "r+b") as file:
        if (size := file.seek(0, os.SEEK_END)) != at:
            raise UploadError(f"A part of the file is missing: {size} bytes have come, and the next part is from {at}.")
        for chunk in part:
            size += len(chunk)
            if size > BYTES_MAX:
                raise UploadError(f"The file is too large: at most {BYTES_MAX // 1024**2} MiB can be uploaded."
                                  " Larger ones take manage.py import_graph.")  # fmt: skip
            file.write(chunk)
        return size


@contextmanager
def opened(key: str) -> Iterator[BinaryIO]:
    """The uploaded file. Raises UploadError where it is gone."""
    with _opened(key, "rb") as file:
        yield file


@contextmanager
def taken(key: str) -> Iterator[BinaryIO]:
    """The same for one at a time, who imports it. Raises UploadError."""
    with _opened(key, "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise UploadError("This file is being imported already.") from None
        if not _path(key).exists():
            raise UploadError(GONE)
        yield file


def discard(key: str) -> None:
    if _KEY.fullmatch(key):
        _path(key).unlink(missing_ok=True)
        _progress_path(key).unlink(missing_ok=True)


class Progress:
    """How far an import is, for the page that waits for it, which another process may serve."""

    def __init__(self, key: str) -> None:
        self._file = _progress_path(key)
        self._told_at = 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        if (now := time.monotonic()) - self._told_at < TOLD_EVERY_S:
            return
        self._told_at = now
        part = self._file.with_suffix(".part")
        with suppress(OSError):  # on a full disk nothing is told, and the import goes on
            part.write_text(f"{what}: {done / total:.0%}" if total > 1 else what)
            part.replace(self._file)


def progress_of(key: str) -> str:
    """What an import of the upload told last; empty where it has told nothing, or is done."""
    if not _KEY.fullmatch(key):
        return ""
    try:
        return _progress_path(key).read_text()
    except FileNotFoundError:
        return ""


GONE: Final = "The uploaded file is no longer here: it was imported or discarded, or it is older than a day."


@contextmanager
def _opened(key: str, mode: str) -> Iterator[BinaryIO]:
    if not _KEY.fullmatch(key):
        raise UploadError(GONE)
    try:
        file = open(_path(key), mode)  # noqa: SIM115  closed below; only its opening may find nothing
    except FileNotFoundError:
        raise UploadError(GONE) from None
    with file:
        yield file  # type: ignore[misc]  # binary in all modes used here


def _folder() -> Path:
    folder: Path = settings.HOME / "uploads"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _path(key: str) -> Path:
    return _folder() / key


def _progress_path(key: str) -> Path:
    return _path(key).with_suffix(".progress")


def _clean_up() -> None:
    for file in _folder().iterdir():
        with suppress(FileNotFoundError):
            if file.stat().st_mtime < time.time() - KEPT_S:
                file.unlink()


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0
