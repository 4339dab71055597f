"""``manage.py resolve_conflicts``: runs the resolver, in this process."""

from argparse import ArgumentParser, ArgumentTypeError
from functools import partial
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memory.english.phrases import format_count
from memory.llm import LlmError, NoModel
from resolution.conflicts.verdict import Verdict
from resolution.management.running import add_yes, ask_first, run_here, tell_end
from resolution.models import Claim, Run
from resolution.nightly.resolver import preview, resolve
from resolution.pages.words import describe_counts


class Command(BaseCommand):
    help = "Has the chosen language model decide the pending conflicts (in resolution_mode propose: propose)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--dry-run", action="store_true", help="ask the model and show what it would decide; nothing changes"
        )
        parser.add_argument("--limit", type=at_least_one, metavar="N", help="go over N conflicts at most")
        add_yes(parser)

    def handle(self, *, dry_run: bool, limit: int | None, yes: bool, **_: Any) -> None:
        ask_first("resolve_model_id", yes=yes)
        if dry_run:
            self.preview(limit)
        else:
            self.run_now(limit)

    def preview(self, limit: int | None) -> None:
        count = 0
        try:
            for claim, verdict in preview(limit):
                count += 1
                self.stdout.write(f"{claim}: {in_words(verdict)}")
        except NoModel as error:
            self.stdout.write(self.style.WARNING(f"Nothing can be asked: {error}"))
        except LlmError as error:
            raise CommandError(f"After {format_count(count, 'conflict')}: {error}") from None
        else:
            self.stdout.write(
                f"{format_count(count, 'conflict')}; nothing was changed." if count else "There is nothing to decide."
            )

    def run_now(self, limit: int | None) -> None:
        run = run_here(Run.Trigger.COMMAND, partial(resolve, on_progress=self.show_conflict), limit=limit)
        if run.status == Run.Status.SKIPPED:
            self.stdout.write(self.style.WARNING(f"Skipped, {run.note}"))
            return
        tell_end(self, run, summary(run))

    def show_conflict(self, run: Run, claim: Claim, outcome: str) -> None:
        total = max(run.conflicts_total, run.conflicts_seen)
        self.stdout.write(f"{run.conflicts_seen}/{total} {claim}: {outcome}")


def at_least_one(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"takes a whole number from 1, not {text!r}")
    return int(text)


def in_words(verdict: Verdict | str) -> str:
    if isinstance(verdict, str):
        return f"no verdict: {verdict}"
    names = [name for name in (verdict.existing_dimension, verdict.new_dimension, verdict.dimension) if name]
    into = f" into {', '.join(names)}" if names else ""
    return f"{verdict.decision}{into}: {verdict.reason or 'no reason given'}"


def summary(run: Run) -> str:
    outcomes = f": {counts}" if (counts := describe_counts(run.counts)) else ""
    cost = f", {run.cost:.4f} US dollars" if run.cost is not None else ""
    return (
        f"Run {run.pk} is {run.status}. {format_count(run.conflicts_seen, 'conflict')} of {run.conflicts_total}"
        f"{outcomes}."
        f" {run.input_tokens} tokens read, {run.output_tokens} written{cost}."
    )
