"""A conflict as it meets the world: whether that is still the one it was queued against.

All functions run inside the caller's transaction.
"""

from dataclasses import dataclass

from django.utils import timezone

from memory.graph import store
from memory.graph.store import Attribution
from memory.models import Edge, Source
from resolution.domain.collisions import classify
from resolution.intake.conflict_queue import IN_ORDER, OPEN
from resolution.models import CollisionType, Conflict, Decision


class DecisionError(Exception):
    """It cannot be decided, or undone, like this; the text says why."""


class Outdated(DecisionError):
    """The world has changed since the conflict was queued: it is now against another fact."""


class Unknown(DecisionError):
    """There is no such conflict, decision or run."""


class Unfit(DecisionError):
    """What was asked for cannot be, whoever else decides what: a name is no token, say."""


@dataclass(slots=True)
class Contest:
    """A locked conflict and the locked fact that stands against it: the one in its slot, or for a ring the one that
    closes it. None where it has gone; then the slot is free, unless the newcomer stands there already."""

    conflict: Conflict
    standing: Edge | None
    is_stated: bool

    @property
    def newcomer(self) -> str:
        row = self.conflict
        return f"{row.concept} {'-isa' if row.incoming_is_isa else '-ispart'} {row.incoming_parent}"


def find(conflict_id: int) -> Conflict:
    """The conflict, not locked: its concept, dimension and newcomer never change. Raises DecisionError."""
    related = ("concept", "dim", "incoming_parent")
    row = Conflict.objects.select_related(*related).filter(id=conflict_id).first()
    if row is None:
        raise Unknown(f"There is no conflict {conflict_id}.")
    return row


def enter(conflict: Conflict, seen: Conflict | None = None) -> Contest:
    """Locks the conflict and what stands against it; the caller holds the lock of its dimension.

    Raises DecisionError if it was decided, or is no longer what was ``seen``, and Outdated."""
    Conflict.objects.select_for_update().get(id=conflict.pk)
    conflict = find(conflict.pk)
    if conflict.status not in OPEN:
        raise DecisionError(_who_decided(conflict))
    if seen is not None and _against(seen) != _against(conflict):
        raise DecisionError(f"Conflict {conflict.pk} has changed meanwhile: it is now {conflict}.")
    edge = edge_in(conflict.concept_id, conflict.dim_id)
    if edge is not None and edge.parent_id == conflict.incoming_parent_id:
        return Contest(conflict, None, is_stated=True)
    if conflict.existing_parent_id is None and edge is None:
        return Contest(conflict, _still_closing(conflict), is_stated=False)
    if edge is not None and edge.parent_id != conflict.existing_parent_id:
        raise Outdated(f"Conflict {conflict.pk} has changed meanwhile: now {edge} stands there.")
    return Contest(conflict, edge, is_stated=False)


def edge_in(concept_id: int, dim_id: int) -> Edge | None:
    """The edge in this slot, locked."""
    edges = Edge.objects.select_for_update(of=("self",)).select_related("concept", "parent", "dim")
    return edges.filter(concept_id=concept_id, dim_id=dim_id).first()


def closing_edge(concept_id: int, parent_id: int, dim_id: int) -> Edge | None:
    """The edge that would close a ring: the last step up from the parent to the concept. Locked."""
    step: int | None = parent_id
    while step is not None:
        above = Edge.objects.filter(concept_id=step, dim_id=dim_id).values_list("parent_id", flat=True).first()
        if above == concept_id:
            return edge_in(step, dim_id)
        step = above if above != step else None
    return None


def rebase(concept_id: int, dim_id: int, *, fill: bool) -> None:
    """Puts what is open in this slot against what stands in its way now. If nothing does and the slot is to be
    filled, the first in the queue's order takes it, as if it had been said now."""
    rows = Conflict.objects.select_for_update(of=("self",)).select_related("concept", "dim", "incoming_parent")
    for row in rows.filter(concept_id=concept_id, dim_id=dim_id, status__in=OPEN).order_by(*IN_ORDER):
        if (edge := edge_in(concept_id, dim_id)) is not None:
            _put_against(row, edge)
        elif (closing := closing_edge(concept_id, row.incoming_parent_id, dim_id)) is not None:
            _turn_against(row, None, closing.concept_id, CollisionType.CYCLE)
        elif fill:
            store.insert(concept_id, row.incoming_parent_id, dim_id, row.incoming_is_isa, said_in(row))
            _close(row)


def said_in(conflict: Conflict) -> Attribution:
    """The statement that collided."""
    return Attribution(
        agent=conflict.agent,
        source=Source(conflict.incoming_source),
        confidence=conflict.incoming_confidence,
        at=conflict.said_at,
        evidence=conflict.evidence,
        role=conflict.role,
        conversation=bytes(conflict.conversation),
    )


def _still_closing(conflict: Conflict) -> Edge | None:
    closing = closing_edge(conflict.concept_id, conflict.incoming_parent_id, conflict.dim_id)
    if closing is not None and closing.concept_id != conflict.blocking_concept_id:
        raise Outdated(
            f"Conflict {conflict.pk} has changed meanwhile: now {closing} closes the ring. Look at it again."
        )
    return closing


def _against(row: Conflict) -> tuple[int | None, int | None, str]:
    return row.existing_parent_id, row.blocking_concept_id, row.collision_type


def _who_decided(conflict: Conflict) -> str:
    last = Decision.objects.filter(conflict=conflict).exclude(kind=Decision.Kind.UNDO).order_by("-id").first()
    if last is not None:
        return f"Conflict {conflict.pk} was already decided by {last.actor}: {last.get_kind_display()}."
    return f"Conflict {conflict.pk} is closed: {conflict.status}."


def _put_against(row: Conflict, edge: Edge) -> None:
    if edge.parent_id == row.incoming_parent_id:
        _close(row)
    else:
        _turn_against(row, edge.parent_id, None, classify(edge.is_isa, row.incoming_is_isa))


def _turn_against(row: Conflict, parent_id: int | None, blocking_id: int | None, collision_type: str) -> None:
    """Where that makes it another question, what was proposed, or failed, was about the old one."""
    if _against(row) == (parent_id, blocking_id, collision_type):
        return
    row.existing_parent_id, row.blocking_concept_id, row.collision_type = parent_id, blocking_id, collision_type
    row.status, row.proposal = Conflict.Status.PENDING, None
    row.attempts, row.last_error, row.next_attempt_at = 0, "", None
    row.save()


def _close(row: Conflict) -> None:
    """What it states stands."""
    row.status, row.resolved_at, row.claimed_until = Conflict.Status.RESOLVED, timezone.now(), None
    row.save(update_fields=["status", "resolved_at", "claimed_until"])
