"""The event loop that the load runs on, stopped by the same signals as the rest."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import uvloop

from festinger_site.scratch import STOPPING, Interrupted, stop_on_signals

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """What the coroutine returns. Raises Interrupted for a signal: uvloop hides what a signal's handler raises."""
    received: list[int] = []

    async def stoppable() -> T:
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
        for number in STOPPING:
            loop.add_signal_handler(number, lambda number=number: (received.append(number), task.cancel()))
        return await task

    try:
        return uvloop.run(stoppable())
    except asyncio.CancelledError:
        raise Interrupted(received[0]) from None
    finally:
        stop_on_signals()  # the loop took the handlers with it
