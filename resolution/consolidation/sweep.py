"""The sweep: looks through project state, facts and memories for what contradicts each other, and was not seen when it
was written, or is only seen by newer rules."""

from typing import Final

from django.db.models import QuerySet
from django.utils import timezone

from memory.db.locks import try_job_lock
from resolution.layers import sweeping
from resolution.models import Conflict, Run
from resolution.resolver import run_records

JOB: Final = "sweep of the layers"
STEP: Final = 10_000  # rows between two signs of progress


def sweep_conflicts(actor: str = "") -> Run | None:
    """None where another is under way. ``counts``: how many conflicts it has opened and closed, and how many memories
    were given another slot."""
    with try_job_lock(JOB) as is_alone:
        if not is_alone:
            return None
        # Whoever carried out another has lost the lock, and so is gone.
        Run.objects.filter(status=Run.Status.RUNNING, trigger=Run.Trigger.SWEEP).update(
            status=Run.Status.FAILED, note=run_records.DIED, ended_at=timezone.now()
        )
        run = Run.objects.create(trigger=Run.Trigger.SWEEP, actor=actor[: run_records.ACTOR_MAX], mode="")
        try:
            with run_records.keep_alive(run):
                _work(run)
        except Exception as error:
            run_records.close(run, Run.Status.FAILED, f"{type(error).__name__}; what it had opened until then stays.")
            raise
        run_records.close(run, Run.Status.DONE, "")
        return run


def _work(run: Run) -> None:
    rows = Conflict.objects.exclude(slot_kind=Conflict.Kind.EDGE_SLOT)
    open_before = set(_open_ones(rows).values_list("pk", flat=True))
    slots = sweeping.find_slots_again()
    sweeping.note_slots_again()
    seen = noted = 0
    for steps in (sweeping.compare_memories(), sweeping.compare_layers()):
        for count in steps:
            seen += count
            if seen - noted >= STEP:
                noted = seen
                run_records.note_progress(run, conflicts_seen=seen)
    sweeping.open_old_disputes()
    sweeping.settle_open_ones()
    open_now = set(_open_ones(rows).values_list("pk", flat=True))
    counts = {"opened": len(open_now - open_before), "closed": len(open_before - open_now), "slots": slots}
    run_records.note_progress(run, conflicts_seen=seen, counts={name: count for name, count in counts.items() if count})


def _open_ones(rows: QuerySet[Conflict]) -> QuerySet[Conflict]:
    return rows.filter(status=Conflict.Status.OPEN)
