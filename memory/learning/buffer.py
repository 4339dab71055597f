"""Holds messages that wait in memory, bounded: if there is no room, the oldest are dropped."""

from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

from memory.learning.heard import HeardMessage

WAITING_MAX: Final = 50_000
WAITING_MAX_BYTES: Final = 64_000_000  # roughly


class WaitingMessage(NamedTuple):
    message: HeardMessage
    since: float  # seconds, by the monotonic clock


class Backlog:
    def __init__(self, count_max: int = WAITING_MAX, bytes_max: int = WAITING_MAX_BYTES) -> None:
        self._queue: deque[WaitingMessage] = deque()
        self._bytes = 0
        self._count_max = count_max
        self._bytes_max = bytes_max

    def __len__(self) -> int:
        return len(self._queue)

    def waits_since(self) -> float:
        """Return since when the oldest waits; infinite if none does."""
        return self._queue[0].since if self._queue else float("inf")

    def add(self, message: HeardMessage, now: float) -> int:
        """Add a message; return how many of the oldest had to be dropped."""
        self._queue.append(WaitingMessage(message, now))
        self._bytes += message.size
        return self._trim()

    def take(self, count: int) -> list[WaitingMessage]:
        """Take the oldest messages, at most ``count``."""
        return [self._pop() for _ in range(min(count, len(self._queue)))]

    def put_back(self, oldest: Sequence[WaitingMessage]) -> int:
        """Put back what was taken last, as the oldest. Returns how many of the oldest had to be dropped."""
        self._queue.extendleft(reversed(oldest))
        self._bytes += sum(waiting.message.size for waiting in oldest)
        return self._trim()

    def _pop(self) -> WaitingMessage:
        waiting = self._queue.popleft()
        self._bytes -= waiting.message.size
        return waiting

    def _trim(self) -> int:
        gone = 0
        while len(self._queue) > self._count_max or self._bytes > self._bytes_max:
            self._pop()
            gone += 1
        return gone
