"""Background tasks on statements and conflicts. A message is only a wake-up, which may be lost or doubled: every task
looks up in the tables what is due."""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from functools import wraps
from typing import Any

import psycopg
from celery import shared_task
from django.db import Error
from django.utils import timezone

from memory.db.connections import first_line
from memory.db.locks import try_job_lock
from memory.learning.learner import start_learning
from memory.log_throttle import LogThrottle
from memory.tasks import embed
from resolution.conflicts.sweep import has_old_slots
from resolution.detective.run import run_after_changes
from resolution.intake import leases, quotas
from resolution.intake.candidates import expire
from resolution.memories.reading import due, read_due
from resolution.memories.setting_aside import delete_old
from resolution.models import Run
from resolution.nightly import schedule
from resolution.nightly.jobs import carry_out_requested
from resolution.nightly.runs import AlreadyRunning, request_run
from resolution.observations import explain_due, settle_due

logger = logging.getLogger(__name__)

MAY_WAKE_EXPLAINER = LogThrottle(2.0)  # seconds between wake-ups by this process, which may be due ten times a second
MAY_WAKE_EMBEDDER = LogThrottle(1.0)  # seconds; beat makes up for skipped wake-ups within two seconds


def task(event: str) -> Callable[[Callable[..., None]], Any]:
    """Decorate a task whose work is left to the next wake-up, and ``event`` logged, if Postgres goes away."""

    def decorate(work: Callable[..., None]) -> Any:
        @wraps(work)
        def run(*args: str) -> None:
            # The task is not to blame: the tables keep what is due.
            try:
                work(*args)
            except (Error, psycopg.Error, OSError) as error:  # TimeoutError is an OSError
                logger.warning(event, extra={"error": first_line(error)})

        return shared_task(name=f"resolution.tasks.{work.__name__}")(run)

    return decorate


@task("learning.interrupted")
def learn() -> None:
    """Read new messages, place what they state, and take in memories. Sent when something was said."""
    sweep()
    read_episodes()


@task("learning.interrupted")
def sweep() -> None:
    """Read and place what no wake-up came for, and what a dead worker had claimed. Sent every few seconds, and when a
    worker starts. Whatever is left when the task's time is over is left to the next message."""
    start_learning().learn()
    settle_due()
    if leases.due(leases.ObservationKind.TRIPLE).exists():
        wake(sweep)
    if leases.due(leases.ObservationKind.CONCEPT).exists() and MAY_WAKE_EXPLAINER.is_due(time.monotonic()):
        wake(explain_concepts)


@task("memories.interrupted")
def read_episodes() -> None:
    """Read due episodes for memories, then wake the embedder. Sent every few seconds."""
    if read_due() and MAY_WAKE_EMBEDDER.is_due(time.monotonic()):
        wake(embed)
    if due().exists():
        wake(read_episodes)


@task("explaining.interrupted")
def explain_concepts() -> None:
    # One process at a time, because it is slow: the other workers must stay free for new messages.
    with try_job_lock("explaining") as is_alone:
        if is_alone:
            explain_due()
    if is_alone and leases.due(leases.ObservationKind.CONCEPT).exists():
        wake(explain_concepts)


@task("resolution.interrupted")
def resolve() -> None:
    """Carry out a scheduled resolver run. Sent by beat. Takes as long as the run: a second or more per conflict."""
    schedule.request_scheduled()
    carry_out_requested()


@task("resolution.interrupted")
def nightly(*jobs: str) -> None:
    """Carry out the jobs of the night one after the other, all unless some are named. Sent by beat."""
    for trigger in Run.NIGHTLY:
        if not jobs or trigger in jobs:
            with suppress(AlreadyRunning):
                request_run(trigger)
    carry_out_requested()


@task("resolution.interrupted")
def resolve_due() -> None:
    """Carry out the runs that are requested, missed or left by an upgrade. Also expire old candidates, prune the counts
    for quotas, delete what was set aside long ago, and update beat's schedule if the setting was changed outside the
    admin. Sent every minute, and when somebody requests a run."""
    expire(timezone.now())
    delete_old(timezone.now())
    quotas.prune(timezone.now())
    schedule.sync_beat_schedule()
    schedule.request_missed()
    if has_old_slots():
        with suppress(AlreadyRunning):
            request_run(Run.Trigger.SWEEP)
    carry_out_requested()


@task("detective.interrupted")
def detect_due() -> None:
    """Read what has changed, some minutes after the last change. Sent every minute."""
    run_after_changes()


def wake(task: Any) -> None:
    """Send the task. If the broker fails, the next sweep does the work."""
    try:
        task.delay()
    except Exception as error:  # the type depends on the broker
        logger.warning("wake.failed", extra={"task": task.name, "error": first_line(error)})
