"""Computes how much a concept matters. Times are seconds, scores have no unit."""

from dataclasses import replace
from math import log10

from memory.types import SoasRow

HOUR = 3600.0
DAY = 24 * HOUR

HALF_LIFE = 14 * DAY  # of a concept's priority while nobody names it

# After how long an unexplained concept is asked about again, by how often it was asked.
ASK_BACK_OFF = (0.0, HOUR, DAY, 7 * DAY, 30 * DAY)


def saliency(encounter_count: int) -> float:
    """Return log10 of the number of messages that named the concept; 0 for none and for the first."""
    return log10(encounter_count) if encounter_count > 1 else 0.0


def count_encounters(row: SoasRow, count: int, now: float) -> SoasRow:
    """Return the row as it is after so many more messages with the word."""
    total = row.encounter_count + count
    return replace(row, encounter_count=total, saliency=0.0 if row.is_common else saliency(total), last_seen=now)


def is_salient(row: SoasRow, threshold: float) -> bool:
    return not row.is_muted and (row.saliency >= threshold or row.novelty >= threshold)


def priority(row: SoasRow, now: float) -> float:
    """Return the larger of saliency and novelty, halved for every HALF_LIFE since the concept was last seen."""
    age = 0.0 if row.last_seen is None else max(0.0, now - row.last_seen)
    return float(max(row.saliency, row.novelty) * 0.5 ** (age / HALF_LIFE))


def may_ask(row: SoasRow, now: float) -> bool:
    """True if the back-off since the last question is over."""
    if row.asked_at is None or row.asked_count == 0:
        return True
    return now - row.asked_at >= ASK_BACK_OFF[min(row.asked_count, len(ASK_BACK_OFF) - 1)]
