"""Figures over time: takes one row an hour in the background."""

from datetime import datetime, timedelta
from typing import Final

from memory.db.connections import fetch_rows

HOUR: Final = timedelta(hours=1)
BACK: Final = 48 * HOUR  # in which an hour is still taken after it ended, if nobody was there to take it
# Events come late if Postgres was away; within this time they still count for their hour.
LATE: Final = timedelta(minutes=10)

# The running hour, and those before it that have no figures or were taken too early. Taking an hour again changes
# nothing. How much there is now is no figure of an hour that is over: there the totals taken last stay.
TAKE: Final = """
    WITH known AS (
        SELECT date_trunc('hour', %(now)s, 'UTC') AS running, least(
            (SELECT min(at) FROM recollection_event), (SELECT min(at) FROM loop_event),
            (SELECT min(hour) FROM hourly_figures), %(now)s
        ) AS first
    ), hours AS (
        SELECT begin, begin + %(hour)s AS ends, begin = running AS is_running FROM known, generate_series(
            greatest(date_trunc('hour', first, 'UTC'), running - %(back)s), running, %(hour)s
        ) AS begin
        WHERE begin = running OR NOT EXISTS (
            SELECT FROM hourly_figures WHERE hour = begin AND taken_at >= begin + %(hour)s + %(late)s
        )
    )
    INSERT INTO hourly_figures (
        hour, tokens, edges, conflicts_open, conflicts_opened, conflicts_closed, requests, recollections, loops,
        enrich_ms_p50, enrich_ms_p99, taken_at
    )
    SELECT
        begin,
        CASE WHEN is_running THEN (SELECT count(*) FROM soas WHERE NOT is_common) END,
        CASE WHEN is_running THEN (SELECT count(*) FROM urd WHERE id <> parent_id) END,
        CASE WHEN is_running THEN (SELECT count(*) FROM conflict WHERE status = 'open') END,
        (SELECT count(*) FROM conflict WHERE detected_at >= begin AND detected_at < ends),
        (SELECT count(*) FROM conflict WHERE resolved_at >= begin AND resolved_at < ends),
        prompts.*,
        %(now)s
    FROM hours, LATERAL (
        SELECT
            count(*), count(*) FILTER (WHERE block <> ''),
            (SELECT count(*) FROM loop_event WHERE at >= begin AND at < ends),
            percentile_cont(0.5) WITHIN GROUP (ORDER BY enrich_ms),
            percentile_cont(0.99) WITHIN GROUP (ORDER BY enrich_ms)
        FROM recollection_event WHERE at >= begin AND at < ends
    ) AS prompts
    ON CONFLICT (hour) DO UPDATE SET
        tokens = coalesce(EXCLUDED.tokens, hourly_figures.tokens),
        edges = coalesce(EXCLUDED.edges, hourly_figures.edges),
        conflicts_open = coalesce(EXCLUDED.conflicts_open, hourly_figures.conflicts_open),
        conflicts_opened = EXCLUDED.conflicts_opened,
        conflicts_closed = EXCLUDED.conflicts_closed,
        requests = EXCLUDED.requests,
        recollections = EXCLUDED.recollections,
        loops = EXCLUDED.loops,
        enrich_ms_p50 = EXCLUDED.enrich_ms_p50,
        enrich_ms_p99 = EXCLUDED.enrich_ms_p99,
        taken_at = EXCLUDED.taken_at
    RETURNING hour
"""


def take(now: datetime) -> list[datetime]:
    """Take the figures of the running hour, and of those before it that were not taken after their end. Return these
    hours."""
    taken = fetch_rows(TAKE, {"now": now, "hour": HOUR, "back": BACK, "late": LATE})
    return sorted(hour for (hour,) in taken)
