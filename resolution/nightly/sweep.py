"""Sweeps project state, facts and memories for contradictions that were missed when they were written, or that only
newer rules detect."""

from typing import Final

from resolution.conflicts import sweep as sweeping
from resolution.models import Conflict, Run
from resolution.nightly import run_records

JOB: Final = "sweep of the layers"
STEP: Final = 10_000  # rows between two progress updates


def sweep_conflicts(actor: str = "") -> Run | None:
    """Run the sweep. Returns None if another one is already running. The run's ``counts`` say how many conflicts it
    opened and closed, and how many memories got another slot."""
    with run_records.hold_alone(JOB, Run.Trigger.SWEEP) as is_alone:
        return run_records.carry_out(Run.Trigger.SWEEP, actor, _work, done="opened") if is_alone else None


def _work(run: Run) -> str:
    rows = Conflict.objects.exclude(slot_kind=Conflict.Kind.EDGE_SLOT).filter(status=Conflict.Status.OPEN)
    open_before = set(rows.values_list("pk", flat=True))
    slots = sweeping.find_slots_again()
    sweeping.store_claims_again()
    seen = noted = 0
    for steps in (sweeping.compare_memories(), sweeping.compare_layers()):
        for count in steps:
            seen += count
            if seen - noted >= STEP:
                noted = seen
                run_records.note_progress(run, conflicts_seen=seen)
    sweeping.settle_open_ones()
    open_now = set(rows.values_list("pk", flat=True))
    counts = {"opened": len(open_now - open_before), "closed": len(open_before - open_now), "slots": slots}
    run_records.note_progress(run, conflicts_seen=seen, counts={name: count for name, count in counts.items() if count})
    return ""
