"""Reads the surroundings of a claim for the API, the admin and the language model: the ring that it would close, and
other facts about the concept. Uses few queries, however many there are."""

from django.db.models import Case, Exists, IntegerField, OuterRef, Q, QuerySet, Value, When
from django.db.models.expressions import RawSQL

from memory.models import Dimension, Edge
from memory.types import SEED_DIMENSIONS
from resolution.models import Claim

RING_MAX = 50  # steps
EDGE = ("concept", "parent", "dim")

# The path up from the incoming parent to the concept. A page needs the whole path, which takes one query here;
# memory.graph.store.find_closing_edge goes step by step to the one edge that a writer needs.
RING = """
    WITH RECURSIVE step (edge_id, parent_id, number) AS (
        SELECT edge_id, parent_id, 1 FROM urd WHERE id = %s AND dim_id = %s AND parent_id <> id
        UNION
        SELECT urd.edge_id, urd.parent_id, number + 1 FROM step JOIN urd ON urd.id = step.parent_id
        WHERE urd.dim_id = %s AND urd.parent_id <> urd.id AND step.parent_id <> %s AND number < %s)
    SELECT edge_id FROM step
"""

# Facts besides the root, which every dimension has. Dimensions without them are leftovers or unused: not offered.
HOLDS_FACTS = Exists(Edge.objects.filter(dim=OuterRef("pk")).exclude(concept=OuterRef("pk")))

# The number of facts in a dimension, up to a limit: dimensions whose order matters have fewer.
USED = "(SELECT count(*) FROM (SELECT FROM urd WHERE urd.dim_id = dimension.id LIMIT %s) AS counted)"
USED_MAX = 10_000


def ring(row: Claim) -> list[Edge]:
    """Return the facts on the path up from the incoming parent to the concept; the one that closes the ring is last."""
    steps = RawSQL(RING, [row.incoming_parent_id, row.dim_id, row.dim_id, row.concept_id, RING_MAX])
    edges = Edge.objects.filter(edge_id__in=steps).select_related(*EDGE).order_by("edge_id")
    ways: dict[int, list[Edge]] = {row.incoming_parent_id: []}  # to each word, the first path found
    for _ in range(RING_MAX):
        for edge in edges:
            if edge.concept_id in ways and edge.concept_id != row.concept_id:
                ways.setdefault(edge.parent_id, [*ways[edge.concept_id], edge])
    return ways.get(row.concept_id) or max(ways.values(), key=len)


def other_facts(row: Claim) -> QuerySet[Edge]:
    """Return the concept's facts in other dimensions, without roots."""
    others = Edge.objects.filter(concept_id=row.concept_id).exclude(dim_id=row.dim_id)
    return others.exclude(parent_id=row.concept_id).select_related(*EDGE)


def dimensions(split_from_id: int | None = None) -> QuerySet[Dimension]:
    """Return the dimensions that hold facts, and the built-in ones. Those split from this one come first, then the most
    used."""
    offered = HOLDS_FACTS | Q(soas__token__in=[name for name, _, _ in SEED_DIMENSIONS])
    is_split = Case(When(split_from_id=split_from_id, then=Value(0)), default=Value(1))
    used = RawSQL(USED, [USED_MAX], output_field=IntegerField())
    first = () if split_from_id is None else (is_split,)
    return Dimension.objects.filter(offered).select_related("soas").order_by(*first, used.desc(), "soas__token")
