"""``manage.py set_state``: sets or withdraws a value of project state, or lists the active ones."""

import asyncio
from argparse import ArgumentParser
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from memory.access.projects import CLOSED, ProjectMistake, make_named
from memory.management.arguments import find_project
from memory.models import Project, ProjectState, Source
from resolution.actors import Actor
from resolution.errors import DecisionError
from resolution.management.running import user
from resolution.memories.project_state import SettledState, settle, withdraw

TOLD = {
    "created": "{row}",
    "replaced": "{row} (was: {replaced})",
    "unchanged": "{row} (it was so already)",
    "withdrawn": "{row} holds no more",
}


class Command(BaseCommand):
    help = (
        "Settles what holds for a project, such as `set_state p05 decision lateral_support_material GF-PTFE`: its"
        " prompts are given it first. Without a category it lists what holds."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", help="its slug; a value for a project that does not exist makes it")
        parser.add_argument("category", nargs="?", help="such as decision, requirement, milestone")
        parser.add_argument("key", nargs="?", help="what there is one value of")
        parser.add_argument("value", nargs="?")
        parser.add_argument("--reason", default="", help="is kept with it")
        parser.add_argument("--remove", action="store_true", help="no value holds there any more")

    def handle(self, *, project: str, category: str, key: str, value: str, reason: str, remove: bool, **_: Any) -> None:
        if not category:
            self.list_values(find_project(project))
            return
        if not key or (value is None) != remove:
            raise CommandError("Name category, key and value; or category and key with --remove.")
        actor = Actor(user(), Source.OPERATOR)
        try:
            if remove:
                self.tell(withdraw(find_project(project), category, key, actor, reason))
            else:
                self.tell(settle(self.find_or_make(project), category, key, value, actor, reason))
        except DecisionError as mistake:
            raise CommandError(f"{mistake}.") from mistake

    def find_or_make(self, slug: str) -> Project:
        """Return the project; create it if it does not exist. Raises CommandError."""
        slug = slug.lower()
        if (project := Project.objects.filter(slug=slug).first()) is not None:
            return project
        # Like projects that requests name: open to requests without a token if the server trusts the local machine.
        is_open = settings.FESTINGER_TRUST_LOOPBACK != "none"
        try:
            asyncio.run(make_named(settings.DATABASE_URL, slug, is_open=is_open))
        except (ProjectMistake, psycopg.Error, OSError) as mistake:
            raise CommandError(str(mistake)) from mistake
        made = Project.objects.get(slug=slug)
        told = f"Made the project {made}"
        self.stderr.write(f"{told}, open to requests without a token." if made.is_open else f"{told}. {CLOSED}")
        return made

    def list_values(self, project: Project) -> None:
        for row in ProjectState.objects.filter(project=project, status="active").order_by("category", "key"):
            self.stdout.write(f"{row}{' (disputed)' if row.is_disputed else ''}")

    def tell(self, outcome: SettledState) -> None:
        replaced = outcome.replaced.value if outcome.replaced is not None else ""
        self.stdout.write(TOLD[outcome.status].format(row=outcome.row, replaced=replaced))
        if outcome.conflict_id is not None:
            self.stdout.write(f"It contradicts something: conflict {outcome.conflict_id}.")
        if outcome.warning:
            self.stdout.write(outcome.warning)
