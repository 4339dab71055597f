"""The list of nightly jobs, and the worker's loop over the runs that are requested."""

import logging
from collections.abc import Mapping
from typing import Final

from django.db import Error

from memory.db.connections import first_line, raise_if_away
from resolution.detective.run import read_changes_of_a_day
from resolution.models import Run
from resolution.nightly import runs
from resolution.nightly.consolidation import consolidate_memories
from resolution.nightly.resolver import resolve
from resolution.nightly.runs import Job
from resolution.nightly.sweep import sweep_conflicts
from resolution.nightly.upgrading import demote_memories

logger = logging.getLogger(__name__)

JOBS: Final[Mapping[str, Job]] = {
    **dict.fromkeys(Run.OF_RESOLVER, resolve),
    Run.Trigger.CONSOLIDATE: consolidate_memories,
    Run.Trigger.SWEEP: sweep_conflicts,
    Run.Trigger.DETECT: read_changes_of_a_day,
    Run.Trigger.UPGRADE: demote_memories,
}


def carry_out_requested() -> list[Run]:
    """Carry out the requested runs and return them: those that people asked for first, then in the order of their
    requests. Does nothing if another process is at it. A run that fails does not stop the others."""
    done: list[Run] = []
    if not Run.objects.filter(status__in=(Run.Status.REQUESTED, Run.Status.RUNNING)).exists():
        return done
    with runs.hold_lock() as is_alone:
        while is_alone and (run := _find_next(done)) is not None:
            done.append(run)
            try:
                runs.carry_out(run, JOBS[run.trigger])
            except Exception as error:
                raise_if_away(error)
                # Log tracebacks of our own mistakes only: those of Postgres would quote what people said.
                facts = {"run": run.pk, "error": first_line(error)}
                logger.error("resolution.failed", exc_info=not isinstance(error, Error), extra=facts)
    return done


def _find_next(done: list[Run]) -> Run | None:
    requested = Run.objects.filter(status=Run.Status.REQUESTED).exclude(pk__in=[run.pk for run in done]).order_by("pk")
    return requested.filter(trigger__in=Run.ON_DEMAND).first() or requested.first()
