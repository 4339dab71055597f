"""Files that operators have uploaded and not confirmed yet: in the home, which all processes of a machine share.

Each has a name that nobody guesses, which the session of whoever uploaded it keeps. It comes in parts, so that no
process holds it in memory. What was left behind goes with a later upload. Beside it are notes about it.

Two locks, both of a kind that ends with its process: whoever imports a file or discards it holds the file's; whoever
looks at it holds that of a file beside it, so that no import waits for a look.
"""

import fcntl
import os
import re
import secrets
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, Final, Literal

from django.conf import settings

BYTES_MAX: Final = 512 * 1024**2  # of one file: some two million facts
ALL_BYTES_MAX: Final = 4 * BYTES_MAX
PROGRESS_EVERY_S: Final = 0.5
KEPT_S: Final = 24 * 3600.0  # after its last part
UNFINISHED_KEPT_S: Final = 3600.0  # after the last part that came
UNFINISHED: Final = "unfinished"
LOOK: Final = "look"
PROGRESS: Final = "progress"
OUTCOME: Final = "outcome"
_KEY: Final = re.compile(r"[A-Za-z0-9_-]{32}")

Doing = Literal["importing", "looking", ""]


class UploadError(Exception):
    """The upload cannot be kept or used; the text says why."""


class Missing(UploadError):
    """There is no such upload."""

    def __init__(self) -> None:
        super().__init__(
            "The uploaded file is no longer here: it was imported or discarded, or it has waited for too long."
        )


class Busy(UploadError):
    """Somebody is at the file just now."""


