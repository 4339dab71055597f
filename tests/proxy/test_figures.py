"""The figures of each hour, taken from a real Postgres."""

from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone
from psycopg.conninfo import make_conninfo
from pytest_django import DjangoAssertNumQueries

from memory.db.locks import Lock
from memory.models import Soas
from memory.running import bootstrap
from proxy import tasks
from proxy.models import HourlyFigures, LoopEvent, RecollectionEvent
from proxy.telemetry import charts, hourly_stats
from resolution.models import Claim, Conflict
from tests.arrange import teach

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 22, 12, 20, tzinfo=UTC)
RUNNING = NOW.replace(minute=0)
HOUR = timedelta(hours=1)
ASKED = {"agent": "dobby", "model": "m", "wire": "chat"}


def serve(at: datetime, *, ms: float = 1.0, block: str = "") -> RecollectionEvent:
    number = RecollectionEvent.objects.count()
    return RecollectionEvent.objects.create(request=f"{number:016x}", block=block, enrich_ms=ms, at=at, **ASKED)


def meet_loop(at: datetime) -> None:
    number = LoopEvent.objects.count()
    LoopEvent.objects.create(
        request=f"{number:016x}", kind="same", count=3, steps=["note"], repeated=["look()"], at=at, **ASKED
    )


def row(**more: Any) -> HourlyFigures:
    counted = dict.fromkeys(("conflicts_opened", "conflicts_closed", "requests", "recollections", "loops"), 0)
    return HourlyFigures.objects.create(**({**counted, "taken_at": more["hour"] + 2 * HOUR} | more))


def test_an_hour_has_what_was_done_in_it() -> None:
    for ms in range(1, 101):
        serve(NOW - timedelta(minutes=1), ms=ms, block="B" if ms <= 30 else "")
    serve(RUNNING - timedelta(microseconds=1), ms=5000)
    meet_loop(RUNNING)
    meet_loop(RUNNING - HOUR)

    hourly_stats.take(NOW)

    taken = HourlyFigures.objects.get(hour=RUNNING)
    assert (taken.requests, taken.recollections, taken.loops) == (100, 30, 1)
    assert (taken.enrich_ms_p50, taken.enrich_ms_p99) == (50.5, pytest.approx(99.01))
    earlier = HourlyFigures.objects.get(hour=RUNNING - HOUR)
    assert (earlier.requests, earlier.loops, earlier.enrich_ms_p99) == (1, 1, 5000)


def test_an_hour_has_how_large_the_world_is() -> None:
    bootstrap.load_dimensions()
    Soas.objects.create(token="table", is_common=True)
    before = Soas.objects.filter(is_common=False).count()
    for parent in ("repo", "container"):
        teach(f"gnommoweb isa {parent} type", at=NOW)

    hourly_stats.take(NOW)

    taken = HourlyFigures.objects.get()
    assert (taken.tokens, taken.edges) == (before + 3, 1)  # gnommoweb, repo, container; roots are no facts
    assert taken.conflicts_open == 1


def test_conflicts_count_in_the_hours_in_which_they_were_opened_and_closed() -> None:
    bootstrap.load_dimensions()
    for concept in ("first", "second", "third"):
        for parent in ("repo", "container"):
            teach(f"{concept} isa {parent} type", at=NOW)
    Conflict.objects.update(detected_at=NOW - HOUR)
    Claim.objects.filter(concept__token="first").update(status="resolved", resolved_at=NOW)
    Claim.objects.filter(concept__token="second").update(status="dismissed", resolved_at=NOW)
    Conflict.objects.filter(concept__token="second").update(detected_at=NOW)
    serve(NOW - HOUR)

    hourly_stats.take(NOW)

    counts = {
        each.hour: (each.conflicts_opened, each.conflicts_closed, each.conflicts_open)
        for each in HourlyFigures.objects.all()
    }
    assert counts == {RUNNING - HOUR: (2, 0, None), RUNNING: (1, 2, 1)}
    HourlyFigures.objects.filter(hour=RUNNING).update(conflicts_open=7)
    assert values(charts.draw(now=NOW), "open")[-1] == 1  # those of this moment


