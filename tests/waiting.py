"""Waiting for what another thread, process or task brings about."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

LOOK_AGAIN_S = 0.02


def eventually(claim: Callable[[], Found], *, within_s: float) -> Found:
    """What the claim says as soon as that is true, or at the end of the time. Not asked once more: asking can change
    what is."""
    deadline = time.monotonic() + within_s
    while not (found := claim()) and time.monotonic() < deadline:
        time.sleep(LOOK_AGAIN_S)
    return found


async def eventually_here(claim: Callable[[], Found], *, within_s: float) -> Found:
    """The same for what tasks of this event loop bring about."""
    deadline = time.monotonic() + within_s
    while not (found := claim()) and time.monotonic() < deadline:
        await asyncio.sleep(LOOK_AGAIN_S / 4)
    return found
