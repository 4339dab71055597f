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
    # Not in a finally: where the start fails, the process ends anyway.
    for number, handler in handlers.items():
        signal.signal(number, handler)


def end_with_parent() -> None:
    """Stops this worker, as by a signal, when its parent is gone: it would hold the port for ever."""
    # The kernel closes the sentinel's other end however the parent dies, by kill -9 too, and the loop needs no thread
    # or timer to see that. Asking for the parent's pid every second would leave the port taken for that second.
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    loop = asyncio.get_running_loop()

    def stop() -> None:
        # First: a closed pipe stays readable, and the loop would call this again in each of its rounds.
        loop.remove_reader(parent.sentinel)
        # As from outside: uvicorn then finishes running requests, and runs the lifespan's end.
        signal.raise_signal(signal.SIGTERM)

    loop.add_reader(parent.sentinel, stop)
