"""Undoes a whole consolidation run."""

from dataclasses import dataclass, field
from typing import Final

from django.db.models import QuerySet
from django.utils import timezone

from memory.channels import Channel
from memory.db.transactions import in_transaction
from memory.memories import merging as uniting
from memory.memories.store import Change
from memory.models import Memory, MemoryHistory
from resolution.actors import Actor
from resolution.layers.conflicts import MemberKind, close_moot, find_open, settle_moot
from resolution.layers.detection import disagree
from resolution.layers.memories import dispute_rivals
from resolution.memories.service import lock_memory
from resolution.models import Conflict, Run

TIERS: Final = (Conflict.Tier.OPPOSITION, Conflict.Tier.MODEL)  # of conflicts that consolidations open


@dataclass(slots=True)
class TakenBack:
    """The number of memories put back, and the memories that were not because they have changed since."""

    undone: int = 0
    refused: list[Memory] = field(default_factory=list)


def find_changed(run: Run) -> QuerySet[Memory]:
    """Return the memories that the run changed and nobody has put back."""
    rows = MemoryHistory.objects.filter(run=run.pk)
    undone = rows.filter(action=MemoryHistory.Action.UNDO).values("memory")
    return Memory.objects.filter(pk__in=rows.values("memory")).exclude(pk__in=undone)


def undo_consolidation(run: Run, actor: Actor, reason: str = "") -> TakenBack:
    """Put the memories back, newest first, each in its own transaction. Memories that have changed since stay as they
    are."""
    report = TakenBack()
    by = Change(actor.signature, Channel.OPERATOR, timezone.now(), reason=reason, run=run.pk)
    for key in list(find_changed(run).order_by("-pk").values_list("pk", flat=True)):
        refused = _put_back(key, run, by)
        if refused is None:
            report.undone += 1
        else:
            report.refused.append(refused)
    return report


def _was_open_before(conflict: Conflict) -> bool:
    """True if a model's finding only joined a conflict that rules detect without it."""
    return conflict.tier == Conflict.Tier.MODEL and disagree(conflict)


@in_transaction
def _put_back(memory_id: int, run: Run, by: Change) -> Memory | None:
    """Put one memory back. Returns the memory if it has changed since, else None."""
    memory = lock_memory(memory_id)
    held = memory.status == Memory.Status.ACTIVE
    if not uniting.take_back(memory, run.pk, by):
        return memory
    if memory.history.filter(run=run.pk, action=MemoryHistory.Action.DISPUTE).exists():
        opened = Conflict.objects.filter(pk__in=find_open(MemberKind.MEMORY, [memory.pk]), question="")
        close_moot([conflict.pk for conflict in opened.filter(tier__in=TIERS) if not _was_open_before(conflict)])
    settle_moot(MemberKind.MEMORY, [memory.pk])
    if memory.status == Memory.Status.ACTIVE and not held:
        dispute_rivals(memory, by)
    return None
