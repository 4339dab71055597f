"""``manage.py export_graph``: writes the graph to a file."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from resolution import transfer
from resolution.management.commands.resolve_conflicts import INTERRUPTED, ProgressBar


class Command(BaseCommand):
    help = (
        "Exports the graph as JSON Lines: dimensions, facts, muted concepts, decided triples and open conflicts. Two"
        " exports of the same graph are identical. docs/interchange.md describes the file."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="?", default="-", help="where to write it (default: -, standard output)")

    def handle(self, *, file: str, **_: Any) -> None:
        if file == "-":
            for part in transfer.export():
                self.stdout.write(part.decode(), ending="")
            return
        progress = ProgressBar(self.stderr)
        unfinished = Path(f"{file}.unfinished")
        try:
            with unfinished.open("wb") as opened:
                opened.writelines(transfer.export(progress.show_share))
            size = unfinished.replace(file).stat().st_size
        except OSError as error:
            raise CommandError(f"{file} cannot be written: {error.strerror}.") from None
        except KeyboardInterrupt:
            self.stderr.write("Interrupted; nothing was written.")
            sys.exit(INTERRUPTED)
        finally:
            progress.end()
            unfinished.unlink(missing_ok=True)
        self.stdout.write(f"{file}: {size} bytes.")
