"""What waits to be decided, at a glance."""

from dataclasses import dataclass

from django.db.models import Count, Min, Q

from memory.templatetags.times import ago
from resolution.intake.conflict_queue import IN_ORDER, OPEN
from resolution.models import Claim, Conflict
from resolution.views.conflict_list import RELATED, time_of
from resolution.views.conflict_members import read_conflicts
from resolution.views.phrases import existing_side, newcomer

COUNTED_MAX = 100_000
FIRST = 5


@dataclass(frozen=True, slots=True)
class Next:
    """A conflict in one line: a claim, of which ``existing`` is empty where nothing but a ring is in the newcomer's
    way; or one that is not about an edge's slot, by its title."""

    row: Claim | Conflict
    existing: str
    incoming: str
    title: str = ""

    @property
    def age(self) -> str:
        return ago(time_of(self.row))


@dataclass(frozen=True, slots=True)
class QueueSummary:
    """``first``: those that come next, in the queue's order. Counts end at COUNTED_MAX; ``oldest`` is of those."""

    pending: int
    proposed: int
    urgent: int
    others: int
    oldest: str
    first: list[Next]

    @property
    def open(self) -> str:
        """How many; empty for none."""
        count = self.pending + self.proposed + self.others
        return "" if not count else f"{'over ' if count >= COUNTED_MAX else ''}{count:,}"

    def __str__(self) -> str:
        parts = (
            (self.pending, "pending"),
            (self.proposed, "with a proposal"),
            (self.urgent, "with priority"),
            (self.others, "for people only"),
        )
        return ", ".join(f"{count:,} {what}" for count, what in parts if count)


def waiting() -> QueueSummary:
    """In a few queries."""
    rows = Claim.objects.filter(status__in=OPEN)
    counted = rows.values("status", "priority", "created_at")[:COUNTED_MAX].aggregate(
        pending=Count("status", filter=Q(status=Claim.Status.PENDING)),
        proposed=Count("status", filter=Q(status=Claim.Status.PROPOSED)),
        urgent=Count("status", filter=Q(priority__gt=0)),
        oldest=Min("created_at"),
    )
    first = []
    for row in rows.select_related(*RELATED).order_by(*IN_ORDER)[:FIRST]:
        existing = "" if row.existing_parent is None else existing_side(row, None).words
        first.append(Next(row, existing, newcomer(row)))
    of_people = Conflict.objects.filter(status=Conflict.Status.OPEN).exclude(slot_kind=Conflict.Kind.EDGE_SLOT)
    found = of_people.values("detected_at")[:COUNTED_MAX].aggregate(others=Count("*"), since=Min("detected_at"))
    if found["others"]:
        next_ones = of_people.order_by("-priority", "detected_at", "id")[:FIRST]
        first += [Next(one.conflict, "", "", one.title) for one in read_conflicts(next_ones).values()]
        first.sort(key=lambda line: (-line.row.priority, time_of(line.row)))
    oldest = min(filter(None, (counted.pop("oldest"), found["since"])), default=None)
    return QueueSummary(first=first[:FIRST], others=found["others"], oldest=ago(oldest) if oldest else "", **counted)
