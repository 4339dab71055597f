"""Ends a server process in cases in which uvicorn itself would not."""

import asyncio
import multiprocessing
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def end_on_signals() -> Iterator[None]:
    """Let a signal end the process at once while it starts."""
    # There is nothing to finish yet, and uvicorn's handlers would wait for the start, which may wait for Postgres.
    handlers = {number: signal.signal(number, signal.SIG_DFL) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    # Not in a finally: if the start fails, the process ends anyway.
    for number, handler in handlers.items():
        signal.signal(number, handler)


def end_with_parent() -> None:
    """Stop this worker, as by a signal, when its parent is gone: it would hold the port for ever."""
    # The kernel closes the sentinel's other end however the parent dies, even by kill -9, and the loop needs no thread
    # or timer to see that. Polling the parent's pid every second would leave the port taken for that second.
    parent = multiprocessing.parent_process()
    if parent is None:
        return
    loop = asyncio.get_running_loop()

    def stop() -> None:
        # Do this first: a closed pipe stays readable, and the loop would call this again in each of its rounds.
        loop.remove_reader(parent.sentinel)
        # As if sent from outside: uvicorn then finishes running requests, and the end of the lifespan.
        signal.raise_signal(signal.SIGTERM)

    loop.add_reader(parent.sentinel, stop)
