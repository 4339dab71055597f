"""The neighbourhood of a concept in the graph: the most relevant nodes, few enough to draw and read."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import F, IntegerField, QuerySet, Value

from memory.db.connections import fetch_rows
from memory.models import Edge, Soas
from resolution.conflicts.queue import IN_ORDER, OPEN
from resolution.models import Claim
from resolution.pages.concept_detail import open_conflict

DEPTH_MAX: Final = 2  # steps from the concept
NODES_MAX: Final = 60  # including the concept itself; more are unreadable
FIRST_RING_MAX: Final = 40  # in a picture of two steps, to leave room for the second
# Facts of one concept that are read, in each direction. If there are more, an arbitrary subset is read, and the number
# left out is only a lower bound.
LOOKED_AT_MAX: Final = 2_000
LOOKED_AT_FURTHER_OUT_MAX: Final = 100
CLAIMS_MAX: Final = 10

# The neighbours of these concepts. Roots do not count.
LINKS: Final = """
    SELECT node.id, link.* FROM unnest(%(ids)s::int[]) AS node (id) CROSS JOIN LATERAL (
        (SELECT parent_id, true FROM urd WHERE urd.id = node.id AND parent_id <> urd.id LIMIT %(limit)s)
        UNION ALL
        (SELECT urd.id, false FROM urd WHERE parent_id = node.id AND urd.id <> parent_id LIMIT %(limit)s)
    ) AS link (neighbour, is_up)
"""


@dataclass(frozen=True, slots=True)
class Node:
    """A concept and its distance in steps."""

    concept: Soas
    distance: int


@dataclass(frozen=True, slots=True)
class GraphLine:
    """A fact. ``edge_id`` is None if it is only claimed in the conflict. A fact with a conflict is disputed."""

    concept_id: int
    parent_id: int
    dimension: str
    is_isa: bool
    edge_id: int | None
    conflict_id: int | None


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """``nodes`` has the concept itself first, then others by distance and relevance. ``left_out`` is the number of
    known neighbours that are not shown; with ``is_least``, it is a lower bound."""

    nodes: list[Node]
    lines: list[GraphLine]
    left_out: int
    is_least: bool


@dataclass(frozen=True, slots=True)
class _Links:
    """The neighbours of some concepts: the number of links of each, and those that are parents."""

    counts: Counter[int]
    above: set[int]
    is_whole: bool


def look(concept: Soas, depth: int = 1, *, with_conflicts: bool = True) -> Neighbourhood:
    """Return the nodes within ``depth`` steps and all facts between them."""
    claims: list[Claim] = []
    if with_conflicts:
        rows = Claim.objects.filter(concept=concept, status__in=OPEN).select_related("dim")
        claims = list(rows.order_by(*IN_ORDER)[:CLAIMS_MAX])
    first = _links([concept.pk], LOOKED_AT_MAX)
    important = {claim.incoming_parent_id for claim in claims} | first.above
    room = NODES_MAX - 1 if depth == 1 else FIRST_RING_MAX
    rings = [_most_relevant({*first.counts, *important}, room, first.counts, important)]
    known, is_whole = {*first.counts, *important}, first.is_whole
    if depth == DEPTH_MAX and rings[0]:
        second = _links([row.pk for row in rings[0]], LOOKED_AT_FURTHER_OUT_MAX)
        further = second.counts.keys() - known - {concept.pk}
        rings.append(_most_relevant(further, NODES_MAX - 1 - len(rings[0]), second.counts, second.above))
        known, is_whole = known | further, is_whole and second.is_whole
    nodes = [Node(concept, 0)]
    nodes += [Node(row, distance) for distance, ring in enumerate(rings, start=1) for row in ring]
    shown = [node.concept.pk for node in nodes]
    lines = _find_lines(shown, claims, with_conflicts=with_conflicts)
    return Neighbourhood(nodes, lines, len(known) - len(nodes) + 1, not is_whole)


def _links(ids: Collection[int], limit: int) -> _Links:
    counts: Counter[int] = Counter()
    above: set[int] = set()
    sides: Counter[tuple[int, bool]] = Counter()
    for concept_id, neighbour_id, is_up in fetch_rows(LINKS, {"ids": list(ids), "limit": limit}):
        sides[concept_id, is_up] += 1
        counts[neighbour_id] += 1
        if is_up:
            above.add(neighbour_id)
    return _Links(counts, above, is_whole=max(sides.values(), default=0) < limit)


def _most_relevant(ids: Iterable[int], room: int, links: Counter[int], important: set[int]) -> list[Soas]:
    """Sort parents, current and claimed, before members; then by number of links here; then by how often they are
    named."""
    rows = Soas.objects.in_bulk(list(ids)).values()

    return sorted(
        rows,
        key=lambda row: (
            row.pk not in important,
            -links[row.pk],
            -max(row.saliency, row.novelty),
            -row.encounter_count,
            row.token,
        ),
    )[:room]


def _find_lines(shown: Collection[int], claims: Collection[Claim], *, with_conflicts: bool) -> list[GraphLine]:
    """Return the facts between these concepts, and the claimed ones."""
    edges: QuerySet[Any] = Edge.objects.filter(concept_id__in=shown, parent_id__in=shown).exclude(concept=F("parent"))
    edges = edges.annotate(open_conflict=open_conflict() if with_conflicts else Value(None, IntegerField()))
    standing = [
        GraphLine(e.concept_id, e.parent_id, e.dim.token, e.is_isa, e.pk, e.open_conflict)
        for e in edges.select_related("dim").order_by("pk")
    ]
    claimed = [
        GraphLine(row.concept_id, row.incoming_parent_id, row.dim.token, row.incoming_is_isa, None, row.conflict_id)
        for row in claims
        if row.incoming_parent_id in shown
    ]
    return standing + claimed
