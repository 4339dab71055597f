"""When each message was first seen: the order of what is stated is the order of the conversation, also where many new
messages come at once, or some of them are read later."""

from collections.abc import Hashable
from typing import Final

MICROSECOND: Final = 1e-6
SHORTEST_STATEMENT: Final = 8  # characters, with what parts it from the next
PUT_OFF_MAX: Final = 10_000  # messages


class Sightings:
    """Times are in seconds since the epoch. Of a process no two are the same, and each is followed by a microsecond
    for every statement that the message has room for; so they may be a little ahead of the clock."""

    def __init__(self) -> None:
        self._next = 0.0
        self._put_off: dict[Hashable, float] = {}

    def first(self, message: Hashable, characters: int, now: float) -> float:
        """When the message, which is read now, was first seen. ``characters``: how long it is, as far as it is read."""
        if self._put_off and (seen := self._put_off.pop(message, None)) is not None:
            return seen
        at = max(round(now, 6), self._next)
        self._next = round(at + (characters // SHORTEST_STATEMENT + 1) * MICROSECOND, 6)
        return at

    def put_off(self, message: Hashable, characters: int, now: float) -> None:
        """The message is seen, and will be read later."""
        seen = self.first(message, characters, now)
        self._put_off[message] = seen
        if len(self._put_off) > PUT_OFF_MAX:
            del self._put_off[next(iter(self._put_off))]
