"""``manage.py export_graph``: writes the graph to a file."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from resolution import transfer
from resolution.management.running import INTERRUPTED
from resolution.transfer.exporter import PARTS, Extent


class Command(BaseCommand):
    help = (
        "Exports what is known as JSON Lines: the graph, projects and memories. Two exports of"
        " the same are identical. docs/interchange.md describes the file."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="?", default="-", help="where to write it (default: -, standard output)")
        parser.add_argument(
            "--extent",
            choices=tuple(PARTS),
            default="memories",
            help="how much: the graph alone; with projects and memories (default); or with the episodes, too, which"
            " are what people and models said word for word",
        )

    def handle(self, *, file: str, extent: Extent, **_: Any) -> None:
        if file == "-":
            for part in transfer.export(extent=extent):
                self.stdout.write(part.decode(), ending="")
            return
        unfinished = Path(f"{file}.unfinished")
        try:
            with unfinished.open("wb") as opened:
                opened.writelines(transfer.export(extent=extent))
            size = unfinished.replace(file).stat().st_size
        except OSError as error:
            raise CommandError(f"{file} cannot be written: {error.strerror}.") from None
        except KeyboardInterrupt:
            self.stderr.write("Interrupted; nothing was written.")
            sys.exit(INTERRUPTED)
        finally:
            unfinished.unlink(missing_ok=True)
        self.stdout.write(f"{file}: {size} bytes.")
