"""Queries that select conflicts and decisions, and the facts around a claim. Each takes few queries, however many rows
there are."""

import re
from collections.abc import Iterable
from typing import Any, Final

from django.contrib.postgres.search import SearchQuery
from django.db.models import Case, Exists, IntegerField, OuterRef, Q, QuerySet, Value, When
from django.db.models.expressions import RawSQL

from memory.models import Dimension, Edge, Evidence, Project, Soas
from memory.types import SEED_DIMENSIONS, whole_number
from resolution.conflicts.queue import OPEN
from resolution.models import Claim, CollisionType, Conflict, ConflictMember, Decision
from resolution.models.conflicts import SLOT_WORDS, TEXT_WORDS, SplitWords
from resolution.pages.belongings import find_belongings
from resolution.pages.words import format_incoming

# A row's name in answers, such as memory:5.
REFERENCE: Final = re.compile(rf"({'|'.join(ConflictMember.Kind.values)}):(\d{{1,18}})")
# The relations that a claim's words need.
RELATED = ("concept", "dim", "existing_parent", "incoming_parent", "blocking_concept")
EDGE = ("concept", "parent", "dim")
RING_MAX = 50  # steps
FACTS_MAX = 100
SENTENCES_MAX = 5

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


# --- conflicts ---


def find_conflicts(
    status: str = "all", *, kind: str | None = None, project: str | None = None, touches: str | None = None
) -> QuerySet[Conflict]:
    """Return the conflicts that match, open ones first, in the order in which they are decided. ``status`` is
    also "all", or "pending" or "proposed" for open conflicts with such a claim. None matches all."""
    rows = with_status(Conflict.objects.all(), status)
    if kind is not None:
        rows = rows.filter(slot_kind=kind)
    if project is not None:
        rows = rows.filter(of_project(project))
    if touches is not None:
        rows = rows.filter(touching(touches))
    is_open = Case(When(status=Conflict.Status.OPEN, then=Value(0)), default=Value(1))
    # An index has the order of the open ones.
    order = () if status in ("open", *OPEN) else (is_open,)
    return rows.order_by(*order, "-priority", "detected_at", "id")


def with_status(rows: QuerySet[Conflict], status: str) -> QuerySet[Conflict]:
    if status in OPEN:
        return of_claims(rows, status=status).filter(status=Conflict.Status.OPEN)
    return rows if status == "all" else rows.filter(status=status)


def of_claims(rows: QuerySet[Conflict], **wanted: Any) -> QuerySet[Conflict]:
    """Return the conflicts that have a claim with these column values."""
    return rows.filter(pk__in=Claim.objects.filter(**wanted).order_by().values("conflict_id"))


def find_next(rows: QuerySet[Conflict], after: Conflict | None) -> Conflict | None:
    """Return the open conflict that follows this one in the order in which they are decided, or else the first; None if
    none is left."""
    rows = rows.filter(status=Conflict.Status.OPEN).order_by("-priority", "detected_at", "pk")
    if after is None:
        return rows.first()
    # Compared column by column: row comparisons cannot mix ascending and descending columns.
    later = Q(detected_at__gt=after.detected_at) | Q(detected_at=after.detected_at, pk__gt=after.pk)
    behind = rows.filter(Q(priority__lt=after.priority) | Q(later, priority=after.priority))
    return behind.first() or rows.exclude(pk=after.pk).first()


def of_project(slug: str) -> Q:
    """Select the conflicts that belong to a project, including those about facts stated in it."""
    project = Project.objects.filter(slug=slug.lower()).first()
    if project is None:
        return Q(project=slug.lower())
    own = find_belongings(project)
    claims = Claim.objects.filter(conversation__in=own.conversations).exclude(conversation=b"")
    return Q(project=project.slug) | Q(concept_id__in=own.names) | Q(pk__in=claims.values("conflict_id"))


def searching(text: str, word_ids: Iterable[int]) -> Q:
    """Select the conflicts with this number, as in #12, with a claim about one of the words, or with a member that says
    the text."""
    number = Q(pk=whole_number(text.removeprefix("#")))
    if text.startswith("#"):
        return number
    named = Q(concept_id__in=word_ids) | Q(existing_parent_id__in=word_ids) | Q(incoming_parent_id__in=word_ids)
    return number | Q(pk__in=Claim.objects.order_by().filter(named).values("conflict_id")) | touching(text.lower())


