"""What waits to be decided, at a glance."""

from dataclasses import dataclass

from django.db.models import Count, Min, Q

from memory.templatetags.times import ago
from resolution.intake.conflict_queue import IN_ORDER, OPEN
from resolution.models import Claim
from resolution.views.conflict_list import RELATED
from resolution.views.phrases import existing_side, newcomer

COUNTED_MAX = 100_000
FIRST = 5


@dataclass(frozen=True, slots=True)
class Next:
    """A conflict in one line. ``existing`` is empty where nothing but a ring is in the newcomer's way."""

    claim: Claim
    existing: str
    incoming: str
    age: str


@dataclass(frozen=True, slots=True)
class QueueSummary:
    """``first``: those that come next, in the queue's order. Counts end at COUNTED_MAX; ``oldest`` is of those."""

    pending: int
    proposed: int
    urgent: int
    oldest: str
    first: list[Next]

    @property
    def open(self) -> str:
        """How many; empty for none."""
        count = self.pending + self.proposed
        return "" if not count else f"{'over ' if count == COUNTED_MAX else ''}{count:,}"

    def __str__(self) -> str:
        parts = ((self.pending, "pending"), (self.proposed, "with a proposal"), (self.urgent, "with priority"))
        return ", ".join(f"{count:,} {what}" for count, what in parts if count)


def waiting() -> QueueSummary:
    """In two queries."""
    rows = Claim.objects.filter(status__in=OPEN)
    counted = rows.values("status", "priority", "created_at")[:COUNTED_MAX].aggregate(
        pending=Count("status", filter=Q(status=Claim.Status.PENDING)),
        proposed=Count("status", filter=Q(status=Claim.Status.PROPOSED)),
        urgent=Count("status", filter=Q(priority__gt=0)),
        oldest=Min("created_at"),
    )
    oldest = counted.pop("oldest")
    first = []
    for row in rows.select_related(*RELATED).order_by(*IN_ORDER)[:FIRST]:
        existing = "" if row.existing_parent is None else existing_side(row, None).words
        first.append(Next(row, existing, newcomer(row), ago(row.created_at)))
    return QueueSummary(first=first, oldest=ago(oldest) if oldest else "", **counted)
