"""Shared by commands that change something: who runs them, and how they carry out a run."""

import getpass
import sys
from argparse import ArgumentParser
from typing import Final

from django.core.management.base import BaseCommand, CommandError

from memory import llm
from memory.llm.client import Use
from resolution.models import Run
from resolution.nightly.runs import AlreadyRunning, Job, run_now

INTERRUPTED: Final = 130  # exit status of an interrupted command, as in shells


def user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return ""


def add_yes(parser: ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask, though clients use the model")


def ask_first(setting: Use, *, yes: bool) -> None:
    """Ask whoever runs the command whether to call the model that is chosen for this, if clients use it now. Raises
    CommandError unless they say yes."""
    told = "" if yes else llm.tell_in_use(setting)
    try:
        is_refused = told and input(f"{told} Go on? [y/N] ").strip().lower() not in ("y", "yes")
    except EOFError:
        is_refused = True
    if is_refused:
        raise CommandError(f"Nothing was done. {told} With --yes it does.")


def tell_end(command: BaseCommand, run: Run, summary: str) -> None:
    """Write how the run ended, and exit with 1 unless it did all that it could."""
    command.stdout.write(summary)
    if run.note:
        command.stdout.write(command.style.WARNING(run.note))
    if run.status not in (Run.Status.DONE, Run.Status.SKIPPED):
        sys.exit(1)


def run_here(trigger: Run.Trigger, job: Job, *, limit: int | None = None) -> Run:
    """Carry out a run in this process. Raises CommandError if another one is in progress."""
    try:
        return run_now(trigger, user() or "command", job, limit=limit)
    except AlreadyRunning as error:
        raise CommandError(f"{str(error)[0].upper()}{str(error)[1:]}.") from None
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted. What was done until then stays.\n")
        sys.exit(INTERRUPTED)
