"""What is asked of conflicts afterwards: which of them touched something, and what gave way to what because of one."""

import re
from typing import Any, Final

from django.db.models import Q, QuerySet

from resolution.models import Claim, CollisionType, Conflict, ConflictMember, Decision
from resolution.views.phrases import newcomer, what_stood

# A row as answers name it: memory:5.
REFERENCE: Final = re.compile(rf"({'|'.join(ConflictMember.Kind.values)}):(\d{{1,18}})")


def touching(what: str) -> Q:
    """The conflicts that are about the word, as concept, as what it is said to be in, in a slot's name, in what is
    asked or in what a member says; or with a reference those of which that row is a member."""
    if (row := REFERENCE.fullmatch(what)) is not None:
        of_row = ConflictMember.objects.filter(kind=row[1], object_id=int(row[2]))
        return Q(pk__in=of_row.values("conflict_id"))
    is_parent = Q(incoming_parent__token=what) | Q(existing_parent__token=what)
    about = Q(concept__token=what) | Q(pk__in=Claim.objects.filter(is_parent).values("conflict_id"))
    if not (parts := re.findall(r"[^\W_]+", what)):
        return about
    # Whole words, whichever way they are joined: lateral-support is in lateral_support_material.
    gap = r"(\W|_)+"
    named = rf"(^|\W|_){gap.join(parts)}($|\W|_)"
    says = ConflictMember.objects.exclude(kind=ConflictMember.Kind.CLAIM).filter(text__iregex=named)
    in_slot = ~Q(slot_kind=Conflict.Kind.EDGE_SLOT) & (Q(slot_key__iregex=named) | Q(question__iregex=named))
    return about | in_slot | Q(pk__in=says.values("conflict_id"))


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
