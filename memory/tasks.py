"""Background tasks of the memory, and the workers' signs of life."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

from celery import bootsteps, shared_task
from django.conf import settings
from django.db import Error, connection
from django.utils import timezone

from memory.db.connections import first_line
from memory.db.locks import try_job_lock
from memory.graph import retention
from memory.learning.learner import start_learning
from memory.memories.forgetting import prune_episodes
from memory.models import Heartbeat
from memory.notifications.delivery import deliver_due, prune_deliveries
from memory.running.beat import Beat, make_scheduler
from memory.running.heartbeats import PULSE_S, Process, forget, forget_ended, give_sign, prune_silent
from memory.search.vectors import queue

logger = logging.getLogger(__name__)


@shared_task(name="memory.tasks.pulse_of_beat")
def pulse_of_beat() -> None:
    """Store beat's sign of life. Sent by beat, run by a worker: its row is recent only while beat, broker and worker
    all work."""
    give_sign(Process(Heartbeat.BEAT))


@shared_task(name="memory.tasks.prune")
def prune() -> None:
    """Delete old rows, unless another process is doing that."""
    now = timezone.now()
    with try_job_lock("memory") as is_alone:
        if not is_alone:
            return
        gone = retention.prune_all(now)
        gone |= {"episodes": prune_episodes(now), "heartbeats": prune_silent(now), "vectors": queue.prune_vectors()}
        gone |= {"notifications": prune_deliveries(now)}
    logger.info("memory.pruned", extra=gone)


@shared_task(name="memory.tasks.embed")
def embed() -> None:
    """Embed waiting texts. Sent every few seconds, and when there is much to do: the table is the queue."""
    try:
        if queue.embed_due() and queue.is_due():
            embed.delay()
    except Error as error:
        logger.warning("embedding.interrupted", extra={"error": first_line(error)})


@shared_task(name="memory.tasks.deliver_notifications")
def deliver_notifications() -> None:
    """Deliver due notifications. Sent every few seconds. One process at a time: a target that does not answer takes one
    worker's time."""
    try:
        with try_job_lock("notifications") as is_alone:
            if is_alone:
                deliver_due()
    except Error as error:
        logger.warning("notifications.interrupted", extra={"error": first_line(error)})


class Pulse(bootsteps.StartStopStep):
    """Runs the worker's beat and its learning, and writes the worker's heartbeat row while that beat is alive."""

    # In place of Celery's own events and remote control, which do not work over PGMQ. Uses the worker's timer: the
    # processes that run tasks may be busy for minutes.
    requires = {"celery.worker.components:Timer"}

    def start(self, worker: Any) -> None:
        self._beat = Beat(partial(make_scheduler, worker.app), settings.DATABASE_URL)
        self._beat.start()
        start_learning()  # loads the graph meanwhile
        self._write(forget_ended)
        self._give_sign()
        worker.timer.call_repeatedly(PULSE_S, self._give_sign)

    def stop(self, worker: Any) -> None:
        self._beat.stop()
        start_learning().stop()
        self._write(forget)

    def _give_sign(self) -> None:
        # Without a sign the worker is replaced, and its beat with it.
        if not self._beat.is_stalled():
            self._write(give_sign)

    def _write(self, change: Callable[[Process], None]) -> None:
        try:
            change(Process.this(Heartbeat.WORKER))
        except Error:
            pass  # Postgres is away; the row's age says so
        finally:
            connection.close()  # of the timer's thread
