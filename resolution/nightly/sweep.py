"""Sweeps project state, facts and memories for contradictions that were missed when they were written, or that only
newer rules detect."""

from typing import Final

from resolution.conflicts import sweep as sweeping
from resolution.models import Conflict, Run
from resolution.nightly.runs import note_progress

STEP: Final = 10_000  # rows between two progress updates


def sweep_conflicts(run: Run) -> str:
    """Run the sweep. The run's ``counts`` say how many conflicts it opened and closed, and how many memories got
    another slot."""
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
                note_progress(run, conflicts_seen=seen)
    sweeping.settle_open_ones()
    open_now = set(rows.values_list("pk", flat=True))
    counts = {"opened": len(open_now - open_before), "closed": len(open_before - open_now), "slots": slots}
    note_progress(run, conflicts_seen=seen, counts={name: count for name, count in counts.items() if count})
    return ""