def touching(what: str) -> Q:
    """Select the conflicts that involve the word: as a concept or parent, in the words of a slot, in a question, or in
    a member's text. A reference selects the conflicts that have the row as a member."""
    if (row := REFERENCE.fullmatch(what)) is not None:
        of_row = ConflictMember.objects.filter(kind=row[1], object_id=int(row[2]))
        return Q(pk__in=of_row.values("conflict_id"))
    # Matches whole words however they are joined: lateral-support is in lateral_support_material. One query for each
    # part, so that each uses its index.
    named = SearchQuery(SplitWords(Value(what)), config="simple", search_type="phrase")
    words = Soas.objects.filter(token=what).values("pk")
    claims, members = Claim.objects.order_by(), ConflictMember.objects.alias(words=TEXT_WORDS)
    others = Conflict.objects.exclude(slot_kind=Conflict.Kind.EDGE_SLOT).alias(words=SLOT_WORDS)
    found = Conflict.objects.filter(concept__in=words).values("pk").union(
        claims.filter(incoming_parent__in=words).values("conflict_id"),
        claims.filter(existing_parent__in=words).values("conflict_id"),
        others.filter(words=named).values("pk"),
        members.exclude(kind=ConflictMember.Kind.CLAIM).filter(words=named).values("conflict_id"),
    )  # fmt: skip
    return Q(pk__in=found)


# --- decisions ---


def find_decisions(conflicts: Iterable[Conflict]) -> QuerySet[Decision]:
    """Return the decisions about the conflicts and their claims, newest first."""
    keys = [conflict.pk for conflict in conflicts]
    rows = Decision.objects.filter(Q(conflict__in=keys) | Q(claim__conflict__in=keys))
    return rows.select_related(*Decision.NAMES, "undone_by").order_by("-id")


def find_supersessions() -> QuerySet[Decision]:
    """Return the decisions that superseded something because of a conflict, newest first, including undone ones."""
    of_members = Q(conflict__isnull=False) & ~Q(arguments__superseded=[]) & Q(arguments__has_key="superseded")
    of_claims = Q(kind=Decision.Kind.UPDATE) & ~Q(claim__collision_type=CollisionType.RETRACTION)
    rows = Decision.objects.filter(of_members | of_claims).select_related(*Decision.NAMES, "conflict", "undone_by")
    return rows.order_by("-id")


def describe_supersession(decision: Decision) -> dict[str, Any]:
    """Return the winner, or None if nothing replaced what was superseded, and the superseded rows."""
    if decision.claim is None:
        return {"winner": decision.arguments.get("winner"), "superseded": decision.arguments["superseded"]}
    claim = decision.claim
    winner = {"kind": "claim", "id": claim.pk, "text": format_incoming(claim)}
    return {"winner": winner, "superseded": [{"kind": "edge", "id": None, "text": claim.existing_words}]}


# --- the facts around a claim ---


def find_ring(claim: Claim) -> list[Edge]:
    """Return the facts on the path up from the incoming parent to the concept; the one that closes the ring is last."""
    steps = RawSQL(RING, [claim.incoming_parent_id, claim.dim_id, claim.dim_id, claim.concept_id, RING_MAX])
    edges = Edge.objects.filter(edge_id__in=steps).select_related(*EDGE).order_by("edge_id")
    ways: dict[int, list[Edge]] = {claim.incoming_parent_id: []}  # to each word, the first path found
    for _ in range(RING_MAX):
        for edge in edges:
            if edge.concept_id in ways and edge.concept_id != claim.concept_id:
                ways.setdefault(edge.parent_id, [*ways[edge.concept_id], edge])
    return ways.get(claim.concept_id) or max(ways.values(), key=len)


def find_other_facts(concept_id: int, dim_id: int) -> QuerySet[Edge]:
    """Return the concept's facts in other dimensions, without roots."""
    others = Edge.objects.filter(concept_id=concept_id).exclude(dim_id=dim_id)
    return others.exclude(parent_id=concept_id).select_related(*EDGE)


def list_other_facts(concept_id: int, dim_id: int) -> list[Edge]:
    """Return the first of them, by the names of the dimensions."""
    return list(find_other_facts(concept_id, dim_id).order_by("dim__token")[:FACTS_MAX])


def find_sentences(concept_id: int) -> list[Evidence]:
    """Return the newest sentences that name the concept."""
    return list(Evidence.objects.filter(concept_id=concept_id).order_by("-said_at", "-id")[:SENTENCES_MAX])


def find_dimensions(split_from_id: int | None = None) -> QuerySet[Dimension]:
    """Return the dimensions that hold facts, and the built-in ones. Those split from this one come first, then the most
    used."""
    offered = HOLDS_FACTS | Q(soas__token__in=[name for name, _, _ in SEED_DIMENSIONS])
    is_split = Case(When(split_from_id=split_from_id, then=Value(0)), default=Value(1))
    used = RawSQL(USED, [USED_MAX], output_field=IntegerField())
    first = () if split_from_id is None else (is_split,)
    return Dimension.objects.filter(offered).select_related("soas").order_by(*first, used.desc(), "soas__token")
