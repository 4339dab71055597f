"""Wakes the workers. Sending the message may block for seconds, so it has a thread of its own."""

import logging
import threading
import time
from collections.abc import Callable

from celery import current_app

from memory.db.connections import first_line
from memory.log_throttle import LogThrottle

logger = logging.getLogger(__name__)

TOLD_EVERY_S = 60.0
PAUSE_S = 0.1  # between two calls: a woken worker looks for all waiting work
# The first message of a process declares the queue, with a trigger: of two at once, one would fail.
_SENDING = threading.Lock()


def send_wakeup(task: str) -> None:
    """Send a task by its name, without arguments. Takes 3 to 8 ms, seconds if the broker is away. Raises the broker
    client's errors."""
    with _SENDING:
        current_app.send_task(task, ignore_result=True)


class Waker:
    """Calls ``wake``, one call at a time. A call covers all requests made before it began."""

    # Its errors are logged at most once a minute: a lost wake-up only delays, since the workers also look by
    # themselves.
    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._changed = threading.Condition()
        self._is_asked = False
        self._is_closed = False
        self._thread: threading.Thread | None = None
        self._may_tell = LogThrottle(TOLD_EVERY_S)

    def ask(self) -> None:
        """Request a call. Returns at once."""
        with self._changed:
            self._is_asked = True
            self._changed.notify()
        if self._thread is None:
            # A daemon: a broker that does not answer must not keep the process from ending.
            self._thread = threading.Thread(target=self._run, name="waker", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """Stop after the requested call, unless the process ends before."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._is_asked or self._is_closed)
                if not self._is_asked:  # it is closed, and nobody asks any more
                    return
                self._is_asked = False
            # Outside of the lock: callers must not wait for the broker.
            try:
                self._wake()
            except Exception as error:  # whatever the broker is: the next wake-up must come
                if self._may_tell.is_due(time.monotonic()):
                    logger.warning("wake.failed", extra={"error": first_line(error)})
            with self._changed:
                self._changed.wait_for(lambda: self._is_closed, PAUSE_S)
