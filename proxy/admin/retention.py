"""What is kept of what people say, on the home page."""

from decimal import Decimal
from typing import Any, Final, NamedTuple

from memory.db.connections import fetch_rows
from memory.settings.registry import Tuning

COUNTED_MAX: Final = 10_000  # episodes
COUNTED_NOTES_MAX: Final = 50_000  # what prompts were given, and searches
AGAIN_S: Final = 120  # whoever searches again within that did not find it
COUNT: Final = """
    WITH given AS (
        SELECT kind, row, is_used FROM given_note
        WHERE at >= now() - interval '7 days' ORDER BY at DESC LIMIT %(given)s
    ), searches AS (
        SELECT at, lead(at) OVER (PARTITION BY agent, person, project_id ORDER BY at, id) AS next FROM (
            SELECT * FROM asked_search WHERE at >= now() - interval '7 days' ORDER BY at DESC LIMIT %(given)s
        ) AS newest
    ), settled AS (
        SELECT next < at + make_interval(secs => %(again)s) AS is_repeated FROM searches
        WHERE at < now() - make_interval(secs => %(again)s)
    ), calls AS (
        SELECT purpose, cost, input_tokens FROM llm_call
        WHERE at >= now() - interval '7 days' AND purpose IN ('compare', 'extract', 'embed')
    )
    SELECT (SELECT count(*) FROM (SELECT FROM episode LIMIT %(episodes)s) AS kept),
        (SELECT count(*) FROM given), (SELECT count(DISTINCT (kind, row)) FROM given),
        (SELECT count(is_used) FROM given), (SELECT count(*) FILTER (WHERE is_used) FROM given),
        (SELECT count(*) FROM settled), (SELECT count(*) FILTER (WHERE is_repeated) FROM settled),
        (SELECT count(*) FROM calls), (SELECT sum(cost) FROM calls),
        (SELECT sum(cost) FROM calls WHERE purpose = 'embed'),
        (SELECT count(*) FROM calls WHERE cost IS NULL AND input_tokens > 0)
"""


class Counted(NamedTuple):
    """How many episodes are kept, as far as they are counted. Of the last week: how many memories and episodes prompts
    were given, how many different ones, of how many it is known whether the answer used them, how many it did; how
    often somebody searched, and soon again; how often models were asked for memories, and what that cost in US dollars,
    as far as it is known, of it embeddings; of how many calls it is not."""

    episodes: int
    given: int
    different: int
    told: int
    used: int
    searches: int
    repeated: int
    calls: int
    cost: Decimal | None
    embedding_cost: Decimal | None
    unpriced: int

    @property
    def used_percent(self) -> int | None:
        return round(100 * self.used / self.told) if self.told else None

    @property
    def helpful_percent(self) -> int | None:
        """Of the searches, those that nobody had to repeat."""
        return round(100 * (self.searches - self.repeated) / self.searches) if self.searches else None


def count() -> Counted:
    [counts] = fetch_rows(COUNT, {"episodes": COUNTED_MAX + 1, "given": COUNTED_NOTES_MAX, "again": AGAIN_S})
    return Counted(*counts)


def describe_retention(tuning: Tuning, count: int) -> dict[str, Any]:
    """Without the number where there are too many to be counted for a page."""
    return {
        "is_on": tuning.episodes in ("on", "all"),
        "days": tuning.episode_days,
        "count": count,
        "is_counted_whole": count <= COUNTED_MAX,
        "counted_max": COUNTED_MAX,
    }
