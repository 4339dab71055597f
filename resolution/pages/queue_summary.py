"""Counts what waits for a decision, and measures the precision of the tiers that find conflicts and of the models."""

import json
from dataclasses import dataclass
from typing import ClassVar, Final

from memory.channels import Channel
from memory.db.connections import fetch_rows
from memory.english.phrases import format_count
from memory.llm import USES
from memory.models import Config, LanguageModel
from memory.templatetags.times import ago
from resolution.models import Conflict
from resolution.pages.conflicts import ConflictPage, read_conflicts
from resolution.pages.queries import find_conflicts

COUNTED_MAX = 100_000
FIRST = 5
# One query, because the home page is opened often.
COUNTED: Final = """
    SELECT count(*), count(*) FILTER (WHERE is_of_one_speaker), count(*) FILTER (WHERE priority > 0),
           count(*) FILTER (WHERE NOT is_of_one_speaker AND NOT conflict_has_open_claims(id)),
           min(detected_at) FILTER (WHERE NOT is_of_one_speaker),
           (SELECT count(DISTINCT conflict_id) FROM resolution_queue WHERE status = 'proposed'),
           (SELECT count(*) FROM (SELECT FROM edge_candidate WHERE state = 'open' LIMIT %s) AS candidates),
           (SELECT count(*) FROM (
               SELECT FROM edge_candidate WHERE state = 'open' AND for_speaker <> '' LIMIT %s
           ) AS of_speakers)
    FROM (SELECT * FROM conflict WHERE status = 'open' LIMIT %s) AS waiting
"""

# For each page of the admin: not cached, for the numbers must be those of the lists.
MENU_MAX: Final = 100
COUNTED_FOR_MENU: Final = """
    SELECT (SELECT count(*) FROM (SELECT FROM conflict WHERE status = 'open' LIMIT %(most)s) AS waiting),
           (SELECT count(*) FROM (SELECT FROM edge_candidate WHERE state = 'open' LIMIT %(most)s) AS waiting),
           (SELECT count(*) FROM run WHERE status = 'failed' AND started_at > now() - interval '1 day')
"""


@dataclass(frozen=True, slots=True)
class QueueSummary:
    """The open conflicts and candidates. ``first`` are the next ones in the queue's order. Counts stop at COUNTED_MAX,
    and ``oldest`` is the oldest of those counted."""

    count: int
    of_one_speaker: int
    urgent: int
    of_people: int
    proposed: int
    oldest: str
    first: list[ConflictPage]
    candidates: int
    of_speakers: int  # the candidates that hold for their speaker alone

    @property
    def open(self) -> str:
        """The number of open conflicts, except those of one speaker, who may have changed their mind; "" if there are
        none."""
        count = self.count - self.of_one_speaker
        return "" if not count else f"{'over ' if count >= COUNTED_MAX else ''}{count:,}"

    def __str__(self) -> str:
        parts = (
            (self.proposed, "with a proposal"),
            (self.urgent, "high priority"),
            (self.of_people, "for people only"),
        )
        return ", ".join(f"{count:,} {what}" for count, what in parts if count)


def count_for_menu() -> dict[str, str]:
    """Return the numbers of open conflicts and candidates, and of runs that failed within a day, by the names of their
    entries in the menu; "" for none."""
    [counts] = fetch_rows(COUNTED_FOR_MENU, {"most": MENU_MAX})
    shown = (f"{MENU_MAX - 1}+" if count >= MENU_MAX else str(count or "") for count in counts)
    return dict(zip(("Conflicts", "Candidates", "Runs"), shown, strict=True))


def waiting() -> QueueSummary:
    """Summarize the queue in a few queries."""
    [(count, mind, urgent, of_people, oldest, proposed, *candidates)] = fetch_rows(COUNTED, [COUNTED_MAX] * 3)
    next_ones = find_conflicts("open").filter(is_of_one_speaker=False).select_related("concept", "dim")[:FIRST]
    first = list(read_conflicts(next_ones).values()) if count > mind else []
    return QueueSummary(count, mind, urgent, of_people, proposed, ago(oldest) if oldest else "", first, *candidates)


# --- precision of the tiers ---

ENOUGH: Final = 0.8
LEAST: Final = 5  # verdicts, below which a share means nothing
# A dismissal means that there was no conflict; any other decision means that there was one.
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
    VERDICTS_MAX: ClassVar[int] = 50  # newest verdicts

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
    """Measure the tiers whose conflicts people have decided, in the order of the tiers. Runs one query."""
    rows = fetch_rows(VERDICTS, [TierPrecision.VERDICTS_MAX])
    counted = {tier: (answered, dismissed) for tier, answered, dismissed in rows}
    return [TierPrecision(str(tier.label), *counted[tier.value]) for tier in Conflict.Tier if tier.value in counted]


# --- precision of the models ---

# What people made of a model's proposals for conflicts, and of the facts by which it explains concepts.
DECIDED: Final = """
    SELECT count(*), count(*) FILTER (WHERE is_accepted) FROM (
        SELECT decision.kind = claim.proposal ->> 'decision' AS is_accepted
        FROM decision JOIN resolution_queue AS claim ON claim.id = decision.claim_id
        WHERE claim.proposal ->> 'model' = %(name)s AND decision.source = 'operator' AND decision.kind <> 'undo'
          AND NOT EXISTS (SELECT FROM decision AS undo WHERE undo.undoes_id = decision.id)
        UNION ALL SELECT state = 'promoted' FROM edge_candidate
        WHERE state IN ('promoted', 'dismissed') AND voices @> %(voices)s::jsonb
    ) AS answer
"""


def describe_models() -> str:
    """Return, for each chosen model, how many of its answers people accepted; "" if they have decided none."""
    tuning, told = Config.tuning(), []
    for model in LanguageModel.objects.filter(pk__in=[getattr(tuning, key) for key in USES]).order_by("pk"):
        voices = json.dumps([[str(model), Channel.EXPLAINED]])
        [(count, accepted)] = fetch_rows(DECIDED, {"name": model.model_name, "voices": voices})
        if count:
            answers = format_count(count, "answer")
            told.append(f"Of {answers} of {model} that people decided, {accepted / count:.0%} were accepted.")
    return " ".join(told)
