"""``manage.py sweep_conflicts``: searches all layers for contradictions, in this process."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memory.english.phrases import format_count
from resolution.management.commands.resolve_conflicts import user
from resolution.nightly.sweep import sweep_conflicts


class Command(BaseCommand):
    help = "Looks for what project state, facts and memories contradict in each other, and with newer rules."

    def handle(self, **_: Any) -> None:
        run = sweep_conflicts(user())
        if run is None:
            raise CommandError("A sweep is under way already.")
        counts = run.counts
        told = f"{format_count(counts.get('opened', 0), 'conflict')} opened, {counts.get('closed', 0)} closed"
        if slots := counts.get("slots"):
            told += f"; {format_count(slots, 'memory has', 'memories have')} another slot by better rules"
        self.stdout.write(f"Run {run.pk} has looked at {run.conflicts_seen:,} facts and memories: {told}.")
