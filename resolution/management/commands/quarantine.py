"""``manage.py quarantine``: takes an agent's statements out of the graph."""

from argparse import ArgumentParser
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from memory.english.phrases import format_count
from memory.management.arguments import moment
from memory.models import Source
from resolution.actors import Actor
from resolution.conflicts import undo
from resolution.errors import DecisionError
from resolution.management.running import user
from resolution.models import Run
from resolution.pages.words import describe_history, names_in
from resolution.quarantine import describe_quarantine, find_suspects, quarantine


class Command(BaseCommand):
    help = (
        "Puts what came from one agent among the candidates: its facts and memories are given no more, its open"
        " conflicts are closed. What others have said, too, stays. The run that does it can be undone."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("agent", nargs="?", help="its name, as facts and conflicts show it")
        parser.add_argument(
            "--since", type=moment, metavar="TIME", help="only what it said first since then, as 2026-11-30T18:00"
        )
        parser.add_argument("--dry-run", action="store_true", help="show what it would take out; nothing changes")
        parser.add_argument("--undo", type=int, metavar="RUN", help="take the quarantine of this run back")

    def handle(self, *, agent: str | None, since: datetime | None, dry_run: bool, undo: int | None, **_: Any) -> None:
        actor = Actor(user(), Source.OPERATOR)
        if undo is not None:
            self.take_back(undo, actor)
        elif not agent:
            raise CommandError("Name the agent, or the run to undo with --undo.")
        else:
            self.take_out(agent, since, dry_run, actor)

    def take_out(self, agent: str, since: datetime | None, dry_run: bool, actor: Actor) -> None:
        found = find_suspects(agent, since)
        for one in found.facts:
            self.stdout.write(f"{one.edge}{_kept(one.voucher.agent if one.voucher is not None else None)}")
        for row in found.claims:
            self.stdout.write(f"conflict {row.conflict_id}: {row}")
        tokens = names_in(row.before for row in found.retracted)
        for retracted in found.retracted:
            self.stdout.write(f"{describe_history(retracted, tokens)} (returns where its place is free)")
        for name in found.names:
            self.stdout.write(f"{name} (ends)")
        for suspect in found.memories:
            voucher = suspect.voucher
            self.stdout.write(
                f"memory {suspect.memory.pk}: {suspect.memory}{_kept(voucher.actor if voucher is not None else None)}"
            )
        if not found:
            self.stdout.write(f"Nothing came from {agent}{' since then' if since else ''}.")
        elif dry_run:
            self.stdout.write(f"{found.describe()} would go; nothing was changed.")
        else:
            run = quarantine(found, actor, Run.Trigger.QUARANTINE, describe_quarantine(agent, since))
            self.stdout.write(
                f"{found.describe()} went to the candidates. Undo it with: {settings.MANAGE} quarantine --undo {run.pk}"
            )

    def take_back(self, run_id: int, actor: Actor) -> None:
        if not Run.objects.filter(pk=run_id, trigger=Run.Trigger.QUARANTINE).exists():
            raise CommandError(f"Run {run_id} is no quarantine.")
        try:
            report = undo.undo_run(run_id, actor, "quarantine taken back")
        except DecisionError as error:
            raise CommandError(str(error)) from None
        for decision, why in report.refused:
            self.stdout.write(self.style.WARNING(f"{decision}: {why}"))
        self.stdout.write(f"{format_count(len(report.undone), 'decision')} undone.")


def _kept(voucher: str | None) -> str:
    return f" (kept: {voucher} says so, too)" if voucher is not None else ""
