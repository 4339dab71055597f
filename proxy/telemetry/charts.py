"""Turns hourly figures into charts: pure, no Django.

The points of a chart are periods: an hour, a quarter of a day, a day. Counts of events are added up; totals are as of
the last hour of a period.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, Final, Literal

HOUR: Final = timedelta(hours=1)
UNKNOWN: Final = "–"


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of one hour, or of a longer period. ``begin`` is in UTC. None means not known."""

    begin: datetime
    tokens: int | None = None
    edges: int | None = None
    conflicts_open: int | None = None
    conflicts_opened: int = 0
    conflicts_closed: int = 0
    requests: int = 0
    recollections: int = 0
    loops: int = 0
    enrich_ms_p50: float | None = None
    enrich_ms_p99: float | None = None


STANDING: Final = ("tokens", "edges", "conflicts_open")
COUNTED: Final = ("conflicts_opened", "conflicts_closed", "requests", "recollections", "loops")


def together(hours: Sequence[Figures]) -> Figures:
    """Return the figures of a period; ``hours`` is not empty, and in order."""
    known: dict[str, Any] = {
        name: next((value for one in reversed(hours) if (value := getattr(one, name)) is not None), None)
        for name in STANDING
    }
    known |= {name: sum(getattr(one, name) for one in hours) for name in COUNTED}
    # Percentiles do not add up. Take the mean of the medians, weighted by the prompts of each hour, and the worst of
    # the 99th percentiles, which overstates rather than hides.
    timed = [(one.enrich_ms_p50, one.requests) for one in hours if one.enrich_ms_p50 is not None]
    requests = sum(count for _, count in timed)
    p50 = sum(median * count for median, count in timed) / requests if requests else None
    p99 = max((one.enrich_ms_p99 for one in hours if one.enrich_ms_p99 is not None), default=None)
    return Figures(hours[0].begin, enrich_ms_p50=p50, enrich_ms_p99=p99, **known)


# -- periods


@dataclass(frozen=True, slots=True)
class Range:
    """A time range: a number of periods of so many hours. ``point`` says what one point of a chart is."""

    key: str
    title: str
    periods: int
    hours: int
    point: str
    label: str  # of a period, a format for strftime

    def begins(self, now: datetime, zone: tzinfo) -> list[datetime]:
        """Return when each period begins, in UTC, the running one last. Periods longer than an hour follow the clocks
        of the time zone, even when these are changed."""
        if self.hours == 1:
            running = now.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
            return [running - HOUR * back for back in range(self.periods - 1, -1, -1)]
        local = now.astimezone(zone)
        first = local.replace(hour=local.hour - local.hour % self.hours, minute=0, second=0, microsecond=0, fold=0)
        # Within one zone Python adds and subtracts by the clock.
        begins = [first - timedelta(hours=self.hours * back) for back in range(self.periods - 1, -1, -1)]
        return [begin.astimezone(UTC) for begin in begins]


RANGES: Final = (
    Range("24h", "24 hours", 24, 1, "an hour", "%H:%M"),
    Range("7d", "7 days", 28, 6, "six hours", "%a %H:%M"),
    Range("30d", "30 days", 30, 24, "a day", "%d %b"),
)


def range_of(key: str | None) -> Range:
    """Return the range with this key, or the first if there is none."""
    return next((one for one in RANGES if one.key == key), RANGES[0])


def by_period(hours: Iterable[Figures], begins: Sequence[datetime]) -> list[Figures | None]:
    """Return the figures of each period, None if there are none. ``hours`` are in order; those before the first period
    are left out."""
    of_period: list[list[Figures]] = [[] for _ in begins]
    for hour in hours:
        if (index := bisect_right(begins, hour.begin) - 1) >= 0:
            of_period[index].append(hour)
    return [together(inside) if inside else None for inside in of_period]


# -- charts


@dataclass(frozen=True, slots=True)
class Series:
    """One line, or one set of bars. ``figure`` is the name of a field of ``Figures``."""

    figure: str
    name: str
    kind: Literal["standing", "counted", "ms"]

    def values(self, points: Iterable[Figures | None]) -> list[float | None]:
        return [None if point is None else getattr(point, self.figure) for point in points]

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
        told = f"{self.name}: {self.headline(values)}{unit}"
        if self.kind == "standing":
            return f"{told}, at first {self.text(known[0][0])}"
        return f"{told}{' in all' if self.kind == 'counted' else ''}, at most {self.text(most)}{unit} ({when})"


@dataclass(frozen=True, slots=True)
class Panel:
    key: str
    title: str
    series: tuple[Series, ...]
    note: str = ""


PANELS: Final = (
    Panel("tokens", "Tokens", (Series("tokens", "tokens", "standing"),), "without common words"),
    Panel("facts", "Facts", (Series("edges", "facts", "standing"),)),
    Panel(
        "recollections",
        "Recollections",
        (Series("recollections", "served", "counted"), Series("requests", "prompts", "counted")),
    ),
    Panel(
        "conflicts",
        "Conflicts opened and closed",
        (Series("conflicts_opened", "opened", "counted"), Series("conflicts_closed", "closed", "counted")),
    ),
    Panel("open", "Conflicts open", (Series("conflicts_open", "open", "standing"),)),
    Panel("loops", "Loops met", (Series("loops", "loops", "counted"),)),
    Panel(
        "latency",
        "Added latency, ms",
        (Series("enrich_ms_p50", "p50", "ms"), Series("enrich_ms_p99", "p99", "ms")),
    ),
)


def charts(hours: Sequence[Figures], chosen: Range, now: datetime, zone: tzinfo) -> dict[str, Any]:
    """Return the content of the page: ``panels`` with a headline and a text for each, the same values as ``table``, the
    newest first, and ``data`` for the script that draws."""
    begins = chosen.begins(now, zone)
    points = by_period(hours, begins)
    local = [begin.astimezone(zone) for begin in begins]
    labels = [begin.strftime(chosen.label) for begin in local]
    values = {one.figure: one.values(points) for panel in PANELS for one in panel.series}
    series = [one for panel in PANELS for one in panel.series]
    return {
        "panels": [
            {
                "key": panel.key,
                "title": panel.title,
                "note": panel.note,
                "headline": " / ".join(one.headline(values[one.figure]) for one in panel.series),
                "names": " / ".join(one.name for one in panel.series) if len(panel.series) > 1 else "",
                "said": f"{panel.title}, last {chosen.title}. "
                + "; ".join(one.describe(values[one.figure], labels) for one in panel.series),
            }
            for panel in PANELS
        ],
        "table": {
            "heads": [f"{one.name}, ms" if one.kind == "ms" else one.name for one in series],
            "rows": [
                (f"{begin:%Y-%m-%d %H:%M}", [one.text(values[one.figure][index]) for one in series])
                for index, begin in reversed(list(enumerate(local)))
                if points[index] is not None
            ],
        },
        "data": {
            "labels": labels,
            "panels": [
                {
                    "key": panel.key,
                    "series": [
                        {"name": one.name, "kind": one.kind, "values": values[one.figure]} for one in panel.series
                    ],
                }
                for panel in PANELS
            ],
        },
    }
