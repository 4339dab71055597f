"""``manage.py mirror``: what is known of a project, as Markdown."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memory.management.arguments import moment
from memory.models import Project
from resolution.views.mirror.markdown import write_markdown
from resolution.views.mirror.sheet import make_mirror


class Command(BaseCommand):
    help = "Writes what is known of a project for people to read, as Markdown: the page Mirror of the admin."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="its slug")
        parser.add_argument("--since", type=moment, metavar="TIME", help="with what changed since, as 2026-11-30")

    def handle(self, *, project: str, since: datetime | None, **_: Any) -> None:
        row = Project.objects.filter(slug=project).first()
        if row is None:
            raise CommandError(f"There is no project {project}. Projects are made in the admin.")
        self.stdout.write(write_markdown(make_mirror(row, since)), ending="")
