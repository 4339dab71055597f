"""The file that an account has uploaded and not imported yet: one for each, in the home, which all processes of a
machine share. Beside it are its previews, how far its import is, and what that came to."""

import fcntl
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from django.conf import settings

KEPT_S: Final = 24 * 3600.0
PREVIEW_KEPT_S: Final = 600.0
PROGRESS_EVERY_S: Final = 0.5


class Busy(Exception):
    """The file is being imported."""

    def __init__(self) -> None:
        super().__init__("This file is being imported: wait until that is done.")


def folder() -> Path:
    place: Path = settings.HOME / "uploads"
    place.mkdir(mode=0o700, exist_ok=True)
    return place


class Upload:
    def __init__(self, account_id: int) -> None:
        self._name = str(account_id)
        self.file = folder() / self._name
        self._progress_at = 0.0

    @property
    def exists(self) -> bool:
        return self.file.exists()

    @property
    def key(self) -> str:
        """Tells this file from others that the same account uploads before or after it."""
        return str(self.file.stat().st_mtime_ns) if self.exists else ""

    @property
    def size(self) -> int:
        return self.file.stat().st_size

    @property
    def name(self) -> str:
        """What the account calls the file."""
        return (self._read("name") or b"file").decode()

    def save(self, parts: Iterable[bytes], name: str) -> None:
        """In place of what the account uploaded before. Raises Busy."""
        _delete_old()
        with self.hold():
            self._delete()
            self._write("name", name.encode())
            unfinished = self._beside("part")
            unfinished.touch(mode=0o600)
            with unfinished.open("wb") as file:
                file.writelines(parts)
            unfinished.replace(self.file)

    def discard(self) -> bool:
        """Whether there was a file. Raises Busy."""
        with self.hold():
            was_here = self.exists
            self._delete()
        return was_here

    # --- previews ---

    def read_preview(self, kind: str) -> tuple[bytes, datetime] | None:
        """What ``write_preview`` wrote last, and when; None after PREVIEW_KEPT_S."""
        content = self._read(f"preview-{kind}")
        if content is None:
            return None
        at = self._beside(f"preview-{kind}").stat().st_mtime
        return (content, datetime.fromtimestamp(at, UTC)) if time.time() - at < PREVIEW_KEPT_S else None

    def write_preview(self, kind: str, content: bytes) -> None:
        self._write(f"preview-{kind}", content)

    def forget_preview(self, kind: str) -> None:
        self._beside(f"preview-{kind}").unlink(missing_ok=True)

    # --- its import ---

    @contextmanager
    def hold(self) -> Iterator[None]:
        """For one at a time. Raises Busy."""
        # The lock ends with its process, however that ends. Its file stays: who deleted it could hold another's.
        self._beside("lock").touch(mode=0o600)
        with self._beside("lock").open("ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Busy from None
            yield

    @property
    def progress(self) -> str | None:
        """How far the import is; None if there is none."""
        content = self._read("progress")
        if content is None:
            return None
        try:
            with self.hold():
                self._beside("progress").unlink(missing_ok=True)  # its process died
        except Busy:
            return content.decode()
        return None

    def report_progress(self, what: str, done: int, total: int) -> None:
        if (now := time.monotonic()) - self._progress_at >= PROGRESS_EVERY_S:
            self._progress_at = now
            self._write("progress", f"{what}: {done / total:.0%}".encode() if total > 0 else what.encode())

    def finish(self, outcome: bytes | None) -> None:
        """At the end of an import: the file goes if there is an outcome, which stays for whoever comes back."""
        if outcome is not None:
            self._write("outcome", outcome)
            self._delete(keep=("name", "outcome"))
        self._beside("progress").unlink(missing_ok=True)

    @property
    def is_imported(self) -> bool:
        return self._beside("outcome").exists()

    def pop_outcome(self) -> bytes | None:
        content = self._read("outcome")
        self._beside("outcome").unlink(missing_ok=True)
        return content

    # --- files ---

    def _beside(self, what: str) -> Path:
        return self.file.with_name(f"{self._name}.{what}")

    def _read(self, what: str) -> bytes | None:
        with suppress(FileNotFoundError):
            return self._beside(what).read_bytes()
        return None

    def _write(self, what: str, content: bytes) -> None:
        """As a whole, for those that read it meanwhile. On a full disk it is missing, and no more than that."""
        unfinished = self._beside(f"{what}.new")
        with suppress(OSError):
            unfinished.write_bytes(content)
            unfinished.replace(self._beside(what))

    def _delete(self, keep: Iterable[str] = ()) -> None:
        kept = {self._beside(what) for what in ("lock", *keep)}
        for file in [self.file, *folder().glob(f"{self._name}.*")]:
            if file not in kept:
                file.unlink(missing_ok=True)


def _delete_old() -> None:
    for file in folder().iterdir():
        with suppress(FileNotFoundError):
            if time.time() - file.stat().st_mtime > KEPT_S:
                file.unlink()
