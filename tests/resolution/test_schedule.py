"""When the resolver runs by itself."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

import psycopg
import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django_celery_beat.models import CrontabSchedule, IntervalSchedule, PeriodicTask, PeriodicTasks
from pytest_django import DjangoCaptureOnCommitCallbacks

from memory.db.locks import is_job_held
from memory.models import Config, Soas
from resolution.models import Run
from resolution.nightly import runs, schedule
from resolution.nightly.jobs import carry_out_requested
from resolution.nightly.runs import LOCK, AlreadyRunning, request_run
from resolution.tasks import nightly
from tests.arrange import configure
from tests.llm_server import LlmServer
from tests.resolution.disputes import DISMISS, choose, places
from tests.waiting import eventually

pytestmark = pytest.mark.django_db

NIGHT = datetime(2026, 5, 11, 2, 0, tzinfo=UTC)  # a Monday
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
UP = 301.0  # seconds


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memory.llm.client.FIRST_PAUSE_S", 0.001)


@pytest.fixture
def wakes(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bool]]:
    """A wake-up each, instead of a message."""
    sent: list[bool] = []
    monkeypatch.setattr(runs._waker, "ask", lambda: sent.append(True))
    return sent


def scheduled() -> PeriodicTask:
    return PeriodicTask.objects.get(name=schedule.NAME)


def set_schedule(cron: str, at: datetime) -> None:
    configure(resolution_schedule=cron)
    Config.objects.filter(key="resolution_schedule").update(updated_at=at)
    schedule.sync_beat_schedule()


def ran(at: datetime, trigger: str = "schedule") -> Run:
    return Run.objects.create(trigger=trigger, mode="auto", status="done", started_at=at, ended_at=at)


# --- beat's row ---


def test_a_fresh_database_has_the_schedule_of_the_setting(settings: Any) -> None:
    settings.TIME_ZONE = "Europe/Berlin"
    Soas.objects.create(token="the", is_common=True)  # a dictionary, as far as the command looks

    call_command("bootstrap")

    crontab = scheduled().crontab
    assert (scheduled().task, scheduled().enabled) == ("resolution.tasks.resolve", True)
    assert (crontab.minute, crontab.hour, str(crontab.timezone)) == ("0", "2", "Europe/Berlin")


def test_a_changed_setting_changes_the_row_and_tells_beat() -> None:
    configure(resolution_schedule="0 2 * * *")
    schedule.sync_beat_schedule()
    PeriodicTasks.objects.update(last_update=NIGHT)

    configure(resolution_schedule="*/15 3 * * 1")
    changed = [schedule.sync_beat_schedule(), schedule.sync_beat_schedule()]

    crontab = scheduled().crontab
    assert changed == [True, False]
    assert (crontab.minute, crontab.hour, crontab.day_of_week) == ("*/15", "3", "1")
    assert PeriodicTasks.last_change() > NIGHT


def test_a_setting_that_was_changed_in_sql_counts_as_well() -> None:
    schedule.sync_beat_schedule()
    configure(resolution_schedule="0 2 * * *")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE config SET value = '30 4 * * *' WHERE key = 'resolution_schedule'")

    schedule.sync_beat_schedule()

    assert (scheduled().crontab.minute, scheduled().crontab.hour) == ("30", "4")


def test_a_setting_that_makes_no_sense_means_the_default() -> None:
    configure(resolution_schedule="0 0 31 2 *")

    schedule.sync_beat_schedule()

    assert (scheduled().crontab.hour, scheduled().crontab.day_of_month) == ("2", "*")


def test_a_setting_longer_than_beats_row_takes_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    schedule.sync_beat_schedule()
    configure(resolution_schedule=f"{','.join(['*/7'] * 100)} 2 * * *")

    assert schedule.sync_beat_schedule() is False
    assert scheduled().crontab.minute == "0"
    assert "schedule.refused" in caplog.messages


def test_another_time_zone_changes_the_row(settings: Any) -> None:
    schedule.sync_beat_schedule()
    settings.TIME_ZONE = "Asia/Tokyo"

    assert schedule.sync_beat_schedule() is True
    assert str(scheduled().crontab.timezone) == "Asia/Tokyo"


def test_a_row_that_an_operator_switched_off_stays_off() -> None:
    schedule.sync_beat_schedule()
    PeriodicTask.objects.update(enabled=False)

    configure(resolution_schedule="0 3 * * *")
    schedule.sync_beat_schedule()

    assert (scheduled().enabled, scheduled().crontab.hour) == (False, "3")


def test_a_row_that_was_deleted_or_changed_comes_back() -> None:
    schedule.sync_beat_schedule()
    PeriodicTask.objects.all().delete()
    assert schedule.sync_beat_schedule() is True

    hourly = IntervalSchedule.objects.create(every=1, period="hours")
    PeriodicTask.objects.update(crontab=None, interval=hourly)
    assert schedule.sync_beat_schedule() is True
    assert (scheduled().interval, scheduled().crontab.hour) == (None, "2")


def test_two_rows_of_the_same_times_do_no_harm() -> None:
    for _ in range(2):
        CrontabSchedule.objects.create(minute="0", hour="2", timezone="UTC")

    assert schedule.sync_beat_schedule() is True


# --- on schedule ---


def test_a_wake_up_on_time_starts_the_run() -> None:
    set_schedule("0 2 * * *", NIGHT - 30 * DAY)

    run = schedule.request_scheduled(NIGHT + timedelta(seconds=1))

    assert run is not None
    assert (run.trigger, run.status, carry_out_requested()) == ("schedule", "requested", [run])


def test_a_doubled_wake_up_starts_nothing() -> None:
    set_schedule("0 2 * * *", NIGHT - 30 * DAY)
    ran(NIGHT + timedelta(seconds=1))

    assert schedule.request_scheduled(NIGHT + timedelta(seconds=40)) is None


@pytest.mark.parametrize("worker_is_ahead_by_s", [-5, 5])
def test_clocks_that_differ_do_not_cost_a_run(worker_is_ahead_by_s: int) -> None:
    set_schedule("0 2 * * *", NIGHT - 30 * DAY)
    ran(NIGHT - DAY + timedelta(seconds=worker_is_ahead_by_s))

    assert schedule.request_scheduled(NIGHT + timedelta(seconds=worker_is_ahead_by_s)) is not None


def test_every_minute_is_every_minute() -> None:
    set_schedule("* * * * *", NIGHT - DAY)
    ran(NIGHT + timedelta(seconds=1))

    assert schedule.request_scheduled(NIGHT + timedelta(seconds=60)) is not None


def test_beat_that_catches_up_at_another_hour_starts_nothing() -> None:
    set_schedule("0 2 * * *", NIGHT - 30 * DAY)

    assert schedule.request_scheduled(NIGHT + 22 * HOUR) is None


@pytest.mark.usefixtures("another_process")
def test_a_run_under_way_is_not_disturbed_by_the_schedule() -> None:
    set_schedule("* * * * *", NIGHT - DAY)
    Run.objects.create(trigger=Run.Trigger.API, mode="auto")

    assert schedule.request_scheduled() is None
    assert Run.objects.count() == 1


# --- missed ---


@pytest.mark.parametrize(
    ("late", "missed"), [(HOUR, False), (23 * HOUR, False), (25 * HOUR, True), (7 * DAY, True)]
)  # fmt: skip
def test_a_run_missed_by_more_than_a_day_starts(late: timedelta, missed: bool) -> None:
    set_schedule("0 2 * * *", NIGHT - 30 * DAY)
    ran(NIGHT - DAY)

    assert schedule.is_missed(NIGHT + late, UP) is missed


def test_a_weekly_run_is_missed_a_day_after_its_time() -> None:
    set_schedule("0 2 * * 1", NIGHT - 30 * DAY)
    ran(NIGHT - 7 * DAY)

    missed = [schedule.is_missed(NIGHT + late, UP) for late in (-DAY, 23 * HOUR, 25 * HOUR)]

    assert missed == [False, False, True]


def test_a_worker_that_has_just_started_waits() -> None:
    set_schedule("0 2 * * *", NIGHT - 30 * DAY)

    assert schedule.is_missed(NIGHT, 299) is False
    assert schedule.is_missed(NIGHT, UP) is True


def test_a_fresh_installation_has_missed_nothing() -> None:
    set_schedule("0 2 * * *", NIGHT)

    assert [schedule.is_missed(NIGHT + late, UP) for late in (HOUR, 47 * HOUR, 49 * HOUR)] == [False, False, True]


def test_a_schedule_that_is_switched_off_misses_nothing() -> None:
    set_schedule("0 2 * * *", NIGHT - 30 * DAY)
    PeriodicTask.objects.update(enabled=False)

    assert schedule.is_missed(NIGHT, UP) is False


def test_a_new_schedule_does_not_count_from_before_it_was_set() -> None:
    ran(NIGHT - 3 * DAY)
    set_schedule("0 3 * * *", NIGHT)

    assert schedule.is_missed(NIGHT + 2 * HOUR, UP) is False


def test_runs_that_people_started_do_not_stand_for_the_schedules() -> None:
    set_schedule("0 2 * * *", NIGHT - 30 * DAY)
    ran(NIGHT - DAY)
    ran(NIGHT + HOUR, "api")

    assert schedule.is_missed(NIGHT + 25 * HOUR, UP) is True


def test_what_was_missed_starts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    set_schedule("0 2 * * *", NIGHT - 30 * DAY)
    monkeypatch.setattr(schedule, "LOADED_AT", schedule.LOADED_AT - UP)

    run = schedule.request_missed()

    assert run is not None
    assert run.trigger == "schedule"
    assert schedule.request_missed() is None
    carry_out_requested()
    assert schedule.request_missed() is None


# --- asked for ---


def test_a_run_that_was_asked_for_is_there_at_once_and_a_worker_is_woken(
    llm: LlmServer, wakes: list[bool], django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    places()
    choose(llm)
    llm.answers(DISMISS)

    with django_capture_on_commit_callbacks(execute=True):
        requested = request_run(Run.Trigger.API, "kreacher", limit=5)

    assert (requested.status, requested.actor, requested.limit, wakes) == ("requested", "kreacher", 5, [True])
    with pytest.raises(AlreadyRunning) as caught:
        request_run(Run.Trigger.ADMIN)
    assert caught.value.run == requested

    [done] = carry_out_requested()

    assert done == requested
    assert (done.status, done.counts) == ("done", {"dismiss": 1})
    assert carry_out_requested() == []


def test_the_wake_up_is_a_message_for_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    from festinger_site import celery

    sent: list[str] = []
    monkeypatch.setattr(celery.app, "send_task", lambda name, **options: sent.append(name))

    runs._waker._wake()

    celery.app.loader.import_default_modules()
    assert sent == ["resolution.tasks.resolve_due"]
    assert {sent[0], schedule.TASK} <= celery.app.tasks.keys()


# --- the jobs of the night ---


def test_the_jobs_of_the_night_follow_each_other_and_what_people_asked_for_comes_first(wakes: list[bool]) -> None:
    resolver = request_run(Run.Trigger.ADMIN, "kreacher")

    nightly()

    ended = Run.objects.order_by("ended_at").values_list("trigger", "status")
    assert list(ended) == [("admin", "skipped"), ("consolidate", "done"), ("sweep", "done"), ("detect", "done")]
    assert Run.objects.get(trigger="admin") == resolver


def test_jobs_that_are_switched_off_are_left_out() -> None:
    nightly("sweep")

    assert list(Run.objects.values_list("trigger", "status")) == [("sweep", "done")]


def test_a_night_that_finds_another_run_in_progress_waits_for_its_end(another_process: psycopg.Connection) -> None:
    Run.objects.create(trigger=Run.Trigger.API, mode="auto")
    nightly()
    assert set(Run.objects.exclude(trigger="api").values_list("status", flat=True)) == {"requested"}

    Run.objects.filter(status="running").update(status="done")
    another_process.close()
    assert eventually(lambda: not is_job_held(LOCK), within_s=10)

    assert [run.trigger for run in carry_out_requested()] == ["consolidate", "sweep", "detect"]


# --- the upgrade from entries of beat for each job ---


MIGRATION = import_module("resolution.migrations.0012_one_lock_for_nightly_jobs")


@pytest.mark.parametrize(
    ("off", "args", "hour", "is_on"),
    [
        ((), "[]", "3", True),
        (("detect",), '["consolidate", "sweep"]', "3", True),
        (("consolidate", "detect"), '["sweep"]', "5", True),
        (("consolidate", "sweep", "detect"), "[]", "3", False),
    ],
)
def test_schedules_that_operators_changed_are_carried_over(
    off: tuple[str, ...], args: str, hour: str, is_on: bool
) -> None:
    hours = {"consolidate": "3", "sweep": "5", "detect": "4"}
    for task, job in MIGRATION.JOBS.items():
        crontab = CrontabSchedule.objects.create(minute="0", hour=hours[job], timezone="UTC")
        PeriodicTask.objects.create(name=f"my {job}", task=task, crontab=crontab, enabled=job not in off)
    hourly = IntervalSchedule.objects.create(every=1, period="hours")
    PeriodicTask.objects.create(name="keeping", task="resolution.tasks.keep_schedule", interval=hourly)

    MIGRATION.join_schedules(apps, None)

    [row] = PeriodicTask.objects.all()
    assert (row.task, row.args, row.crontab.hour, row.enabled) == ("resolution.tasks.nightly", args, hour, is_on)

    MIGRATION.part_schedules(apps, None)

    [row] = PeriodicTask.objects.all()
    assert (row.task, row.args, row.enabled) == ("resolution.tasks.consolidate", "[]", is_on)


def test_a_fresh_database_has_no_schedules_to_carry_over() -> None:
    MIGRATION.join_schedules(apps, None)

    assert not PeriodicTask.objects.exists()
