"""``manage.py sweep_conflicts``: searches all layers for contradictions, in this process."""

from typing import Any

from django.core.management.base import BaseCommand

from memory.english.phrases import format_count
from resolution.management.running import run_here
from resolution.models import Run
from resolution.nightly.sweep import sweep_conflicts


class Command(BaseCommand):
    help = "Looks for what project state, facts and memories contradict in each other, and with newer rules."

    def handle(self, **_: Any) -> None:
        run = run_here(Run.Trigger.SWEEP, sweep_conflicts)
        counts = run.counts
        told = f"{format_count(counts.get('opened', 0), 'conflict')} opened, {counts.get('closed', 0)} closed"
        if slots := counts.get("slots"):
            told += f"; {format_count(slots, 'memory has', 'memories have')} another slot by better rules"
        self.stdout.write(f"Run {run.pk} has looked at {run.conflicts_seen:,} facts and memories: {told}.")
