"""Facts that an operator takes back, without a conflict about them."""

from collections.abc import Collection

from memory import store
from memory.models import Edge, Source
from resolution import triples
from resolution.intake import retried
from resolution.models import DecidedTriple


def retire(edges: Collection[Edge], *, actor: str, reason: str) -> int:
    """Takes the facts out of the graph into the history; how many stood there still. Who has stated one of them does
    not bring it back by stating it again."""
    return retried(lambda: _retire(edges, actor, reason))


def _retire(edges: Collection[Edge], actor: str, reason: str) -> int:
    store.lock_dimensions(edge.dim_id for edge in edges)
    keys = [edge.pk for edge in edges]
    standing = (
        Edge.objects.filter(pk__in=keys).select_for_update(of=("self",)).select_related("concept", "parent", "dim")
    )
    count = 0
    for edge in standing.order_by("pk"):
        key = (edge.concept_id, edge.dim_id, edge.parent_id)
        triples.remember(key, DecidedTriple.Kind.RETIRED, triples.speakers(edge))
        store.retire(edge, actor=actor, source=Source.OPERATOR, reason=reason)
        count += 1
    return count
