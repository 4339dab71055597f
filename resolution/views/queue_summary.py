"""What waits to be decided, at a glance, and how often what has found conflicts was right."""

from dataclasses import dataclass
from typing import ClassVar, Final

from memory.db.connections import fetch_rows
from memory.templatetags.times import ago
from resolution.intake.open_claims import IN_ORDER, OPEN
from resolution.models import Claim, Conflict
from resolution.views.conflict_list import RELATED, time_of
from resolution.views.conflict_members import read_conflicts
from resolution.views.phrases import existing_side, newcomer

COUNTED_MAX = 100_000
FIRST = 5
# One query: the home page is opened often. A claim has a status of its own, a conflict for people is open.
COUNTED: Final = """
    SELECT count(*) FILTER (WHERE status = 'pending'), count(*) FILTER (WHERE status = 'proposed'),
           count(*) FILTER (WHERE status <> 'open' AND priority > 0), count(*) FILTER (WHERE status = 'open'),
           min(since),
           (SELECT count(*) FROM (SELECT FROM edge_candidate WHERE state = 'open' LIMIT %s) AS candidates),
           (SELECT count(*) FROM (
               SELECT FROM edge_candidate WHERE state = 'open' AND for_speaker <> '' LIMIT %s
           ) AS of_speakers)
    FROM (
        (SELECT status, priority, created_at AS since FROM resolution_queue WHERE status IN ('pending', 'proposed')
         LIMIT %s)
        UNION ALL
        (SELECT status, priority, detected_at FROM conflict WHERE status = 'open' AND NOT slot_kind = 'edge_slot'
         LIMIT %s)
    ) AS waiting
"""


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
    candidates: int
    of_speakers: int  # of these, that hold for their speaker alone

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
    [(pending, proposed, urgent, others, oldest, *candidates)] = fetch_rows(COUNTED, [COUNTED_MAX] * 4)
    rows = Claim.objects.filter(status__in=OPEN)
    first = []
    for row in rows.select_related(*RELATED).order_by(*IN_ORDER)[:FIRST]:
        existing = "" if row.existing_parent is None else existing_side(row, None).words
        first.append(Next(row, existing, newcomer(row)))
    if others:
        of_people = Conflict.objects.filter(status=Conflict.Status.OPEN).exclude(slot_kind=Conflict.Kind.EDGE_SLOT)
        next_ones = of_people.order_by("-priority", "detected_at", "id")[:FIRST]
        first += [Next(one.conflict, "", "", one.title) for one in read_conflicts(next_ones).values()]
        first.sort(key=lambda line: (-line.row.priority, time_of(line.row)))
    since = ago(oldest) if oldest else ""
    return QueueSummary(pending, proposed, urgent, others, since, first[:FIRST], *candidates)


# --- how often what finds conflicts was right ---

ENOUGH: Final = 0.8
LEAST: Final = 5  # verdicts, of which a share tells anything
# A conflict that was dismissed was none; whatever else was decided, there was something to decide.
VERDICTS: Final = """
    SELECT tier, count(*) FILTER (WHERE kind <> 'dismiss'), count(*) FILTER (WHERE kind = 'dismiss') FROM (
        SELECT tier, decision.kind, row_number() OVER (PARTITION BY tier ORDER BY decision.id DESC) AS place
        FROM decision JOIN conflict ON conflict.id = decision.conflict_id
        WHERE decision.kind IN ('supersede', 'accept', 'answer', 'dismiss')
          AND NOT EXISTS (SELECT FROM decision AS undo WHERE undo.undoes_id = decision.id)
    ) AS verdict WHERE place <= %s GROUP BY tier
"""


@dataclass(frozen=True, slots=True)
class TierPrecision:
    VERDICTS_MAX: ClassVar[int] = 50  # of the newest

    name: str
    answered: int
    dismissed: int

    @property
    def percent(self) -> int:
        return round(100 * self.answered / (self.answered + self.dismissed))

    @property
    def is_low(self) -> bool:
        count = self.answered + self.dismissed
        return count >= LEAST and self.answered < ENOUGH * count


def measure_tiers() -> list[TierPrecision]:
    """Those about whose conflicts people have decided, in the order in which they look; in one query."""
    rows = fetch_rows(VERDICTS, [TierPrecision.VERDICTS_MAX])
    counted = {tier: (answered, dismissed) for tier, answered, dismissed in rows}
    return [TierPrecision(str(tier.label), *counted[tier.value]) for tier in Conflict.Tier if tier.value in counted]
