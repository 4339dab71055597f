"""The charts of the home page, from hourly figures. A point is a period: an hour, a quarter of a day, a day."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Literal

from django.utils import timezone

from memory.db.connections import fetch_rows

UNKNOWN: Final = "–"

# Periods follow the clocks of the time zone, even when these are changed. Counts are added up; gauges are as of the
# last hour of a period. Percentiles do not add up: taken are the mean of the medians, weighted by the prompts of each
# hour, and the worst of the 99th percentiles, which overstates rather than hides. Of the running period the open
# conflicts are those of this moment, because the page says beside the chart how many there are.
FIGURES: Final = """
    WITH periods AS (
        SELECT begin, begin AT TIME ZONE %(zone)s AS begins, (begin + %(step)s) AT TIME ZONE %(zone)s AS ends, running
        FROM (SELECT date_bin(%(step)s, %(now)s AT TIME ZONE %(zone)s, '2000-01-01') AS running) AS latest,
            generate_series(running - %(back)s, running, %(step)s) AS begin
    )
    SELECT
        begins,
        max(taken_at),
        (array_agg(tokens ORDER BY hour DESC) FILTER (WHERE tokens IS NOT NULL))[1],
        (array_agg(edges ORDER BY hour DESC) FILTER (WHERE edges IS NOT NULL))[1],
        sum(recollections),
        sum(requests),
        sum(conflicts_opened),
        sum(conflicts_closed),
        CASE WHEN begin = running THEN (SELECT count(*) FROM conflict WHERE status = 'open')
            ELSE (array_agg(conflicts_open ORDER BY hour DESC) FILTER (WHERE conflicts_open IS NOT NULL))[1] END,
        sum(loops),
        sum(enrich_ms_p50 * requests) / nullif(sum(requests) FILTER (WHERE enrich_ms_p50 IS NOT NULL), 0),
        max(enrich_ms_p99)
    FROM periods LEFT JOIN hourly_figures ON hour >= begins AND hour < ends
    GROUP BY begin, begins, running ORDER BY begins
"""


@dataclass(frozen=True, slots=True)
class Range:
    """A time range: a number of periods of so many hours. ``point`` says what one point of a chart is."""

    key: str
    title: str
    periods: int
    hours: int
    point: str
    label: str  # of a period, a format for strftime


RANGES: Final = (
    Range("24h", "24 hours", 24, 1, "an hour", "%H:%M"),
    Range("7d", "7 days", 28, 6, "six hours", "%a %H:%M"),
    Range("30d", "30 days", 30, 24, "a day", "%d %b"),
)


@dataclass(frozen=True, slots=True)
class Series:
    """One line, or one set of bars."""

    name: str
    kind: Literal["gauge", "counted", "ms"]

    def headline(self, values: Sequence[float | None]) -> str:
        """Return the one figure for all: the sum of counts, otherwise the latest value."""
        known = [value for value in values if value is not None]
        if not known:
            return UNKNOWN
        return self.text(sum(known) if self.kind == "counted" else known[-1])

    def text(self, value: float | None) -> str:
        if value is None:
            return UNKNOWN
        return f"{value:,.1f}" if self.kind == "ms" else f"{value:,.0f}"

    def describe(self, values: Sequence[float | None], labels: Sequence[str]) -> str:
        """Describe the picture for those who do not see it."""
        known = [(value, label) for value, label in zip(values, labels, strict=True) if value is not None]
        if not known:
            return f"{self.name}: not known"
        unit = " ms" if self.kind == "ms" else ""
        most, when = max(known, key=lambda pair: pair[0])
        total = f"{self.name}: {self.headline(values)}{unit}"
        if self.kind == "gauge":
            return f"{total}, at first {self.text(known[0][0])}"
        return f"{total}{' in all' if self.kind == 'counted' else ''}, at most {self.text(most)}{unit} ({when})"


# Key, title, note and series of each chart; the series in the order of FIGURES.
PANELS: Final = (
    ("tokens", "Tokens", "without common words", (Series("tokens", "gauge"),)),
    ("facts", "Facts", "", (Series("facts", "gauge"),)),
    ("recollections", "Recollections", "", (Series("served", "counted"), Series("prompts", "counted"))),
    ("conflicts", "Conflicts opened and closed", "", (Series("opened", "counted"), Series("closed", "counted"))),
    ("open", "Conflicts open", "", (Series("open", "gauge"),)),
    ("loops", "Loops met", "", (Series("loops", "counted"),)),
    ("latency", "Added latency, ms", "", (Series("p50", "ms"), Series("p99", "ms"))),
)


def draw(chosen: str | None = None, now: datetime | None = None) -> dict[str, Any]:
    """Return the charts of a range (``24h``, the default, ``7d``, ``30d``): ``panels`` with a headline and a
    description for each, the same values as ``table``, the newest first, and ``data`` for the script that draws.
    ``is_empty``: there are no figures in it."""
    shown = next((one for one in RANGES if one.key == chosen), RANGES[0])
    zone = timezone.get_current_timezone()
    step = timedelta(hours=shown.hours)
    arguments = {
        "now": now or timezone.now(),
        "zone": "UTC" if shown.hours == 1 else str(zone),  # every hour is a point, also one that comes twice
        "step": step,
        "back": (shown.periods - 1) * step,
    }
    begins, taken, *columns = zip(*fetch_rows(FIGURES, arguments), strict=True)
    local = [begin.astimezone(zone) for begin in begins]
    labels = [begin.strftime(shown.label) for begin in local]
    values = [[None if value is None else float(value) for value in column] for column in columns]
    panels, waiting = [], iter(values)
    for key, title, note, series in PANELS:
        pairs = [(one, next(waiting)) for one in series]
        panels.append(
            {
                "key": key,
                "title": title,
                "note": " / ".join(one.name for one in series) if len(series) > 1 else note,
                "headline": " / ".join(one.headline(known) for one, known in pairs),
                "description": f"{title}, last {shown.title}. "
                + "; ".join(one.describe(known, labels) for one, known in pairs),
                "series": [{"name": one.name, "kind": one.kind, "values": known} for one, known in pairs],
            }
        )
    every = [one for *_, series in PANELS for one in series]
    return {
        "chosen": shown,
        "ranges": RANGES,
        "is_empty": not any(taken),
        "taken_at": max(filter(None, taken), default=None),
        "panels": panels,
        "table": {
            "heads": [f"{one.name}, ms" if one.kind == "ms" else one.name for one in every],
            "rows": [
                (f"{local[at]:%Y-%m-%d %H:%M}", [one.text(known[at]) for one, known in zip(every, values, strict=True)])
                for at in reversed(range(len(local)))
                if taken[at]
            ],
        },
        "data": {"labels": labels, "panels": [{"key": one["key"], "series": one["series"]} for one in panels]},
    }
