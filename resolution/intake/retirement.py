"""Retires facts that operators take out of the graph without a conflict, and puts them back."""

from collections.abc import Collection, Iterable

from django.utils import timezone

from memory.db.connections import chunks
from memory.db.transactions import in_transaction
from memory.graph import store
from memory.graph.snapshots import Snapshot
from memory.graph.store import Action, Attribution
from memory.models import Alias, Edge, EdgeHistory, Soas, Source
from memory.types import TripleIds
from resolution.actors import Actor
from resolution.conflicts import rulings
from resolution.conflicts.queue import OPEN, recheck_claims
from resolution.errors import CannotPutBack
from resolution.models import Claim, CollisionType, DecidedTriple

# Facts per transaction. It locks their dimensions until its end, which makes statements wait.
PORTION = 100


def retire(edges: Iterable[Edge], *, actor: str, reason: str) -> list[EdgeHistory]:
    """Move the facts from the graph to the history, in portions, each in its own transaction. Returns the rows of the
    history from which those that were still there can be put back."""
    # Facts of one dimension go into the same portion, so that each portion locks few dimensions.
    by_dimension = sorted(edges, key=lambda edge: (edge.dim_id, edge.pk))
    portions = chunks(by_dimension, PORTION)
    return [row for portion in portions for row in _retire(portion, actor, reason)]


def retire_one(edge: Edge, *, actor: str, reason: str) -> EdgeHistory | None:
    """Retire one fact. Returns the row of the history from which it can be put back, or None if it was gone."""
    return next(iter(_retire([edge], actor, reason)), None)


@in_transaction
def _retire(edges: Collection[Edge], actor: str, reason: str) -> list[EdgeHistory]:
    store.lock_dimensions(edge.dim_id for edge in edges)
    rows = Edge.objects.filter(pk__in=[edge.pk for edge in edges]).select_for_update(of=("self",)).order_by("pk")
    found = list(rows.select_related("concept", "parent", "dim"))
    # Its speakers cannot bring a fact back by stating it again.
    rulings.remember(rulings.find_speakers(found), DecidedTriple.Kind.RETIRED)
    attribution = Actor(actor, Source.OPERATOR).attribute(reason)
    retired = [store.retire(edge, attribution) for edge in found]
    _close_retractions(found)
    return retired


def _close_retractions(edges: Collection[Edge]) -> None:
    slots = {(edge.concept_id, edge.dim_id) for edge in edges}
    waiting = Claim.objects.filter(
        concept_id__in={slot[0] for slot in slots},
        dim_id__in={slot[1] for slot in slots},
        collision_type=CollisionType.RETRACTION,
        status__in=OPEN,
    )
    for slot in sorted({row.slot for row in waiting} & slots):
        recheck_claims(slot, place_first=False)


@in_transaction
def put_back(row_id: int, *, actor: str, reason: str = "") -> Edge:
    """Put back the fact that this row of the history retired. Raises CannotPutBack."""
    row = EdgeHistory.objects.filter(pk=row_id).first()
    if row is None or row.action != Action.RETIRE or row.before is None:
        raise CannotPutBack("Only a fact that was retired can be put back.")
    ids = TripleIds(row.concept_id, row.dim_id, row.before["parent_id"])
    store.lock_dimensions([ids.dim_id])
    _refuse_returned(row, ids.parent_id)
    edge = return_fact(ids, row.before, Actor(actor, Source.OPERATOR).attribute(reason))
    recheck_claims(ids.slot, place_first=False)
    return edge


def return_fact(ids: TripleIds, snapshot: Snapshot, attribution: Attribution) -> Edge:
    """Return the fact of a snapshot to the graph; the caller handles claims and locks. Raises CannotPutBack."""
    alias = Alias.objects.select_related("soas", "concept").filter(pk__in=set(ids)).first()
    if alias is not None:
        raise CannotPutBack(f"It cannot be put back: {alias.soas} is another name of {alias.concept} by now.")
    # The history refers to the parent by its id only, so the word may have been pruned.
    if not Soas.objects.select_for_update(of=("self",), no_key=True).filter(pk=ids.parent_id).exists():
        raise CannotPutBack("It cannot be put back: a word of it is no longer in the vocabulary.")
    if (existing := store.lock_edge(ids)) is not None:
        raise CannotPutBack(f"It cannot be put back, because its place is taken: {existing}.")
    if (closing := store.find_closing_edge(ids)) is not None:
        raise CannotPutBack(f"It cannot be put back, because it would close a cycle with {closing}.")
    rulings.forget(ids)  # so that an agent who states it again confirms it
    return store.put_back(snapshot, attribution)


def _refuse_returned(row: EdgeHistory, parent_id: int) -> None:
    """Raise CannotPutBack if the fact is or was back since, in any way: from then on it has its own history."""
    later = EdgeHistory.objects.filter(
        concept_id=row.concept_id, dim_id=row.dim_id, pk__gt=row.pk, after__parent_id=parent_id
    )
    back = later.exclude(action=Action.CONFIRM).order_by("pk").first()
    if back is None:
        return
    at = timezone.localtime(back.at)
    if back.action == Action.UNDO:
        raise CannotPutBack(f"It was put back already, by {back.actor} on {at:%Y-%m-%d}.")
    raise CannotPutBack(f"It has come back since: {back.actor} stated it again on {at:%Y-%m-%d}.")
