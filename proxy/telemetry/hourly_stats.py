"""Figures over time: takes one row an hour in the background, and returns the charts of them."""

from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from django.db import connection
from django.utils import timezone

from memory.db.connections import fetch_rows
from proxy.models import HourlyFigures
from proxy.telemetry.charts import HOUR, RANGES, Figures, range_of
from proxy.telemetry.charts import charts as drawn

HOURS_BACK: Final = 48  # hours that are still taken after they ended, if nobody was there to take them
# Events come late if Postgres was away; within this time they still count for their hour.
LATE: Final = timedelta(minutes=10)

# The first hour of which anything is known.
FIRST = """
    SELECT least(
        (SELECT min(at) FROM recollection_event), (SELECT min(at) FROM loop_event),
        (SELECT min(hour) FROM hourly_figures)
    )
"""
STANDING = """
    SELECT
        (SELECT count(*) FROM soas WHERE NOT is_common),
        (SELECT count(*) FROM urd WHERE id <> parent_id),
        (SELECT count(*) FROM conflict WHERE status = 'open')
"""
# Current totals are no figures of an hour that is over: there the totals taken last stay.
TAKE = """
    INSERT INTO hourly_figures (
        hour, tokens, edges, conflicts_open, conflicts_opened, conflicts_closed, requests, recollections, loops,
        enrich_ms_p50, enrich_ms_p99, taken_at
    )
    SELECT
        %(begin)s, %(tokens)s, %(edges)s, %(conflicts_open)s,
        (SELECT count(*) FROM conflict WHERE detected_at >= %(begin)s AND detected_at < %(end)s),
        (SELECT count(*) FROM conflict WHERE resolved_at >= %(begin)s AND resolved_at < %(end)s),
        count(*), count(*) FILTER (WHERE block <> ''),
        (SELECT count(*) FROM loop_event WHERE at >= %(begin)s AND at < %(end)s),
        percentile_cont(0.5) WITHIN GROUP (ORDER BY enrich_ms),
        percentile_cont(0.99) WITHIN GROUP (ORDER BY enrich_ms), %(now)s
    FROM recollection_event WHERE at >= %(begin)s AND at < %(end)s
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
"""
# The running hour's conflicts at this moment, because the page says beside the chart how many wait.
RUNNING = """
    SELECT
        count(*) FILTER (WHERE status = 'open'), count(*) FILTER (WHERE detected_at >= %(begin)s),
        count(*) FILTER (WHERE resolved_at >= %(begin)s)
    FROM conflict
"""


def take(now: datetime) -> list[datetime]:
    """Take the figures of the running hour, and of those before it that were not taken after their end. Return these
    hours."""
    # Taking an hour again changes nothing: if this is interrupted, the next run takes the rest.
    running = hour_of(now)
    hours = [*find_missed_hours(running), running]
    with connection.cursor() as cursor:
        for hour in hours:
            tokens = edges = conflicts_open = None
            if hour == running:
                cursor.execute(STANDING)
                tokens, edges, conflicts_open = cursor.fetchone()
            figures = {"tokens": tokens, "edges": edges, "conflicts_open": conflicts_open}
            cursor.execute(TAKE, {**figures, "begin": hour, "end": hour + HOUR, "now": now})
    return hours


def find_missed_hours(running: datetime) -> list[datetime]:
    """Return the hours before the running one that have no figures, or were taken too early; the earliest first."""
    [(first,)] = fetch_rows(FIRST)
    if first is None:
        return []
    begin = max(hour_of(first), running - HOURS_BACK * HOUR)
    taken = HourlyFigures.objects.filter(hour__gte=begin, hour__lt=running).values_list("hour", "taken_at")
    done = {hour for hour, at in taken if at >= hour + HOUR + LATE}
    count = (running - begin) // HOUR
    return [hour for back in range(count, 0, -1) if (hour := running - back * HOUR) not in done]


def hour_of(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def charts(chosen: str | None = None) -> dict[str, Any]:
    """Return the charts of a range (``24h``, the default, ``7d``, ``30d``), in two queries. ``is_empty``: there are no
    figures in it."""
    now, zone, shown = timezone.now(), timezone.get_current_timezone(), range_of(chosen)
    begin = shown.begins(now, zone)[0]
    columns = [field.name for field in fields(Figures)[1:]]
    since = HourlyFigures.objects.filter(hour__gte=begin).order_by("hour")
    rows = list(since.values_list("taken_at", "hour", *columns))
    taken = [Figures(*figures) for _, *figures in rows]
    if taken and taken[-1].begin == hour_of(now):
        taken[-1] = with_conflicts_now(taken[-1])
    return {
        "chosen": shown,
        "ranges": RANGES,
        "is_empty": not rows,
        "taken_at": max((taken_at for taken_at, *_ in rows), default=None),
        **drawn(taken, shown, now, zone),
    }


def with_conflicts_now(running: Figures) -> Figures:
    [(standing, opened, closed)] = fetch_rows(RUNNING, {"begin": running.begin})
    return replace(running, conflicts_open=standing, conflicts_opened=opened, conflicts_closed=closed)
