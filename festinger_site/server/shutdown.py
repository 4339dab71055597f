"""How a server process ends where its server would not end it."""

import asyncio
import multiprocessing
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def end_on_signals() -> Iterator[None]:
    """Before it serves there is nothing to finish: a signal ends the process at once. uvicorn's own handlers would
    wait for the start to be over, and that may wait for Postgres."""
    handlers = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


def end_with_parent() -> None:
    """Workers whose parent was killed would hold the port for ever: they stop as if they had been told to."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    loop = asyncio.get_running_loop()

    def stop() -> None:
        loop.remove_reader(parent.sentinel)
        signal.raise_signal(signal.SIGTERM)

    loop.add_reader(parent.sentinel, stop)
