"""An account's uploaded file that is not imported yet. Each account has one, in the home, which all processes of a
machine share. Beside it are its name, its previews, its import's progress, and the outcome."""

import fcntl
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Final

from django.conf import settings
from django.utils import timezone
from pydantic import ValidationError

from memory.graph.placement import Differences
from resolution.actors import Actor
from resolution.transfer.importer import import_file, preview
from resolution.transfer.report import Report

KEPT_S: Final = 24 * 3600.0
PREVIEW_KEPT: Final = timedelta(minutes=10)
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
        self.file = folder() / str(account_id)
        self._progress_at = 0.0

    @property
    def key(self) -> str:
        """Identifies this upload among those of the account; "" if there is none."""
        return str(self.file.stat().st_mtime_ns) if self.file.exists() else ""

    @property
    def name(self) -> str:
        """The file's name, as uploaded."""
        return self._read("name") or "file"

    def save(self, parts: Iterable[bytes], name: str) -> None:
        """Store the file in place of the account's previous one. Raises Busy."""
        for old in folder().iterdir():
            with suppress(FileNotFoundError):
                if time.time() - old.stat().st_mtime > KEPT_S:
                    old.unlink()
        with self.hold():
            self._delete()
            self._write("name", name)
            unfinished = self._beside("part")
            unfinished.touch(mode=0o600)
            with unfinished.open("wb") as file:
                file.writelines(parts)
            unfinished.replace(self.file)

    def discard(self) -> bool:
        """Delete the file. Returns False if there was none. Raises Busy."""
        with self.hold():
            # If the file is gone, it may have been imported meanwhile: keep that outcome for the account to see.
            if is_here := self.file.exists():
                self._delete()
        return is_here

    def preview(
        self, differences: Differences, *, anew: bool = False, may: Callable[[str], bool] = lambda _: True
    ) -> Report:
        """Return a preview, at most PREVIEW_KEPT old, or a new one if ``anew``. Raises UnreadableFile and
        NotPermitted."""
        kept = None if anew else self._read_report(f"preview-{differences}")
        if kept is not None and kept.made_at is not None and timezone.now() - kept.made_at < PREVIEW_KEPT:
            return kept
        with self.file.open("rb") as file:
            report = preview(file, differences, may=may)
        report.made_at = timezone.now()
        self._write(f"preview-{differences}", report.model_dump_json())
        return report

    # --- import ---

    def import_it(
        self, actor: Actor, differences: Differences, *, skip_invalid: bool, may: Callable[[str], bool]
    ) -> None:
        """Import the file. Raises Busy, and whatever ``import_file`` raises."""
        with self.hold(), self.file.open("rb") as file:
            try:
                report = import_file(
                    file,
                    actor,
                    name=self.name,
                    differences=differences,
                    skip_invalid=skip_invalid,
                    progress=self.report_progress,
                    may=may,
                )
                # The importer may have left: keep the outcome for their return.
                self._write("outcome", report.model_dump_json())
                self._delete(keep=("name", "outcome"))
            finally:
                self._beside("progress").unlink(missing_ok=True)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Lock the upload. Raises Busy."""
        # The lock ends with its process, however that ends. Its file is never deleted: two processes could then lock
        # different files.
        self._beside("lock").touch(mode=0o600)
        with self._beside("lock").open("ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Busy from None
            yield

    @property
    def progress(self) -> str | None:
        """The progress of the import, or None if there is none."""
        if (noted := self._read("progress")) is not None:
            try:
                with self.hold():
                    self._beside("progress").unlink(missing_ok=True)  # its process died
            except Busy:
                return noted
        return None

    def report_progress(self, what: str, done: int, total: int) -> None:
        if (now := time.monotonic()) - self._progress_at >= PROGRESS_EVERY_S:
            self._progress_at = now
            self._write("progress", f"{what}: {done / total:.0%}" if total > 0 else what)

    def pop_outcome(self) -> Report | None:
        """Return the outcome of the import, once."""
        outcome = self._read_report("outcome")
        self._beside("outcome").unlink(missing_ok=True)
        return outcome

    # --- files ---

    def _beside(self, what: str) -> Path:
        return self.file.with_name(f"{self.file.name}.{what}")

    def _read(self, what: str) -> str | None:
        with suppress(FileNotFoundError):
            return self._beside(what).read_text()
        return None

    def _read_report(self, what: str) -> Report | None:
        """Read a stored report. Returns None if there is none or another version of Festinger wrote it."""
        with suppress(ValidationError):
            return Report.model_validate_json(self._read(what) or "")
        return None

    def _write(self, what: str, content: str) -> None:
        # Replace the file atomically, because others may be reading it. On a full disk it is missing: a note must not
        # fail the import that it is about.
        unfinished = self._beside(f"{what}.new")
        with suppress(OSError):
            unfinished.write_text(content)
            unfinished.replace(self._beside(what))

    def _delete(self, keep: Iterable[str] = ()) -> None:
        kept = {self._beside(what) for what in ("lock", *keep)}
        for file in [self.file, *folder().glob(f"{self.file.name}.*")]:
            if file not in kept:
                file.unlink(missing_ok=True)
