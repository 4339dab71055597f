"""Schedules of five cron fields, in FESTINGER_TIME_ZONE: as rows of beat, in words, and when they are next due."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django_celery_beat.models import CrontabSchedule


def columns(schedule: str) -> dict[str, Any]:
    """Return the five fields as a row of beat has them."""
    names = ("minute", "hour", "day_of_month", "month_of_year", "day_of_week")
    return dict(zip(names, schedule.split(), strict=True)) | {"timezone": ZoneInfo(settings.TIME_ZONE)}


def first_after(schedule: str, time: datetime) -> datetime:
    """Return the first time after this one that matches the schedule."""
    since, delta, _ = CrontabSchedule(**columns(schedule)).schedule.remaining_delta(time)
    return since + delta


def in_words(schedule: str) -> str:
    """Describe the schedule, such as "At 02:00 AM UTC"."""
    return str(CrontabSchedule(**columns(schedule)).human_readable)
