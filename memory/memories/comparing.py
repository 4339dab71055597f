"""Finds memories that are about the same: those that cannot both hold, by their slots, and texts that are near each
other in meaning, all with all, which only nightly jobs need.

How near is told in deviations above the likeness of unrelated texts: a cosine means something else with each embedder.
While the current one is not calibrated, nothing is near."""

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any, Final

import numpy
from django.db.models import Q, QuerySet

from memory.db.connections import fetch_rows
from memory.english.opposites import Opposition
from memory.memories import consolidation, slots
from memory.memories.scope import kind_of, list_kindred
from memory.memories.store import Status, comparable_with
from memory.models import Memory
from memory.search.found import ChanceLikeness
from memory.search.vectors.schema import write_vector

BLOCK: Final = 1_000  # rows of a matrix that are compared at a time
VECTORS: Final = """
    SELECT v.id, halfvec_send(v.vector) FROM {kind}_vector v JOIN embedder ON embedder.id = v.embedder_id AND is_current
    WHERE v.id = ANY(%s) ORDER BY v.id
"""
NOISE: Final = "SELECT noise_mean, noise_deviation FROM embedder WHERE is_current AND noise_deviation IS NOT NULL"
NEAREST: Final = """
    SELECT v.id FROM memory_vector v JOIN embedder ON embedder.id = v.embedder_id AND is_current
    WHERE v.id IN ({rows}) AND v.vector <=> %s::halfvec <= %s
"""


def find_rivals(memory: Memory) -> list[Memory]:
    """Return the active memories that cannot hold beside this one, the oldest first, locked in the caller's
    transaction."""
    names = [name for name in (memory.slot, memory.other_slot) if name]
    rows = (
        comparable_with(memory)
        .filter(
            Q(slot__in=names) | Q(other_slot__in=names),
            category__in=list_kindred(memory.category),
            status=Status.ACTIVE,
        )
        .exclude(pk=memory.pk)
    )
    return [row for row in rows.select_for_update(of=("self",)).order_by("id") if are_rivals(memory, row)]


def are_rivals(one: Memory, other: Memory) -> bool:
    """True if two memories of one owner cannot both hold, by their slots."""
    own, others = (slots.Slots(each.slot, each.other_slot) for each in (one, other))
    is_near = kind_of(one.category) == kind_of(other.category) and slots.share_slot(own, others)
    return is_near and slots.contradicts(one.text, other.text, one.category)


def find_contradiction(one: Memory, other: Memory) -> Opposition | None:
    """Return the sign that two memories that are near in meaning contradict each other."""
    found = [slots.Slots(each.slot, each.other_slot) for each in (one, other)]
    return consolidation.find_contradiction(one.text, other.text, one.category, found)


def find_least(deviations: float) -> float:
    """Return the least cosine of texts that are so near each other; infinity without a calibrated embedder."""
    rows = fetch_rows(NOISE, [])
    return ChanceLikeness(*rows[0]).at(deviations) if rows else inf


def find_near_pairs(memory_ids: Sequence[int], deviations: float) -> list[tuple[int, int]]:
    """Return the pairs of memories that are so near each other, each once, the nearest first."""
    keys, matrix = load_vectors("memory", memory_ids)
    least, found = find_least(deviations), []
    for start in range(0, len(keys), BLOCK):
        cosines = matrix[start : start + BLOCK] @ matrix.T
        for one, other in zip(*map(list, (cosines >= least).nonzero()), strict=True):
            if start + one < other:
                found.append((-cosines[one, other], keys[start + one], keys[other]))
    return [(one, other) for _, one, other in sorted(found)]


def find_near_episodes(
    texts: tuple[Sequence[int], Any], episode_ids: Sequence[int], deviations: float
) -> Iterator[tuple[int, int]]:
    """Yield for each memory or episode with these vectors the episodes that are so near it."""
    keys, matrix = texts
    least = find_least(deviations)
    said, vectors = load_vectors("episode", episode_ids)
    if keys and said:
        for at, of in zip(*map(list, (matrix @ vectors.T >= least).nonzero()), strict=True):
            yield keys[at], said[of]


def find_near_memories(rows: QuerySet[Memory], vector: Sequence[float], deviations: float) -> list[int]:
    """Return the ids of the rows that are so near a vector of the current embedder."""
    least = find_least(deviations)
    statement, parameters = rows.order_by().values("pk").query.sql_with_params()
    found = fetch_rows(NEAREST.format(rows=statement), [*parameters, write_vector(vector), 1 - least])
    return [key for (key,) in found]


def load_vectors(kind: str, ids: Sequence[int]) -> tuple[list[int], Any]:
    """Return the ids of those that the current embedder has embedded, and a matrix with a row for each."""
    rows = fetch_rows(VECTORS.format(kind=kind), [list(ids)])
    vectors = [numpy.frombuffer(raw, dtype=">f2", offset=4).astype(numpy.float32) for _, raw in rows]
    return [key for key, _ in rows], numpy.stack(vectors) if vectors else numpy.zeros((0, 1), numpy.float32)
