"""From the figures of hours to charts."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.telemetry.charts import COUNTED, HOUR, RANGES, Figures, Range, by_period, charts, range_of, together

NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
BERLIN = ZoneInfo("Europe/Berlin")
DAY, WEEK, MONTH = RANGES


def panel(shown: dict, key: str) -> dict:
    return next(one for one in shown["panels"] if one["key"] == key)


def values(shown: dict, key: str, index: int = 0) -> list:
    return next(one for one in shown["data"]["panels"] if one["key"] == key)["series"][index]["values"]


# --- periods ---


def test_what_was_counted_adds_up_and_what_stands_is_as_of_the_end() -> None:
    hours = [
        Figures(NOON, tokens=10, edges=3, conflicts_open=2, requests=5, recollections=4, loops=1),
        Figures(NOON + HOUR, tokens=12, edges=None, conflicts_open=1, requests=1, recollections=0, conflicts_opened=2),
        Figures(NOON + 2 * HOUR, conflicts_closed=3),
    ]

    found = together(hours)

    assert (found.begin, found.tokens, found.edges, found.conflicts_open) == (NOON, 12, 3, 1)
    assert [getattr(found, name) for name in COUNTED] == [2, 3, 6, 4, 1]


def test_the_median_of_a_period_weighs_the_prompts_and_its_99th_percentile_is_the_worst() -> None:
    hours = [
        Figures(NOON, requests=3, enrich_ms_p50=1.0, enrich_ms_p99=9.0),
        Figures(NOON + HOUR, requests=1, enrich_ms_p50=5.0, enrich_ms_p99=6.0),
        Figures(NOON + 2 * HOUR),
    ]

    found = together(hours)

    assert (found.enrich_ms_p50, found.enrich_ms_p99) == (2.0, 9.0)


def test_without_prompts_there_is_no_latency() -> None:
    found = together([Figures(NOON)])

    assert (found.enrich_ms_p50, found.enrich_ms_p99) == (None, None)


@given(st.lists(st.integers(0, 100), min_size=1, max_size=60), st.sampled_from(RANGES))
def test_nothing_within_a_range_is_lost(counts: list[int], chosen: Range) -> None:
    begins = chosen.begins(NOON, BERLIN)
    hours = [Figures(NOON - back * HOUR, requests=count) for back, count in reversed(list(enumerate(counts)))]

    periods = by_period(hours, begins)

    inside = [hour.requests for hour in hours if hour.begin >= begins[0]]
    assert sum(period.requests for period in periods if period is not None) == sum(inside)
    assert len(periods) == chosen.periods


def test_a_period_of_which_nothing_is_known_is_a_gap() -> None:
    periods = by_period([Figures(NOON - HOUR, requests=1)], [NOON - 2 * HOUR, NOON - HOUR, NOON])

    assert [period and period.requests for period in periods] == [None, 1, None]


def test_what_is_earlier_than_the_range_is_left_out() -> None:
    assert by_period([Figures(NOON - HOUR)], [NOON]) == [None]


@pytest.mark.parametrize(("chosen", "span"), [(DAY, HOUR), (WEEK, 6 * HOUR), (MONTH, 24 * HOUR)])
def test_the_running_period_is_the_last_one(chosen: Range, span: timedelta) -> None:
    begins = chosen.begins(NOON + timedelta(minutes=59), UTC)

    assert begins[-1] <= NOON < begins[-1] + span
    assert {later - earlier for earlier, later in pairwise(begins)} == {span}


def test_days_begin_at_midnight_also_where_the_clocks_are_set() -> None:
    """On 25 October 2026 Berlin's day has 25 hours."""
    begins = MONTH.begins(datetime(2026, 10, 26, 12, tzinfo=UTC), BERLIN)

    assert {begin.astimezone(BERLIN).hour for begin in begins} == {0}
    assert begins[-1] - begins[-2] == 25 * HOUR


def test_of_a_day_with_an_hour_that_comes_twice_each_is_a_point() -> None:
    begins = DAY.begins(datetime(2026, 10, 25, 12, tzinfo=UTC), BERLIN)

    assert len(set(begins)) == 24
    assert [begin.astimezone(BERLIN).hour for begin in begins].count(2) == 2


@pytest.mark.parametrize("key", [None, "", "1y", "<script>"])
def test_an_unknown_range_is_the_first(key: str | None) -> None:
    assert range_of(key) is DAY


# --- charts ---


def test_a_chart_says_what_it_shows() -> None:
    hours = [
        Figures(NOON - HOUR, tokens=1000, loops=2, requests=4, enrich_ms_p50=1.25, enrich_ms_p99=8.0),
        Figures(NOON, tokens=1234, loops=1, requests=2, enrich_ms_p50=1.5, enrich_ms_p99=4.0),
    ]

    shown = charts(hours, DAY, NOON, UTC)

    assert panel(shown, "tokens")["headline"] == "1,234"
    assert panel(shown, "tokens")["said"] == "Tokens, last 24 hours. tokens: 1,234, at first 1,000"
    assert panel(shown, "loops")["said"] == "Loops met, last 24 hours. loops: 3 in all, at most 2 (11:00)"
    assert panel(shown, "latency")["headline"] == "1.5 / 4.0"
    assert "p99: 4.0 ms, at most 8.0 ms (11:00)" in panel(shown, "latency")["said"]
    assert panel(shown, "facts")["said"].endswith("facts: not known")


def test_the_table_has_the_values_of_the_charts_the_newest_first() -> None:
    hours = [Figures(NOON - 3 * HOUR, tokens=10, requests=4), Figures(NOON, tokens=12, requests=7)]

    shown = charts(hours, DAY, NOON, BERLIN)

    heads, rows = shown["table"]["heads"], shown["table"]["rows"]
    assert [begin for begin, _ in rows] == ["2026-11-22 13:00", "2026-11-22 10:00"]
    assert [dict(zip(heads, row, strict=True))["prompts"] for _, row in rows] == ["7", "4"]
    assert values(shown, "recollections", 1)[-4:] == [4, None, None, 7]
    assert values(shown, "tokens")[-4:] == [10, None, None, 12]
    assert shown["data"]["labels"][-1] == "13:00"
