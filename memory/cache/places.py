"""Finds edges in a cache by their places: a slot holds one or, where all is kept, many."""

from memory.cache.state import Cache
from memory.types import EdgeRow, TripleIds


def keeps_all(cache: Cache, dimension: str) -> bool:
    row = cache.soas_by_token.get(dimension)
    return row is not None and row.id in cache.additive_dims


def find_edge(cache: Cache, ids: TripleIds) -> EdgeRow | None:
    """Return the edge in the place of this triple: the fact in its slot or, where all is kept, its own."""
    edges = cache.urd_by_concept_dim
    return edges.get((ids.concept_id, ids.dim_id)) or edges.get(ids)


def list_edges(cache: Cache, concept_id: int, dim_id: int) -> list[EdgeRow]:
    """Return all edges in the slot."""
    edge = cache.urd_by_concept_dim.get((concept_id, dim_id))
    if edge is not None or dim_id not in cache.additive_dims:
        return [edge] if edge is not None else []
    return [edge for edge in cache.urd_by_concept.get(concept_id, ()) if edge.dim_id == dim_id]
