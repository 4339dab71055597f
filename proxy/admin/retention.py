"""Counts for the home page what is kept of what people say."""

from decimal import Decimal
from typing import Any, Final, NamedTuple

from memory.db.connections import fetch_rows
from memory.settings.registry import Tuning

COUNTED_MAX: Final = 10_000  # episodes
COUNTED_NOTES_MAX: Final = 50_000  # notes that prompts were given
COUNT: Final = """
    WITH given AS (
        SELECT kind, row FROM given_note
        WHERE at >= now() - interval '7 days' ORDER BY at DESC LIMIT %(given)s
    ), calls AS (
        SELECT purpose, cost, input_tokens FROM llm_call
        WHERE at >= now() - interval '7 days' AND purpose IN ('compare', 'extract', 'embed')
    )
    SELECT (SELECT count(*) FROM (SELECT FROM episode LIMIT %(episodes)s) AS kept),
        (SELECT count(*) FROM given), (SELECT count(*) FROM (SELECT DISTINCT kind, row FROM given) AS notes),
        (SELECT count(*) FROM calls), (SELECT sum(cost) FROM calls),
        (SELECT sum(cost) FROM calls WHERE purpose = 'embed'),
        (SELECT count(*) FROM calls WHERE cost IS NULL AND input_tokens > 0)
"""


class Counted(NamedTuple):
    """The number of ``episodes`` kept, as far as they are counted, and the figures of the last week.

    - ``given``: memories and episodes that prompts were given; ``different``: how many of them are distinct.
    - ``calls``: calls of models for memories; ``cost``: their known cost in US dollars; ``embedding_cost``: the part of
      it for embeddings; ``unpriced``: calls of unknown cost.
    """

    episodes: int
    given: int
    different: int
    calls: int
    cost: Decimal | None
    embedding_cost: Decimal | None
    unpriced: int


def count() -> Counted:
    [counts] = fetch_rows(COUNT, {"episodes": COUNTED_MAX + 1, "given": COUNTED_NOTES_MAX})
    return Counted(*counts)


def describe_retention(tuning: Tuning, count: int) -> dict[str, Any]:
    """Describe the retention of episodes. The count is not whole if there are too many to count for a page."""
    return {
        "is_on": tuning.episodes in ("on", "all"),
        "days": tuning.episode_days,
        "count": count,
        "is_counted_whole": count <= COUNTED_MAX,
        "counted_max": COUNTED_MAX,
    }
