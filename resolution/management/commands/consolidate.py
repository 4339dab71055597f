"""``manage.py consolidate``: runs or undoes a consolidation of the memories, in this process."""

import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from memory.english.phrases import format_count
from memory.models import Source
from resolution.actors import Actor
from resolution.conflicts.undo import undo_run
from resolution.management.running import add_yes, ask_first, run_here, tell_end, user
from resolution.models import Run
from resolution.nightly.consolidation import consolidate_memories, explain_missing_vectors, preview
from resolution.pages.words import describe_counts


class Command(BaseCommand):
    help = "Finds evidence for memories, marks contradictions, merges what says the same, sets aside what has faded."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="show what would be done; nothing changes")
        parser.add_argument("--undo", type=int, metavar="RUN", help="take back all that this run has done")
        add_yes(parser)

    def handle(self, *, dry_run: bool, undo: int | None, yes: bool, **_: Any) -> None:
        if undo is not None:
            self.take_back(undo)
        elif dry_run:
            self.preview()
        else:
            ask_first("consolidate_model_id", yes=yes)
            self.run_now()

    def run_now(self) -> None:
        run = run_here(Run.Trigger.CONSOLIDATE, consolidate_memories)
        summary = (
            f"Run {run.pk} is {run.status}. {format_count(run.conflicts_seen, 'memory', 'memories')}:"
            f" {describe_counts(run.counts) or 'nothing to do'}."
            f" Undo it with: {settings.MANAGE} consolidate --undo {run.pk}"
        )
        tell_end(self, run, summary)

    def preview(self) -> None:
        counts, changes = preview()
        for change in changes:
            self.stdout.write(f"{change.get_action_display()}: {change.memory} ({change.reason})")
        self.stdout.write(f"{describe_counts(counts) or 'Nothing to do'}; nothing was changed.")
        if lack := explain_missing_vectors():
            self.stdout.write(self.style.WARNING(lack))

    def take_back(self, run_id: int) -> None:
        run = Run.objects.filter(pk=run_id, trigger__in=Run.OF_MEMORIES).first()
        if run is None or run.is_open:
            raise CommandError(f"Run {run_id} is no run over memories that has ended.")
        report = undo_run(run.pk, Actor(user() or "operator", Source.OPERATOR))
        for decision, why in report.refused:
            self.stdout.write(self.style.WARNING(f"{decision}: {why}"))
        self.stdout.write(f"{format_count(len(report.undone), 'decision')} undone.")
        if report.refused:
            sys.exit(1)