def test_taking_them_again_changes_nothing() -> None:
    serve(NOW)
    serve(NOW - 3 * HOUR)
    hourly_stats.take(NOW)
    before = list(HourlyFigures.objects.order_by("hour").values())

    hourly_stats.take(NOW)

    assert list(HourlyFigures.objects.order_by("hour").values()) == before


def test_an_hour_is_taken_again_until_it_has_been_over_for_a_while() -> None:
    serve(NOW)
    hourly_stats.take(NOW)
    serve(RUNNING + timedelta(minutes=59))
    Soas.objects.create(token="gnommoweb")

    taken = [
        hourly_stats.take(RUNNING + HOUR + timedelta(minutes=1)),
        hourly_stats.take(RUNNING + HOUR + timedelta(minutes=11)),
        hourly_stats.take(RUNNING + HOUR + timedelta(minutes=16)),
    ]

    assert taken == [[RUNNING, RUNNING + HOUR], [RUNNING, RUNNING + HOUR], [RUNNING + HOUR]]
    first, second = HourlyFigures.objects.order_by("hour")
    assert (first.requests, first.tokens) == (2, 0)  # what stood later is no figure of this hour
    assert second.tokens == 1


def test_hours_that_nobody_took_are_taken_later_without_what_stood_then() -> None:
    serve(NOW - 3 * HOUR)
    serve(NOW - 100 * HOUR)

    taken = hourly_stats.take(NOW)

    assert taken[0] == RUNNING - 48 * HOUR
    assert len(taken) == 49
    missed = HourlyFigures.objects.get(hour=RUNNING - 3 * HOUR)
    assert (missed.requests, missed.tokens, missed.conflicts_open) == (1, None, None)


def test_before_anything_is_known_only_the_running_hour_is_taken() -> None:
    assert hourly_stats.take(NOW) == [RUNNING]


def test_nobody_takes_them_while_another_does(transactional_db: None) -> None:
    dsn = make_conninfo(settings.DATABASE_URL, dbname=connection.settings_dict["NAME"])
    with psycopg.connect(dsn, autocommit=True) as other:
        other.execute("SELECT pg_try_advisory_lock(%s, hashtext(%s))", [Lock.JOB, "figures"])
        tasks.take_figures()
        while_other = HourlyFigures.objects.count()
        other.execute("SELECT pg_advisory_unlock(%s, hashtext(%s))", [Lock.JOB, "figures"])

    tasks.take_figures()

    assert (while_other, HourlyFigures.objects.count()) == (0, 1)


def test_they_are_kept_for_400_days() -> None:
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    row(hour=now - timedelta(days=401))
    kept = row(hour=now - timedelta(days=399))

    tasks.prune_events()

    assert HourlyFigures.objects.get() == kept


# --- charts ---


def panel(shown: dict[str, Any], key: str) -> dict[str, Any]:
    return next(one for one in shown["panels"] if one["key"] == key)


def values(shown: dict[str, Any], key: str, index: int = 0) -> list[float | None]:
    drawn = next(one for one in shown["data"]["panels"] if one["key"] == key)
    return list(drawn["series"][index]["values"])


