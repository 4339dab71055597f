"""Ends a server process where uvicorn itself would not."""

import asyncio
import multiprocessing
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def end_on_signals() -> Iterator[None]:
    """While it starts, a signal ends the process at once."""
    # There is nothing to finish yet, and uvicorn's handlers would wait for the start, which may wait for Postgres.
    handlers = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


def end_with_parent() -> None:
    """Stops this worker, as by a signal, when its parent is gone: it would hold the port for ever."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    loop = asyncio.get_running_loop()

    def stop() -> None:
        loop.remove_reader(parent.sentinel)
        signal.raise_signal(signal.SIGTERM)

    loop.add_reader(parent.sentinel, stop)
