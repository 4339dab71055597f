"""``manage.py detect``: reads the story of a project, in this process."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from memory import llm
from memory.english.phrases import format_count
from memory.management.arguments import find_project
from memory.models import Project
from resolution.detective import run
from resolution.management.running import add_yes, ask_first, run_here, tell_end
from resolution.models import Conflict, Run
from resolution.pages.words import describe_counts


class Command(BaseCommand):
    help = "Reads the story of a project, and asks people where somebody who joins it today would be confused."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("project", nargs="?", help="its slug; without one, what belongs to no project is read")
        parser.add_argument(
            "--dry-run", action="store_true", help="show what would be asked; a language model's calls still count"
        )
        add_yes(parser)

    def handle(self, *, project: str | None, dry_run: bool, yes: bool, **_: Any) -> None:
        chosen = find_project(project) if project else None
        ask_first(run.SETTING, yes=yes)
        if dry_run:
            self.preview(chosen)
        else:
            self.run_now(chosen)

    def preview(self, project: Project | None) -> None:
        read = run.preview(project)
        for finding in read.findings:
            self.stdout.write(f"{finding.question} (Found by: {Conflict.Tier(finding.tier).label}.)")
            for line in finding.lines:
                self.stdout.write(f"  {line.at:%Y-%m-%d %H:%M} {line.text}{f' ({line.ending})' if line.ending else ''}")
        for failure in [*filter(None, [llm.missing(run.SETTING)]), *read.failures]:
            self.stdout.write(self.style.WARNING(failure))
        asked = format_count(len(read.findings), "question") if read.findings else "Nothing"
        batches = format_count(read.batches, "batch", "batches")
        self.stdout.write(f"{format_count(read.lines, 'line')} in {batches}. {asked} would be asked.")

    def run_now(self, project: Project | None) -> None:
        done = run_here(Run.Trigger.DETECT, run.make_job(project))
        tell_end(self, done, f"Run {done.pk} is {done.status}: {describe_counts(done.counts) or 'nothing to read'}.")
