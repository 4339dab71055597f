"""Shared by commands that change something: who runs them, and how they carry out a run."""

import getpass
import sys
from typing import Final

from django.core.management.base import CommandError

from resolution.models import Run
from resolution.nightly.runs import AlreadyRunning, Job, run_now

INTERRUPTED: Final = 130  # exit status of an interrupted command, as in shells


def user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container's user may have no name
        return ""


def run_here(trigger: Run.Trigger, job: Job, *, limit: int | None = None) -> Run:
    """Carry out a run in this process. Raises CommandError if another one is in progress."""
    try:
        return run_now(trigger, user() or "command", job, limit=limit)
    except AlreadyRunning as error:
        raise CommandError(f"{str(error)[0].upper()}{str(error)[1:]}.") from None
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted. What was done until then stays.\n")
        sys.exit(INTERRUPTED)
