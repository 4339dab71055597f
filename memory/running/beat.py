"""Runs Celery beat in a thread of each worker. The one that holds an advisory lock sends, whichever host it is on; the
others wait for the lock."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Final

import psycopg
from celery import Celery
from celery.beat import Scheduler, Service
from django.db import connection
from psycopg.conninfo import make_conninfo

from memory.db.connections import CONNECT_S, KEEPALIVES, first_line
from memory.db.locks import try_job_lock_on
from memory.log_throttle import LogThrottle

logger = logging.getLogger(__name__)

AGAIN_S: Final = 5.0  # between two attempts to take the lock, and after a failure
STOP_S: Final = 2.0
STALLED_S: Final = 120.0  # far more than a pass takes, even one that has to connect anew
LOG_EVERY_S: Final = 60.0
# For the server's side, too: otherwise it would keep the lock for two hours for a host that lost its power.
SERVER_KEEPALIVES: Final = " ".join(f"-c tcp_{name}={value}" for name, value in KEEPALIVES.items())


def make_scheduler(app: Celery) -> Scheduler:
    """Make a connected scheduler. Raises the broker client's errors if the broker is away; the scheduler itself would
    retry for minutes."""
    scheduler: Scheduler = Service(app, scheduler_cls=app.conf.beat_scheduler).get_scheduler()
    scheduler.connection.connect()
    return scheduler


class Beat:
    """The beat thread, started and stopped by its worker."""

    def __init__(self, make_scheduler: Callable[[], Scheduler], dsn: str) -> None:
        self._make_scheduler = make_scheduler
        self._dsn = make_conninfo(dsn, **KEEPALIVES, options=SERVER_KEEPALIVES)
        self._passed_at = time.monotonic()
        self._stopping = threading.Event()
        self._log = LogThrottle(LOG_EVERY_S)
        self._thread = threading.Thread(target=self._run, name="beat", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Release the lock. Waits for that for STOP_S at most."""
        self._stopping.set()
        self._thread.join(STOP_S)

    def is_stalled(self) -> bool:
        """True if it has neither sent nor tried the lock for STALLED_S, whatever the reason."""
        return time.monotonic() - self._passed_at > STALLED_S

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._passed_at = time.monotonic()
            try:
                self._send_if_alone()
            except Exception as error:  # of Postgres, or of whatever the broker is: they may come back
                if self._log.is_due(time.monotonic()):
                    logger.warning("beat.interrupted", extra={"error": first_line(error)})
            finally:
                connection.close()  # this thread's
            self._stopping.wait(AGAIN_S)

    def _send_if_alone(self) -> None:
        # Not Django's connection, which the scheduler closes now and then.
        with psycopg.connect(
            self._dsn, autocommit=True, connect_timeout=CONNECT_S, application_name="festinger beat"
        ) as holder:
            if try_job_lock_on(holder, "beat"):
                self._send(holder)

    def _send(self, holder: psycopg.Connection[Any]) -> None:
        scheduler = self._make_scheduler()
        logger.info("beat.started")
        try:
            while not self._stopping.is_set():
                wait_s = scheduler.tick()
                holder.execute("SELECT")  # raises if the lock was lost
                self._passed_at = time.monotonic()
                self._stopping.wait(wait_s)
        finally:
            scheduler.close()
