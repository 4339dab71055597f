"""What is asked of conflicts afterwards: which of them touched something, and what gave way to what because of one."""

import re
from typing import Any, Final

from django.contrib.postgres.search import SearchQuery
from django.db.models import Q, QuerySet, Value

from memory.models import Soas
from resolution.models import Claim, CollisionType, Conflict, ConflictMember, Decision
from resolution.models.conflicts import ABOUT, SAYS, Unjoined
from resolution.views.phrases import newcomer, what_stood

# A row as answers name it: memory:5.
REFERENCE: Final = re.compile(rf"({'|'.join(ConflictMember.Kind.values)}):(\d{{1,18}})")


def touching(what: str) -> Q:
    """The conflicts that are about the word, as concept, as what it is said to be in, in a slot's name, in what is
    asked or in what a member says; or with a reference those of which that row is a member."""
    if (row := REFERENCE.fullmatch(what)) is not None:
        of_row = ConflictMember.objects.filter(kind=row[1], object_id=int(row[2]))
        return Q(pk__in=of_row.values("conflict_id"))
    # Whole words, whichever way they are joined: lateral-support is in lateral_support_material. Each in a query of its
    # own, which has its index.
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
    """The decisions by which something superseded something else because of a conflict, also those that are undone; the
    newest first."""
    of_members = Q(conflict__isnull=False) & ~Q(arguments__superseded=[]) & Q(arguments__has_key="superseded")
    of_claims = Q(kind=Decision.Kind.UPDATE) & ~Q(claim__collision_type=CollisionType.RETRACTION)
    rows = Decision.objects.filter(of_members | of_claims).select_related(*Decision.NAMES, "conflict", "undone_by")
    return rows.defer(*Decision.SNAPSHOTS).order_by("-id")


def describe_supersession(decision: Decision) -> dict[str, Any]:
    """What won, None where nothing took the place of what is so no longer; and what gave way."""
    if decision.claim is None:
        return {"winner": decision.arguments.get("winner"), "superseded": decision.arguments["superseded"]}
    claim = decision.claim
    winner = {"kind": "claim", "id": claim.pk, "text": newcomer(claim)}
    return {"winner": winner, "superseded": [{"kind": "edge", "id": None, "text": what_stood(claim)}]}
