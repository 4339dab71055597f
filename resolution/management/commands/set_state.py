"""``manage.py set_state``: settles a value of a project, takes one back, or lists what holds."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memory.models import Project, ProjectState, Source
from resolution.actors import Actor
from resolution.errors import DecisionError
from resolution.management.commands.resolve_conflicts import user
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
        parser.add_argument("project", help="its slug")
        parser.add_argument("category", nargs="?", help="such as decision, requirement, milestone")
        parser.add_argument("key", nargs="?", help="what there is one value of")
        parser.add_argument("value", nargs="?")
        parser.add_argument("--reason", default="", help="is kept with it")
        parser.add_argument("--remove", action="store_true", help="no value holds there any more")

    def handle(self, *, project: str, category: str, key: str, value: str, reason: str, remove: bool, **_: Any) -> None:
        row = Project.objects.filter(slug=project).first()
        if row is None:
            raise CommandError(f"There is no project {project}. Projects are made in the admin.")
        if not category:
            self.list_values(row)
            return
        if not key or (value is None) != remove:
            raise CommandError("Name category, key and value; or category and key with --remove.")
        actor = Actor(user(), Source.OPERATOR)
        try:
            if remove:
                self.tell(withdraw(row, category, key, actor, reason))
            else:
                self.tell(settle(row, category, key, value, actor, reason))
        except DecisionError as mistake:
            raise CommandError(f"{mistake}.") from mistake

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
