"""The event loop that the load runs on, stopped by the same signals as the rest."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import uvloop

from festinger_site.dev.scratch_instance import STOPPING, Interrupted, stop_on_signals

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """What the coroutine returns. Raises Interrupted for a signal: uvloop hides what a signal's handler raises."""
    received: list[int] = []

    async def stoppable() -> T:
        task = asyncio.ensure_future(work)

        def stop(number: int) -> None:
            received.append(number)
            task.cancel()

        for number in STOPPING:
            asyncio.get_running_loop().add_signal_handler(number, stop, number)
        return await task

    try:
        return uvloop.run(stoppable())
    except asyncio.CancelledError:
        raise Interrupted(received[0]) from None
    finally:
        stop_on_signals()  # the loop took the handlers with it
