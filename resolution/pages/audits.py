"""Queries about past conflicts: those that touch something, and decisions that superseded something."""

import re
from typing import Any, Final

from django.contrib.postgres.search import SearchQuery
from django.db.models import Q, QuerySet, Value

from memory.models import Soas
from resolution.models import Claim, CollisionType, Conflict, ConflictMember, Decision
from resolution.models.conflicts import ABOUT, SAYS, Unjoined
from resolution.pages.words import newcomer

# A row's name in answers, such as memory:5.
REFERENCE: Final = re.compile(rf"({'|'.join(ConflictMember.Kind.values)}):(\d{{1,18}})")


def touching(what: str) -> Q:
    """Select the conflicts that involve the word: as a concept or parent, in the words of a slot, in a question, or in
    a member's text. A reference selects the conflicts that have the row as a member."""
    if (row := REFERENCE.fullmatch(what)) is not None:
        of_row = ConflictMember.objects.filter(kind=row[1], object_id=int(row[2]))
        return Q(pk__in=of_row.values("conflict_id"))
    # Matches whole words however they are joined: lateral-support is in lateral_support_material. One query for each
    # part, so that each uses its index.
    named = SearchQuery(Unjoined(Value(what)), config="simple", search_type="phrase")
    words = Soas.objects.filter(token=what).values("pk")
    claims, members = Claim.objects.order_by(), ConflictMember.objects.alias(words=SAYS)
    others = Conflict.objects.exclude(slot_kind=Conflict.Kind.EDGE_SLOT).alias(words=ABOUT)
    found = Conflict.objects.filter(concept__in=words).values("pk").union(
        claims.filter(incoming_parent__in=words).values("conflict_id"),
        claims.filter(existing_parent__in=words).values("conflict_id"),
        others.filter(words=named).values("pk"),
        members.exclude(kind=ConflictMember.Kind.CLAIM).filter(words=named).values("conflict_id"),
    )  # fmt: skip
    return Q(pk__in=found)


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
    winner = {"kind": "claim", "id": claim.pk, "text": newcomer(claim)}
    return {"winner": winner, "superseded": [{"kind": "edge", "id": None, "text": claim.existing_words}]}
