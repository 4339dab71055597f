"""Background work of the memory, and the workers' sign of life."""

import logging
from typing import Any

from celery import bootsteps, shared_task
from django.db import Error, connection
from django.db.models.functions import Now
from django.utils import timezone

from memory.db.locks import try_job_lock
from memory.graph import retention
from memory.models import Heartbeat

logger = logging.getLogger(__name__)

PULSE_S = 10.0


def beat_heart(name: str) -> None:
    Heartbeat.objects.update_or_create(name=name, defaults={"at": Now()})


@shared_task
def pulse_of_beat() -> None:
    """Sent by beat, run by a worker: its row is young only while beat, broker and worker all work."""
    beat_heart("beat")


@shared_task
def prune() -> None:
    """Deletes what is old of the memory, unless another run is at it."""
    now = timezone.now()
    with try_job_lock("memory") as is_alone:
        if not is_alone:
            return
        gone = {what: prune_old(now) for what, prune_old in retention.OLD.items()}
    logger.info("memory.pruned", extra=gone)


class Pulse(bootsteps.StartStopStep):
    """Writes the worker's heartbeat row. Celery's own remote control does not work over PGMQ."""

    requires = {"celery.worker.components:Timer"}

    def start(self, worker: Any) -> None:
        self._beat()
        worker.timer.call_repeatedly(PULSE_S, self._beat)

    def _beat(self) -> None:
        try:
            beat_heart("worker")
        except Error:
            pass  # Postgres is away; the row's age says so
        finally:
            connection.close()  # this is the main process: its children must not inherit the connection
