"""``manage.py import_graph``: takes in a world that was exported, or written by hand."""

import shutil
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError

from memory.models import Source
from resolution import transfer
from resolution.actors import Actor
from resolution.management.commands.export_graph import Bar
from resolution.management.commands.resolve_conflicts import INTERRUPTED, quiet, user
from resolution.transfer import Difference, Refused, Report, Unreadable


class Command(BaseCommand):
    help = "Takes in a world that export_graph wrote, all of it or nothing. What is here already is left alone."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="the file, or - for standard input")
        parser.add_argument("--dry-run", action="store_true", help="show what it would come to; nothing changes")
        parser.add_argument(
            "--differences",
            choices=("queue", "keep", "take"),
            default="queue",
            help="facts that contradict what stands: queue them as conflicts (default), keep what stands, or let them"
            " take its place",
        )
        parser.add_argument(
            "--skip-invalid", action="store_true", help="leave out lines with mistakes; else nothing is imported"
        )

    def handle(self, *, file: str, dry_run: bool, differences: Any, skip_invalid: bool, **_: Any) -> None:
        progress = Bar(self.stderr)
        try:
            with opened(file) as source, quiet() if progress.is_bar else nullcontext():
                if dry_run:
                    report = transfer.rehearse(source, differences, progress)
                else:
                    report = transfer.take_in(
                        source,
                        Actor(user(), Source.OPERATOR),
                        name="standard input" if file == "-" else Path(file).name,
                        differences=differences,
                        skip_invalid=skip_invalid,
                        progress=progress,
                    )
        except Unreadable as error:
            raise CommandError(str(error)) from None
        except Refused as refused:
            progress.end()
            self.tell_mistakes(refused.report)
            raise CommandError(f"{refused} --skip-invalid leaves out these lines.") from None
        except KeyboardInterrupt:
            progress.end()
            self.stderr.write("Interrupted; nothing was imported.")
            sys.exit(INTERRUPTED)
        finally:
            progress.end()
        self.tell(report, dry_run=dry_run)

    def tell(self, report: Report, *, dry_run: bool) -> None:
        self.tell_mistakes(report)
        for difference in report.differences:
            self.stdout.write(in_words(difference))
        if (more := report.differing - len(report.differences)) > 0:
            self.stdout.write(f"... and {more} more.")
        for count, what, which in transfer.account(report):
            self.stdout.write(f"{count:>8} {what}: {which}")
        if dry_run:
            self.stdout.write("This was a dry run: nothing was changed.")
        elif not report.changes:
            self.stdout.write("All of it is here already: nothing was changed.")

    def tell_mistakes(self, report: Report) -> None:
        for mistake in report.mistakes:
            self.stderr.write(self.style.WARNING(str(mistake)))
        if (more := report.mistakes_count - len(report.mistakes)) > 0:
            self.stderr.write(self.style.WARNING(f"... and {more} more mistakes."))


def in_words(difference: Difference) -> str:
    against = f"against {difference.standing}" if difference.standing is not None else "which closes a ring"
    return f"line {difference.line}: {difference.fact}, {against}: {difference.outcome}"


@contextmanager
def opened(name: str) -> Iterator[BinaryIO]:
    """The file, from its beginning, which may be read again. Raises CommandError."""
    if name == "-":
        with tempfile.TemporaryFile() as spooled:
            shutil.copyfileobj(sys.stdin.buffer, spooled)
            yield spooled
        return
    try:
        file = Path(name).open("rb")  # noqa: SIM115  closed below; only its opening may fail
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}.") from None
    with file:
        yield file
