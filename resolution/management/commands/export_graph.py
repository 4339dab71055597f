"""``manage.py export_graph``: the world as a file."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from resolution import transfer
from resolution.management.commands.resolve_conflicts import INTERRUPTED, Progress


class Command(BaseCommand):
    help = (
        "Writes the world as JSON Lines: dimensions, facts, muted concepts, what was decided, open conflicts. Two"
        " exports of the same world are the same bytes. docs/interchange.md describes the file."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="?", default="-", help="where to (default: -, standard output)")

    def handle(self, *, file: str, **_: Any) -> None:
        if file == "-":
            for part in transfer.export():
                self.write(part)
            return
        progress = Bar(self.stderr)
        try:
            size = self.save(Path(file), progress)
        except OSError as error:
            raise CommandError(f"{file} cannot be written: {error.strerror}.") from None
        except KeyboardInterrupt:
            self.stderr.write("Interrupted; nothing was written.")
            sys.exit(INTERRUPTED)
        finally:
            progress.end()
        self.stdout.write(f"{file}: {size} bytes.")

    def write(self, part: bytes) -> None:
        self.stdout.write(part.decode(), ending="")

    def save(self, file: Path, progress: "Bar") -> int:
        """A file that is there is replaced when the new one is whole."""
        unfinished = file.with_name(f"{file.name}.unfinished")
        try:
            with unfinished.open("wb") as opened:
                opened.writelines(transfer.export(progress))
            return unfinished.replace(file).stat().st_size
        finally:
            unfinished.unlink(missing_ok=True)


class Bar(Progress):
    """A bar on a terminal, and nothing elsewhere."""

    def __call__(self, what: str, done: int, total: int) -> None:  # type: ignore[override]  # another's progress
        if self.is_bar:
            share = done / max(total, 1)
            filled = round(30 * share)
            self.show(f"{what:9} [{'#' * filled}{'.' * (30 - filled)}] {share:.0%}")
