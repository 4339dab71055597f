"""Background work on what was said and what is disputed. A message is only a wake-up, which may be lost or come twice:
every task looks into the tables for what is due."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from celery import shared_task
from django.db import Error
from django.utils import timezone

from memory.db.connections import first_line
from memory.db.locks import try_job_lock
from memory.domain.timing import LogThrottle
from memory.learning.worker import start_learning
from memory.tasks import embed
from resolution.consolidation import night
from resolution.consolidation.sweep import sweep_conflicts as sweep_layers
from resolution.detective import run as detective
from resolution.intake import quotas
from resolution.intake.candidates import expire
from resolution.memories.reading import due, read_due
from resolution.resolver import schedule
from resolution.workers import leases
from resolution.workers.observations import explain_due, settle_due

logger = logging.getLogger(__name__)

MAY_WAKE_EXPLAINER = LogThrottle(2.0)  # every so many seconds of this process: wake-ups can come ten times a second


MAY_WAKE_EMBEDDER = LogThrottle(1.0)  # the same; what is left to beat waits for two seconds


@contextmanager
def report_interruption(event: str) -> Iterator[None]:
    # Where Postgres is away, no task is to blame: the tables keep what is due, and the next wake-up finds it there.
    try:
        yield
    except (Error, psycopg.Error, OSError) as error:  # TimeoutError is an OSError
        logger.warning(event, extra={"error": first_line(error)})


@shared_task
def learn() -> None:
    """Sent when something was said: reads it, places what it states, and takes in what is to be remembered of it."""
    learn_messages()
    look_for_observations()
    read_episodes()


@shared_task
def sweep() -> None:
    """Sent every few seconds, and when a worker starts: takes what no wake-up came for, and what a worker that died
    had claimed."""
    learn_messages()
    look_for_observations()


@shared_task
def read_episodes() -> None:
    """Sent every few seconds. What is read is embedded next, with what is remembered of it."""
    with report_interruption("memories.interrupted"):
        if read_due() and MAY_WAKE_EMBEDDER.is_due(time.monotonic()):
            wake(embed)
        if due().exists():
            wake(read_episodes)


@shared_task
def explain_concepts() -> None:
    # Slow, and so for one process at a time: the other workers are there for what is said.
    with report_interruption("explaining.interrupted"):
        with try_job_lock("explaining") as is_alone:
            if is_alone:
                explain_due()
        if is_alone and leases.due(leases.ObservationKind.CONCEPT).exists():
            wake(explain_concepts)


@shared_task
def resolve() -> None:
    """Sent by beat on the resolver's schedule. Takes as long as the run: a second or more a conflict."""
    with report_interruption("resolution.interrupted"):
        schedule.start_on_schedule()


@shared_task
def resolve_due() -> None:
    """Sent every minute, and when somebody asks for a run; takes as long as a run, if one is due. Also ends the wait of
    old candidates, and forgets what no quota asks for any more."""
    with report_interruption("resolution.interrupted"):
        expire(timezone.now())
        quotas.prune(timezone.now())
        schedule.start_what_is_due()


@shared_task
def consolidate() -> None:
    """Sent every night."""
    with report_interruption("consolidation.interrupted"):
        night.consolidate()


@shared_task
def detect() -> None:
    """Sent every night."""
    with report_interruption("detective.interrupted"):
        detective.read_at_night()


@shared_task
def detect_due() -> None:
    """Sent every minute: reads what has changed some minutes after the last change."""
    with report_interruption("detective.interrupted"):
        detective.read_again()


@shared_task
def sweep_conflicts() -> None:
    """Sent every night."""
    with report_interruption("conflicts.interrupted"):
        sweep_layers()


@shared_task
def keep_schedule() -> None:
    """Sent every minute: the setting may have been changed elsewhere than in the admin, whose changes beat's row
    follows at once."""
    with report_interruption("schedule.interrupted"):
        schedule.keep()


def learn_messages() -> None:
    with report_interruption("learning.interrupted"):
        start_learning().learn()


def look_for_observations() -> None:
    """Whatever is not done by the end of a task's time is left to the next message."""
    with report_interruption("learning.interrupted"):
        settle_due()
        if leases.due(leases.ObservationKind.TRIPLE).exists():
            wake(sweep)
        if leases.due(leases.ObservationKind.CONCEPT).exists() and MAY_WAKE_EXPLAINER.is_due(time.monotonic()):
            wake(explain_concepts)


def wake(task: Any) -> None:
    """Where the broker does not take it, the next sweep does the work."""
    try:
        task.delay()
    except Exception as error:  # whatever the broker is
        logger.warning("wake.failed", extra={"task": task.name, "error": first_line(error)})
