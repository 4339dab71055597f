"""``manage.py create_project SLUG``: makes a project."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memory.access.projects import CLOSED, ProjectMistake, create


class Command(BaseCommand):
    help = "Makes a project, to which memories, episodes and project state may belong."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("slug", help="how requests name it: at most 64 small letters, digits and . _ -")
        parser.add_argument("--name", default="", help="for people (default: the slug)")
        parser.add_argument("--description", default="", help="what it is about")
        parser.add_argument("--open", action="store_true", help="requests without a token may name it, too")

    def handle(self, *, slug: str, name: str, description: str, open: bool, **_: Any) -> None:
        try:
            project = create(slug, name, description, is_open=open)
        except ProjectMistake as mistake:
            raise CommandError(str(mistake)) from None
        self.stdout.write(f"Made the project {project}.{'' if project.is_open else f' {CLOSED}'}")
