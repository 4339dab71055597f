"""Facts that an operator takes back, without a conflict about them, and puts back again."""

from collections.abc import Collection, Iterable
from functools import partial

from django.utils import timezone

from memory.db.connections import chunks
from memory.db.transactions import run_transaction
from memory.domain.types import TripleIds
from memory.graph import store
from memory.models import Edge, EdgeHistory, Soas, Source
from resolution.decisions import rulings
from resolution.decisions.locking import closing_edge, edge_in, rebase
from resolution.models import DecidedTriple

Action = EdgeHistory.Action
PORTION = 100  # facts of one transaction, which keeps the locks of their dimensions until its end


class Refused(Exception):
    """The fact cannot be put back; the text says why."""


def retire(edges: Iterable[Edge], *, actor: str, reason: str) -> int:
    """Takes the facts out of the graph into the history, in portions, each in a transaction of its own; how many stood
    there still. Who has stated one of them does not bring it back by stating it again."""
    by_dimension = sorted(edges, key=lambda edge: (edge.dim_id, edge.pk))
    portions = chunks(by_dimension, PORTION)
    return sum(len(run_transaction(partial(_retire, portion, actor, reason))) for portion in portions)


def retire_one(edge: Edge, *, actor: str, reason: str) -> EdgeHistory | None:
    """The same for one fact: the row of the history from which it can be put back, None where it stood no more."""
    return next(iter(run_transaction(lambda: _retire([edge], actor, reason))), None)


def put_back(row_id: int, *, actor: str, reason: str = "") -> Edge:
    """The fact that this row of the history took out of the graph, there again as it was. That it was retired is
    forgotten: whoever states it again confirms it. Raises Refused."""
    return run_transaction(lambda: _put_back(row_id, actor, reason))


def _retire(edges: Collection[Edge], actor: str, reason: str) -> list[EdgeHistory]:
    store.lock_dimensions(edge.dim_id for edge in edges)
    keys = [edge.pk for edge in edges]
    standing = (
        Edge.objects.filter(pk__in=keys).select_for_update(of=("self",)).select_related("concept", "parent", "dim")
    )
    rows = []
    for edge in standing.order_by("pk"):
        key = TripleIds(edge.concept_id, edge.dim_id, edge.parent_id)
        rulings.remember(key, DecidedTriple.Kind.RETIRED, rulings.speakers(edge))
        rows.append(store.retire(edge, actor=actor, source=Source.OPERATOR, reason=reason))
    return rows


def _put_back(row_id: int, actor: str, reason: str) -> Edge:
    row = EdgeHistory.objects.filter(pk=row_id).first()
    if row is None or row.action != Action.RETIRE or row.before is None:
        raise Refused("Only a fact that was retired can be put back.")
    concept_id, dim_id, parent_id = row.concept_id, row.dim_id, row.before["parent_id"]
    store.lock_dimensions([dim_id])
    _refuse_returned(row, parent_id)
    if not Soas.objects.select_for_update(of=("self",), no_key=True).filter(pk=parent_id).exists():
        raise Refused("It cannot be put back: a word of it is no longer in the vocabulary.")
    if (standing := edge_in(concept_id, dim_id)) is not None:
        raise Refused(f"It cannot be put back, because its place is taken: {standing}.")
    if (closing := closing_edge(concept_id, parent_id, dim_id)) is not None:
        raise Refused(f"It cannot be put back, because it would close a ring with {closing}.")
    edge = store.put_back(row.before, actor=actor, source=Source.OPERATOR, reason=reason)
    assert edge is not None  # the dimension is locked: nobody else can have filled the slot
    rulings.forget(TripleIds(concept_id, dim_id, parent_id))
    rebase(concept_id, dim_id, fill=False)
    return edge


def _refuse_returned(row: EdgeHistory, parent_id: int) -> None:
    """A fact that has come back since, in whichever way, has a history of its own from there on."""
    later = EdgeHistory.objects.filter(
        concept_id=row.concept_id, dim_id=row.dim_id, pk__gt=row.pk, after__parent_id=parent_id
    )
    back = later.exclude(action=Action.CONFIRM).order_by("pk").first()
    if back is None:
        return
    at = timezone.localtime(back.at)
    if back.action == Action.UNDO:
        raise Refused(f"It was put back already, by {back.actor} on {at:%Y-%m-%d}.")
    raise Refused(f"It has come back since: {back.actor} stated it again on {at:%Y-%m-%d}.")