def test_charts_take_one_query(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    with django_assert_num_queries(1):
        assert charts.draw("7d")["is_empty"]


@pytest.mark.parametrize("chosen", [None, "", "1y", "<script>"])
def test_an_unknown_range_is_the_first(chosen: str | None) -> None:
    row(hour=RUNNING - 25 * HOUR)
    shown = charts.draw(chosen, NOW)

    assert (shown["chosen"].key, shown["is_empty"], charts.draw("7d", NOW)["is_empty"]) == ("24h", True, False)


def test_what_was_counted_adds_up_and_a_gauge_is_as_of_the_end() -> None:
    row(hour=RUNNING - 6 * HOUR, tokens=10, edges=3, conflicts_open=2, requests=5, recollections=4, loops=1)
    row(hour=RUNNING - 5 * HOUR, tokens=12, conflicts_open=1, requests=1, conflicts_opened=2)
    row(hour=RUNNING - 4 * HOUR, conflicts_closed=3)

    with timezone.override("UTC"):
        shown = charts.draw("7d", NOW)

    found = {(key, at): values(shown, key, at)[-2] for key, *_, series in charts.PANELS for at in range(len(series))}
    assert found == {
        ("tokens", 0): 12, ("facts", 0): 3, ("recollections", 0): 4, ("recollections", 1): 6, ("conflicts", 0): 2,
        ("conflicts", 1): 3, ("open", 0): 1, ("loops", 0): 1, ("latency", 0): None, ("latency", 1): None,
    }  # fmt: skip
    assert values(shown, "tokens")[:-2] == [None] * 26


def test_the_median_of_a_period_weighs_the_prompts_and_its_99th_percentile_is_the_worst() -> None:
    row(hour=RUNNING - 2 * HOUR, requests=3, enrich_ms_p50=1.0, enrich_ms_p99=9.0)
    row(hour=RUNNING - HOUR, requests=1, enrich_ms_p50=5.0, enrich_ms_p99=6.0)
    row(hour=RUNNING)

    shown = charts.draw("30d", NOW)

    assert (values(shown, "latency")[-1], values(shown, "latency", 1)[-1]) == (2.0, 9.0)


@pytest.mark.parametrize(("chosen", "count"), [("24h", 24), ("7d", 28), ("30d", 30)])
def test_what_is_taken_now_is_the_last_point(chosen: str, count: int) -> None:
    serve(timezone.now(), block="B")
    hourly_stats.take(timezone.now())

    shown = charts.draw(chosen)

    assert values(shown, "recollections") == [None] * (count - 1) + [1]
    assert len(shown["data"]["labels"]) == count


def test_days_begin_at_midnight_and_no_hour_is_lost_where_the_clocks_are_set() -> None:
    """On 25 October 2026 Berlin's day has 25 hours."""
    midnight = datetime(2026, 10, 24, 22, tzinfo=UTC)
    for hour in range(49):
        row(hour=midnight + hour * HOUR, requests=1)

    with timezone.override("Europe/Berlin"):
        days = charts.draw("30d", midnight + 48 * HOUR + HOUR / 2)
        hours = charts.draw("24h", midnight + 24 * HOUR + HOUR / 2)

    assert values(days, "recollections", 1)[-2:] == [25, 24]
    assert days["data"]["labels"][-2:] == ["25 Oct", "26 Oct"]
    assert (hours["data"]["labels"].count("02:00"), values(hours, "recollections", 1)) == (2, [1] * 24)


def test_a_chart_says_what_it_shows() -> None:
    row(hour=RUNNING - HOUR, tokens=1000, loops=2, requests=4, enrich_ms_p50=1.25, enrich_ms_p99=8.0)
    row(hour=RUNNING, tokens=1234, loops=1, requests=2, enrich_ms_p50=1.5, enrich_ms_p99=4.0)

    with timezone.override("UTC"):
        shown = charts.draw("24h", NOW)

    assert (panel(shown, "tokens")["headline"], panel(shown, "latency")["headline"]) == ("1,234", "1.5 / 4.0")
    assert panel(shown, "tokens")["description"] == "Tokens, last 24 hours. tokens: 1,234, at first 1,000"
    assert panel(shown, "loops")["description"] == "Loops met, last 24 hours. loops: 3 in all, at most 2 (11:00)"
    assert "p99: 4.0 ms, at most 8.0 ms (11:00)" in panel(shown, "latency")["description"]
    assert panel(shown, "facts")["description"].endswith("facts: not known")


def test_the_table_has_the_values_of_the_charts_the_newest_first() -> None:
    row(hour=RUNNING - 3 * HOUR, tokens=10, requests=4)
    row(hour=RUNNING, tokens=12, requests=7)

    with timezone.override("Europe/Berlin"):
        shown = charts.draw("24h", NOW)

    heads, rows = shown["table"]["heads"], shown["table"]["rows"]
    assert [begin for begin, _ in rows] == ["2026-11-22 13:00", "2026-11-22 10:00"]
    assert [dict(zip(heads, texts, strict=True))["prompts"] for _, texts in rows] == ["7", "4"]
    assert values(shown, "recollections", 1)[-4:] == [4, None, None, 7]
    assert shown["data"]["labels"][-1] == "13:00"
