"""How often what has found conflicts was right, by what people made of them."""

from dataclasses import dataclass
from typing import ClassVar, Final

from django.db import connection

from resolution.models import Conflict

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
    with connection.cursor() as cursor:
        cursor.execute(VERDICTS, [TierPrecision.VERDICTS_MAX])
        counted = {tier: (answered, dismissed) for tier, answered, dismissed in cursor.fetchall()}
    return [TierPrecision(str(tier.label), *counted[tier.value]) for tier in Conflict.Tier if tier.value in counted]
