"""What a dimension does on a collision, once that changes: whether it can, and what becomes of the claims in it."""

from typing import Final

from django.db.models import Count, F

from memory.models import Edge
from resolution.intake.open_claims import OPEN, rebase
from resolution.models import Claim

NAMED_MAX: Final = 5  # concepts that a refusal names


def explain_refusal(dim_id: int) -> str:
    """Why the dimension cannot go back to one fact a slot; empty where it can. The caller holds its lock."""
    facts = Edge.objects.filter(dim_id=dim_id).exclude(concept=F("parent")).order_by()
    crowded = facts.values_list("concept__token").annotate(count=Count("pk")).filter(count__gt=1)
    total = crowded.count()
    if not total:
        return ""
    some = [f"{token} ({count})" for token, count in crowded.order_by("-count", "concept__token")[:NAMED_MAX]]
    rest = f" and {total - NAMED_MAX:,} more" if total > NAMED_MAX else ""
    return f"It holds several facts about {', '.join(some)}{rest}: retire all but one of each first."


def rebase_claims(dim_id: int) -> int:
    """Puts the open claims of a dimension against what is in their way now, and what nothing is in the way of into the
    graph; how many are closed by that. The caller holds its lock."""
    waiting = Claim.objects.filter(dim_id=dim_id, status__in=OPEN)
    before = waiting.count()
    for slot in sorted(set(waiting.values_list("concept_id", "dim_id"))):
        rebase(slot, fill=True)
    return before - waiting.count()
