"""Background tasks on statements and conflicts. A message is only a wake-up, which may be lost or doubled: every task
looks up in the tables what is due."""

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
from memory.learning.learner import start_learning
from memory.log_throttle import LogThrottle
from memory.tasks import embed
from resolution.conflicts.sweep import has_old_slots
from resolution.detective import run as detective
from resolution.intake import leases, quotas
from resolution.intake.candidates import expire
from resolution.memories.reading import due, read_due
from resolution.memories.setting_aside import delete_old
from resolution.nightly import consolidation, schedule, upgrading
from resolution.nightly.sweep import sweep_conflicts as sweep_layers
from resolution.observations import explain_due, settle_due

logger = logging.getLogger(__name__)

MAY_WAKE_EXPLAINER = LogThrottle(2.0)  # seconds between wake-ups by this process, which may be due ten times a second


MAY_WAKE_EMBEDDER = LogThrottle(1.0)  # seconds; beat makes up for skipped wake-ups within two seconds


@contextmanager
def report_interruption(event: str) -> Iterator[None]:
    # If Postgres is away, the task is not to blame: the tables keep what is due, and the next wake-up finds it.
    try:
        yield
    except (Error, psycopg.Error, OSError) as error:  # TimeoutError is an OSError
        logger.warning(event, extra={"error": first_line(error)})


@shared_task(name="resolution.tasks.learn")
def learn() -> None:
    """Read new messages, place what they state, and take in memories. Sent when something was said."""
    learn_messages()
    look_for_observations()
    read_episodes()


@shared_task(name="resolution.tasks.sweep")
def sweep() -> None:
    """Process what no wake-up came for, and what a dead worker had claimed. Sent every few seconds, and when a worker
    starts."""
    learn_messages()
    look_for_observations()


@shared_task(name="resolution.tasks.read_episodes")
def read_episodes() -> None:
    """Read due episodes for memories, then wake the embedder. Sent every few seconds."""
    with report_interruption("memories.interrupted"):
        if read_due() and MAY_WAKE_EMBEDDER.is_due(time.monotonic()):
            wake(embed)
        if due().exists():
            wake(read_episodes)


@shared_task(name="resolution.tasks.explain_concepts")
def explain_concepts() -> None:
    # One process at a time, because it is slow: the other workers must stay free for new messages.
    with report_interruption("explaining.interrupted"):
        with try_job_lock("explaining") as is_alone:
            if is_alone:
                explain_due()
        if is_alone and leases.due(leases.ObservationKind.CONCEPT).exists():
            wake(explain_concepts)


@shared_task(name="resolution.tasks.resolve")
def resolve() -> None:
    """Carry out a scheduled resolver run. Sent by beat. Takes as long as the run: a second or more per conflict."""
    with report_interruption("resolution.interrupted"):
        schedule.start_on_schedule()


@shared_task(name="resolution.tasks.resolve_due")
def resolve_due() -> None:
    """Carry out a resolver run if one is due; also expire old candidates, prune the counts for quotas, and delete what
    was set aside long ago. Sent every minute, and when somebody requests a run; wakes what an upgrade has left to be
    done."""
    with report_interruption("resolution.interrupted"):
        expire(timezone.now())
        delete_old(timezone.now())
        quotas.prune(timezone.now())
        schedule.start_what_is_due()
        if upgrading.find_waiting() is not None:
            wake(upgrade)
        if has_old_slots():
            wake(sweep_conflicts)


@shared_task(name="resolution.tasks.consolidate")
def consolidate() -> None:
    """Run the consolidation. Sent every night."""
    with report_interruption("consolidation.interrupted"):
        consolidation.consolidate()


@shared_task(name="resolution.tasks.upgrade")
def upgrade() -> None:
    """Carry out the run that an upgrade has left to be done. Sent every minute until it is done."""
    with report_interruption("upgrade.interrupted"):
        upgrading.carry_out()


@shared_task(name="resolution.tasks.detect")
def detect() -> None:
    """Read the stories of the last day. Sent every night."""
    with report_interruption("detective.interrupted"):
        detective.run_nightly()


@shared_task(name="resolution.tasks.detect_due")
def detect_due() -> None:
    """Read what has changed, some minutes after the last change. Sent every minute."""
    with report_interruption("detective.interrupted"):
        detective.run_after_changes()


@shared_task(name="resolution.tasks.sweep_conflicts")
def sweep_conflicts() -> None:
    """Sweep the layers. Sent every night, and as long as memories are in slots of older rules."""
    with report_interruption("conflicts.interrupted"):
        sweep_layers()


@shared_task(name="resolution.tasks.keep_schedule")
def keep_schedule() -> None:
    """Update beat's schedule in case the setting was changed outside the admin. Sent every minute."""
    with report_interruption("schedule.interrupted"):
        schedule.keep()


def learn_messages() -> None:
    with report_interruption("learning.interrupted"):
        start_learning().learn()


def look_for_observations() -> None:
    """Settle observations. Whatever is left when the task's time is over is left to the next message."""
    with report_interruption("learning.interrupted"):
        settle_due()
        if leases.due(leases.ObservationKind.TRIPLE).exists():
            wake(sweep)
        if leases.due(leases.ObservationKind.CONCEPT).exists() and MAY_WAKE_EXPLAINER.is_due(time.monotonic()):
            wake(explain_concepts)


def wake(task: Any) -> None:
    """Send the task. If the broker fails, the next sweep does the work."""
    try:
        task.delay()
    except Exception as error:  # the type depends on the broker
        logger.warning("wake.failed", extra={"task": task.name, "error": first_line(error)})
