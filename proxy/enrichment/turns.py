"""Shares the event loop between requests that take long to enrich, and all streams."""

import asyncio
import time
from collections import deque
from typing import Final

from memory.domain.steps import Steps, Work

SLICE_S: Final = 0.003  # of the event loop, between two turns of the others


class Turns:
    """Gives only one request a slice in each round of the event loop, however many take longer than a slice."""

    def __init__(self, slice_s: float = SLICE_S) -> None:
        self.slice_s = slice_s
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._is_called = False

    def begin(self) -> "Turn":
        return Turn(self)

    async def wait(self) -> None:
        """Wait until it is the caller's turn again."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._waiting.append(turn)
        if not self._is_called:
            self._is_called = True
            loop.call_soon(self._call_next, loop)
        await turn

    def _call_next(self, loop: asyncio.AbstractEventLoop) -> None:
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():  # its client has left
                turn.set_result(None)
                break
        self._is_called = bool(self._waiting)
        if self._is_called:
            loop.call_soon(self._call_next, loop)


class Turn:
    """The work of one request. Most requests are done within their first slice, and never wait."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._until = time.perf_counter() + turns.slice_s

    async def step(self) -> None:
        """Let others run if the slice is over."""
        if time.perf_counter() >= self._until:
            await self._turns.wait()
            self._until = time.perf_counter() + self._turns.slice_s

    async def run(self, steps: Steps[Work]) -> Work:
        while True:
            try:
                next(steps)
            except StopIteration as stop:
                result: Work = stop.value
                return result
            if time.perf_counter() >= self._until:  # the check of step, without its cost: there are hundreds of steps
                await self.step()
