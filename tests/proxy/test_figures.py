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

from memory import bootstrap
from memory.db.locks import Lock
from memory.models import Soas
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
    stale = charts.Figures(RUNNING, requests=1, conflicts_open=7, conflicts_opened=7)
    assert hourly_stats.with_conflicts_now(stale) == charts.Figures(
        RUNNING, requests=1, conflicts_open=1, conflicts_opened=1, conflicts_closed=2
    )


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
    now = hourly_stats.hour_of(timezone.now())
    row(hour=now - timedelta(days=401))
    kept = row(hour=now - timedelta(days=399))

    tasks.prune_events()

    assert HourlyFigures.objects.get() == kept


# --- charts ---


def test_charts_take_two_queries(django_assert_num_queries: DjangoAssertNumQueries) -> None:
    row(hour=hourly_stats.hour_of(timezone.now()), tokens=5, requests=1)

    with django_assert_num_queries(2):
        shown = hourly_stats.charts("7d")

    assert (shown["chosen"].key, shown["is_empty"]) == ("7d", False)


def test_charts_begin_with_the_first_hour() -> None:
    row(hour=hourly_stats.hour_of(timezone.now()) - timedelta(days=2))

    assert hourly_stats.charts()["is_empty"]
    assert not hourly_stats.charts("7d")["is_empty"]


@pytest.mark.parametrize(("chosen", "count"), [("24h", 24), ("7d", 28), ("30d", 30)])
def test_what_is_taken_now_is_the_last_point(chosen: str, count: int) -> None:
    serve(timezone.now(), block="B")
    hourly_stats.take(timezone.now())

    data = hourly_stats.charts(chosen)["data"]

    recollections = next(panel for panel in data["panels"] if panel["key"] == "recollections")
    assert recollections["series"][0]["values"] == [None] * (count - 1) + [1]
    assert len(data["labels"]) == count
