"""Finds the facts that are in the way of claims."""

from collections.abc import Iterable, Mapping

from django.db.models import Q

from memory.graph.store import WORDS
from memory.models import Edge
from memory.types import Place, TripleIds
from resolution.models import Claim


def edges_near(claims: Iterable[Claim], *, is_locked: bool = False) -> dict[Place, Edge]:
    """Return the facts that these claims may be against, by their places. Runs one query."""
    places = {place for claim in claims for place in claim.places}
    edges = Edge.objects.filter(
        Q(is_additive=False) | Q(parent_id__in={place.parent_id for place in places}),
        concept_id__in={place.concept_id for place in places},
        dim_id__in={place.dim_id for place in places},
    )
    edges = edges.select_related(*WORDS)
    if is_locked:
        edges = edges.select_for_update(of=("self",)).order_by("pk")
    return {edge.place: edge for edge in edges}


def edge_at(ids: TripleIds, edges: Mapping[Place, Edge]) -> Edge | None:
    """Return the fact in the triple's place: in its slot or, if the dimension keeps all, the same fact."""
    return edges.get(ids.slot) or edges.get(ids)


def in_the_way(row: Claim, edges: Mapping[Place, Edge]) -> Edge | None:
    """Return the fact that the claim is against, or None if it was taken out meanwhile."""
    return next(filter(None, (edge_at(ids, edges) for ids in row.places)), None)
