"""``manage.py mirror``: prints what is known of a project, as Markdown."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand

from memory.management.arguments import find_project, moment
from resolution.pages.mirror import make_mirror, write_markdown


class Command(BaseCommand):
    help = "Writes what is known of a project for people to read, as Markdown: the page Project overview of the admin."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="its slug")
        parser.add_argument("--since", type=moment, metavar="TIME", help="with what changed since, as 2026-11-30")

    def handle(self, *, project: str, since: datetime | None, **_: Any) -> None:
        self.stdout.write(write_markdown(make_mirror(find_project(project), since)), ending="")
