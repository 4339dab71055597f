"""Requests resolver runs on schedule, and after a missed one. Beat only wakes this up; the tables decide, so a wake-up
may be lost, late or doubled."""

import logging
import time
from contextlib import suppress
from datetime import datetime, timedelta

from django.conf import settings
from django.core.exceptions import ValidationError
from django.utils import timezone
from django_celery_beat.models import CrontabSchedule, PeriodicTask

from memory.models import Config
from memory.settings import cron
from resolution.models import Run
from resolution.nightly.runs import AlreadyRunning, request_run

logger = logging.getLogger(__name__)

NAME = "resolution of conflicts"
TASK = "resolution.tasks.resolve"
SETTING = "resolution_schedule"

MISSED_AFTER = timedelta(hours=24)
# A worker that has just started has other things to do, and the operator may want to look first.
UP_FOR_S = 300.0
# A wake-up that comes later than this is not for the run it was sent for.
LATE = timedelta(hours=1)
CLOCKS_DIFFER = timedelta(seconds=30)  # at most, between beat, worker and Postgres. Schedules have whole minutes

LOADED_AT = time.monotonic()  # a worker's children are forked from a process that has loaded this


def sync_beat_schedule() -> bool:
    """Update beat's row to match the setting. Returns True if it changed. A row that an operator disabled stays
    disabled; a missing row is created."""
    schedule = Config.tuning().resolution_schedule
    wanted = cron.columns(schedule)
    task = PeriodicTask.objects.filter(name=NAME).select_related("crontab").first()
    if task is not None and task.crontab and all(getattr(task.crontab, key) == wanted[key] for key in wanted):
        return False
    # Rows are not unique in django-celery-beat's table: take the first of several equal ones.
    crontab = CrontabSchedule.objects.filter(**wanted).first() or CrontabSchedule(**wanted)
    try:
        crontab.full_clean()
    except ValidationError as mistake:
        logger.warning("schedule.refused", extra={"error": "; ".join(mistake.messages)})
        return False
    crontab.save()
    only = {"crontab": crontab, "interval": None, "solar": None, "clocked": None}
    PeriodicTask.objects.update_or_create(name=NAME, defaults={"task": TASK, **only})
    logger.info("schedule.kept", extra={"schedule": schedule, "time_zone": settings.TIME_ZONE})
    return True


def request_scheduled(now: datetime | None = None) -> Run | None:
    """Request the run that beat's wake-up is for. Returns None if it has already been, or if another run is in
    progress."""
    now = now or timezone.now()
    # Beat's message may come late, twice, or after the schedule was changed. It is for a new run only if the schedule
    # has one since the last.
    since = now - LATE
    if (last := _last_started()) is not None:
        since = max(since, last + CLOCKS_DIFFER)
    return None if first_after(since) > now + CLOCKS_DIFFER else _request()


def request_missed() -> Run | None:
    """Request the run that the schedule has missed, if there is one. Called every minute."""
    return _request() if is_missed(timezone.now(), time.monotonic() - LOADED_AT) else None


def _request() -> Run | None:
    with suppress(AlreadyRunning):
        return request_run(Run.Trigger.SCHEDULE)
    return None


def is_missed(now: datetime, up_for_s: float) -> bool:
    """True if a run should have started more than MISSED_AFTER ago and none has. Only counts times since the schedule
    was set."""
    if up_for_s < UP_FOR_S or not PeriodicTask.objects.filter(name=NAME, enabled=True).exists():
        return False
    set_at = Config.objects.filter(key=SETTING).values_list("updated_at", flat=True).first()
    if set_at is None:
        return False
    last = _last_started()
    since = set_at if last is None else max(set_at, last + CLOCKS_DIFFER)
    return now - first_after(since) > MISSED_AFTER


def first_after(time: datetime) -> datetime:
    """Return the time of the first scheduled run after this time."""
    return cron.first_after(Config.tuning().resolution_schedule, time)


def _last_started() -> datetime | None:
    runs_on_schedule = Run.objects.filter(trigger=Run.Trigger.SCHEDULE).order_by("-started_at")
    return runs_on_schedule.values_list("started_at", flat=True).first()