def begin() -> str:
    """The key of a new, empty upload. Raises UploadError."""
    _clean_up()
    if sum(_size(file) for file in _folder().iterdir()) > ALL_BYTES_MAX:
        raise UploadError(
            f"Uploaded files take {ALL_BYTES_MAX // 1024**2} MiB, and there is no room for another. They go when they"
            " are imported or discarded, or after a day; those that came only in part, after an hour."
            " manage.py import_graph needs no such room."
        )
    key = secrets.token_urlsafe(24)
    os.close(os.open(_path(key, UNFINISHED), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    return key


def add(key: str, part: Iterator[bytes], *, at: int) -> int:
    """Writes a part of an unfinished upload to where it belongs; how long the file is now. Raises UploadError."""
    with _opened(_path(key, UNFINISHED), "r+b") as file:
        if (size := file.seek(0, os.SEEK_END)) != at:
            raise UploadError(f"A part of the file is missing: {size} bytes have come, and the next part is from {at}.")
        for chunk in part:
            size += len(chunk)
            if size > BYTES_MAX:
                _path(key, UNFINISHED).unlink(missing_ok=True)  # or it would take room that nobody can free
                raise UploadError(f"The file is too large: at most {BYTES_MAX // 1024**2} MiB can be uploaded."
                                  " Larger ones take manage.py import_graph.")  # fmt: skip
            file.write(chunk)
        return size


def finish(key: str) -> None:
    """All parts have come. Raises UploadError."""
    try:
        _path(key, UNFINISHED).rename(_path(key))
    except FileNotFoundError:
        raise Missing from None


@contextmanager
def looked_at(key: str) -> Iterator[BinaryIO]:
    """The uploaded file, for one at a time, who looks at it. Raises UploadError."""
    with _opened(_path(key)) as file, _path(key, LOOK).open("ab") as lock:
        if not _lock(lock):
            raise Busy("This file is being looked at already.")
        yield file


@contextmanager
def taken(key: str) -> Iterator[BinaryIO]:
    """The uploaded file, for one at a time, who imports it. Raises UploadError."""
    with _held(key) as file:
        note(key, PROGRESS, b"")
        try:
            yield file
        finally:
            _path(key, PROGRESS).unlink(missing_ok=True)


def imported(key: str, outcome: bytes) -> None:
    """Of a file that is ``taken``, only the outcome stays: whoever began the import may have left by now."""
    note(key, OUTCOME, outcome)
    _path(key).unlink(missing_ok=True)
    for file in _notes(key):
        if file != _path(key, OUTCOME):
            file.unlink(missing_ok=True)


def discard(key: str) -> bool:
    """Takes away the file, if it is still here (then true), and all that was noted of it. Raises UploadError where it
    is being imported."""
    was_here = False
    with suppress(Missing), _held(key):
        _path(key).unlink(missing_ok=True)
        was_here = True
    with suppress(Missing):
        for file in _notes(key):
            file.unlink(missing_ok=True)
    return was_here


def doing(key: str) -> Doing:
    """What somebody does with the file just now."""
    with suppress(Missing):
        # Without progress there is no import to be found, and none that begins meets a lock that is only tried.
        if noted(key, PROGRESS) and _is_held(_path(key)):
            return "importing"
        if _is_held(_path(key, LOOK)):
            return "looking"
    return ""


# --- notes ---


@dataclass(frozen=True, slots=True)
class Note:
    content: bytes
    at: datetime

    @property
    def age_s(self) -> float:
        return (datetime.now(UTC) - self.at).total_seconds()


def note(key: str, name: str, content: bytes) -> None:
    """Keeps something beside an uploaded file, until that goes. On a full disk nothing is kept, and that is all."""
    file, part = _path(key, name), _path(key, f"{name}-part")
    with suppress(OSError):
        part.write_bytes(content)
        part.replace(file)
    if not _path(key).exists():
        file.unlink(missing_ok=True)


def noted(key: str, name: str) -> Note | None:
    try:
        with _opened(_path(key, name)) as file:
            return Note(file.read(), datetime.fromtimestamp(os.fstat(file.fileno()).st_mtime, UTC))
    except Missing:
        return None


def forget(key: str, name: str) -> None:
    with suppress(Missing):
        _path(key, name).unlink(missing_ok=True)


class Progress:
    """How far an import is, for the page that waits for it, which another process may serve."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._noted_at = 0.0

    def __call__(self, what: str, done: int, total: int) -> None:
        if (now := time.monotonic()) - self._noted_at < PROGRESS_EVERY_S:
            return
        self._noted_at = now
        note(self._key, PROGRESS, (f"{what}: {done / total:.0%}" if total > 1 else what).encode())


def progress_of(key: str) -> str:
    """What an import of the upload noted last; empty where it has noted nothing, or is done."""
    last = noted(key, PROGRESS)
    return last.content.decode() if last is not None else ""


# --- files ---


def nameless() -> BinaryIO:
    """An empty file beside the uploads, which goes when it is closed."""
    return tempfile.TemporaryFile(dir=_folder())


@contextmanager
def _opened(path: Path, mode: Literal["rb", "r+b"] = "rb") -> Iterator[BinaryIO]:
    try:
        file = path.open(mode)
    except FileNotFoundError:
        raise Missing from None
    with file:
        yield file


@contextmanager
def _held(key: str) -> Iterator[BinaryIO]:
    with _opened(_path(key)) as file:
        if not _lock(file):
            raise Busy("This file is being imported already.")
        if not _path(key).exists():  # whoever held it before has taken it away
            raise Missing
        yield file


def _lock(file: BinaryIO, kind: int = fcntl.LOCK_EX) -> bool:
    """Whether it is ours now, until it is closed."""
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_held(path: Path) -> bool:
    try:
        with _opened(path) as file:
            return not _lock(file, fcntl.LOCK_SH)
    except Missing:
        return False


def _folder() -> Path:
    folder: Path = settings.HOME / "uploads"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def _path(key: str, name: str = "") -> Path:
    """Of an uploaded file, or of what is beside it. Raises Missing for what is no key."""
    if not _KEY.fullmatch(key):
        raise Missing
    return _folder() / (f"{key}.{name}" if name else key)


def _notes(key: str) -> list[Path]:
    return list(_folder().glob(f"{_path(key).name}.*"))


def _clean_up() -> None:
    for file in list(_folder().iterdir()):
        kept_s = UNFINISHED_KEPT_S if file.suffix == f".{UNFINISHED}" else KEPT_S
        if _age_s(file) > kept_s:
            for each in (file, *_folder().glob(f"{file.name}.*")):
                each.unlink(missing_ok=True)


def _age_s(file: Path) -> float:
    try:
        return time.time() - file.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0
