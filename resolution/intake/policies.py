"""Changes of a dimension's collision policy: checks whether it can change, and settles the claims that wait in it."""

from typing import Final

from django.db.models import Count, F

from memory.models import Edge
from resolution.conflicts.queue import OPEN, recheck_claims
from resolution.models import Claim

NAMED_MAX: Final = 5  # concepts that a refusal names


def explain_refusal(dim_id: int) -> str:
    """Return why the dimension cannot go back to one fact per slot, or "" if it can. The caller holds its lock."""
    facts = Edge.objects.filter(dim_id=dim_id).exclude(concept=F("parent")).order_by()
    crowded = facts.values_list("concept__token").annotate(count=Count("pk")).filter(count__gt=1)
    total = crowded.count()
    if not total:
        return ""
    some = [f"{token} ({count})" for token, count in crowded.order_by("-count", "concept__token")[:NAMED_MAX]]
    rest = f" and {total - NAMED_MAX:,} more" if total > NAMED_MAX else ""
    return f"It holds several facts about {', '.join(some)}{rest}: retire all but one of each first."


def rebase_claims(dim_id: int) -> int:
    """Put the dimension's open claims against what is in their way now. Place those that nothing blocks, and return how
    many were closed. The caller holds the dimension's lock."""
    waiting = Claim.objects.filter(dim_id=dim_id, status__in=OPEN)
    before = waiting.count()
    for slot in sorted(set(waiting.values_list("concept_id", "dim_id"))):
        recheck_claims(slot, place_first=True)
    return before - waiting.count()
