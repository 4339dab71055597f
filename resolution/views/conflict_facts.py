"""Reads what is around a claim: the ring that would close, what else is known of the concept. For the API, the admin
and the question to a language model alike; in few queries however many there are."""

from django.db.models import Case, Exists, IntegerField, OuterRef, Q, QuerySet, Value, When
from django.db.models.expressions import RawSQL

from memory.domain.types import SEED_DIMENSIONS
from memory.models import Dimension, Edge
from resolution.models import Claim

RING_MAX = 50  # steps
EDGE = ("concept", "parent", "dim")

# The way up from the incoming parent to the concept. In SQL: a page shows the whole way in one query, while
# memory.graph.store.find_closing_edge asks step by step for the one edge that a writer needs.
RING = """
    WITH RECURSIVE step (edge_id, parent_id, number) AS (
        SELECT edge_id, parent_id, 1 FROM urd WHERE id = %s AND dim_id = %s AND parent_id <> id
        UNION
        SELECT urd.edge_id, urd.parent_id, number + 1 FROM step JOIN urd ON urd.id = step.parent_id
        WHERE urd.dim_id = %s AND urd.parent_id <> urd.id AND step.parent_id <> %s AND number < %s)
    SELECT edge_id FROM step
"""

# Not its root, which every dimension has. One without facts is a leftover, or was never used: to offer it distracts.
HOLDS_FACTS = Exists(Edge.objects.filter(dim=OuterRef("pk")).exclude(concept=OuterRef("pk")))

# How many facts a dimension has, counted no further: where it matters which is used more, none has as many.
USED = "(SELECT count(*) FROM (SELECT FROM urd WHERE urd.dim_id = dimension.id LIMIT %s) AS counted)"
USED_MAX = 10_000


def ring(row: Claim) -> list[Edge]:
    """The facts on the way up from the newcomer's parent to its concept; the one that closes the ring comes last."""
    steps = RawSQL(RING, [row.incoming_parent_id, row.dim_id, row.dim_id, row.concept_id, RING_MAX])
    edges = Edge.objects.filter(edge_id__in=steps).select_related(*EDGE).order_by("edge_id")
    ways: dict[int, list[Edge]] = {row.incoming_parent_id: []}  # to each word the first that is found
    for _ in range(RING_MAX):
        for edge in edges:
            if edge.concept_id in ways and edge.concept_id != row.concept_id:
                ways.setdefault(edge.parent_id, [*ways[edge.concept_id], edge])
    return ways.get(row.concept_id) or max(ways.values(), key=len)


def other_facts(row: Claim) -> QuerySet[Edge]:
    """The concept's facts in other dimensions; of a dimension's name not its root."""
    others = Edge.objects.filter(concept_id=row.concept_id).exclude(dim_id=row.dim_id)
    return others.exclude(parent_id=row.concept_id).select_related(*EDGE)


def dimensions(split_from_id: int | None = None) -> QuerySet[Dimension]:
    """All that hold a fact, and those Festinger begins with; those that were split from this one first, then the most
    used."""
    offered = HOLDS_FACTS | Q(soas__token__in=[name for name, _, _ in SEED_DIMENSIONS])
    is_split = Case(When(split_from_id=split_from_id, then=Value(0)), default=Value(1))
    used = RawSQL(USED, [USED_MAX], output_field=IntegerField())
    first = () if split_from_id is None else (is_split,)
    return Dimension.objects.filter(offered).select_related("soas").order_by(*first, used.desc(), "soas__token")
