"""``manage.py import_graph``: imports a file that was exported, or written by hand."""

import shutil
import sys
import tempfile
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, BinaryIO

from django.core.management.base import BaseCommand, CommandError

from memory.models import Source
from resolution import transfer
from resolution.actors import Actor
from resolution.management.running import INTERRUPTED, user
from resolution.transfer import ImportRefused, Report, UnreadableFile


class Command(BaseCommand):
    help = "Imports a file that export_graph wrote, all of it or nothing. What is already present is left alone."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", help="the file, or - for standard input")
        parser.add_argument("--dry-run", action="store_true", help="show a preview; nothing changes")
        parser.add_argument(
            "--differences",
            choices=("queue", "keep", "take"),
            default="queue",
            help="facts and memories that contradict existing ones: queue them as conflicts (default), keep the"
            " existing ones, or let them take their place",
        )
        parser.add_argument(
            "--skip-invalid", action="store_true", help="leave out lines with mistakes; else nothing is imported"
        )

    def handle(self, *, file: str, dry_run: bool, differences: Any, skip_invalid: bool, **_: Any) -> None:
        try:
            with open_file(file) as source:
                if dry_run:
                    report = transfer.preview(source, differences)
                else:
                    report = transfer.import_file(
                        source,
                        Actor(user(), Source.OPERATOR),
                        name="standard input" if file == "-" else Path(file).name,
                        differences=differences,
                        skip_invalid=skip_invalid,
                    )
        except UnreadableFile as error:
            raise CommandError(str(error)) from None
        except ImportRefused as refused:
            self.print_mistakes(refused.report)
            raise CommandError(f"{refused} --skip-invalid leaves out these lines.") from None
        except KeyboardInterrupt:
            self.stderr.write("Interrupted; nothing was imported.")
            sys.exit(INTERRUPTED)
        self.print_report(report)
        if dry_run:
            self.stdout.write("This was a dry run: nothing was changed.")
        elif not report.changes:
            self.stdout.write("Everything in it is already present: nothing was changed.")

    def print_report(self, report: Report) -> None:
        self.print_mistakes(report)
        for each in report.differences:
            against = f"against {each.existing!r}" if each.existing else "which closes a cycle"
            self.stdout.write(f"line {each.line}: {each.text!r}, {against}: {each.outcome_in_words}")
        if report.more_differences:
            self.stdout.write(f"... and {report.more_differences} more.")
        for count, what, which in report.summarize():
            self.stdout.write(f"{count:>8} {what}: {which}")

    def print_mistakes(self, report: Report) -> None:
        if report.warning:
            self.stderr.write(self.style.WARNING(report.warning))
        for mistake in report.mistakes:
            self.stderr.write(self.style.WARNING(str(mistake)))
        if report.more_mistakes:
            self.stderr.write(self.style.WARNING(f"... and {report.more_mistakes} more mistakes."))


def open_file(name: str) -> BinaryIO:
    """Open the file so that it can be read more than once. Raises CommandError."""
    if name == "-":
        spooled = tempfile.TemporaryFile()  # noqa: SIM115  closed by the caller
        shutil.copyfileobj(sys.stdin.buffer, spooled)
        return spooled
    try:
        return Path(name).open("rb")
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}.") from None
