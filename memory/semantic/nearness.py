"""Finds texts that are near each other in meaning, by their vectors: all with all, which only the consolidation
needs."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

from django.db.models import QuerySet

from memory.db.connections import fetch_rows
from memory.models import Memory

BLOCK: Final = 1_000  # rows of a matrix that are compared at a time
VECTORS: Final = """
    SELECT v.id, halfvec_send(v.vector) FROM {kind}_vector v JOIN embedder ON embedder.id = v.embedder_id AND is_current
    WHERE v.id = ANY(%s) ORDER BY v.id
"""
NEAREST: Final = """
    SELECT v.id FROM memory_vector v JOIN embedder ON embedder.id = v.embedder_id AND is_current
    WHERE v.id IN ({rows}) AND v.vector <=> %s::halfvec < %s
"""


def find_near_pairs(memory_ids: Sequence[int], least: float) -> Iterator[tuple[int, int]]:
    """Yield the pairs of memories whose cosine is above ``least``, each once."""
    keys, matrix = load_vectors("memory", memory_ids)
    for start in range(0, len(keys), BLOCK):
        near = (matrix[start : start + BLOCK] @ matrix.T > least).nonzero()
        for one, other in zip(*map(list, near), strict=True):
            if start + one < other:
                yield keys[start + one], keys[other]


def find_near_episodes(
    texts: tuple[Sequence[int], Any], episode_ids: Sequence[int], least: float
) -> Iterator[tuple[int, int]]:
    """Yield for each memory or episode with these vectors the episodes whose cosine is at least ``least``."""
    keys, matrix = texts
    said, vectors = load_vectors("episode", episode_ids)
    if keys and said:
        for at, of in zip(*map(list, (matrix @ vectors.T >= least).nonzero()), strict=True):
            yield keys[at], said[of]


def find_near_memories(rows: QuerySet[Memory], vector: Sequence[float], least: float) -> list[int]:
    """Return the ids of the rows whose cosine with a vector of the current embedder is above ``least``."""
    statement, parameters = rows.order_by().values("pk").query.sql_with_params()
    shown = f"[{','.join(f'{number:.4g}' for number in vector)}]"
    return [key for (key,) in fetch_rows(NEAREST.format(rows=statement), [*parameters, shown, 1 - least])]


def load_vectors(kind: str, ids: Sequence[int]) -> tuple[list[int], Any]:
    """Return the ids of those that the current embedder has embedded, and a matrix with a row for each."""
    import numpy  # late: a server without vectors never loads it

    rows = fetch_rows(VECTORS.format(kind=kind), [list(ids)])
    vectors = [numpy.frombuffer(raw, dtype=">f2", offset=4).astype(numpy.float32) for _, raw in rows]
    return [key for key, _ in rows], numpy.stack(vectors) if vectors else numpy.zeros((0, 1), numpy.float32)
