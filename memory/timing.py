"""The times at which things were said, in seconds since the epoch."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

MICROSECOND: Final = 1e-6
SHORTEST_STATEMENT: Final = 8  # characters, including the separator
# Per message: a person states a handful, and each is a row that a worker must place.
STATEMENTS_MAX: Final = 20
REQUESTS_KEPT_DAYS: Final = 7  # what was done to them, for explanations
AHEAD_MAX_S: Final = 1.0  # ahead of the clock, which may itself have been ahead
# Messages of a conversation that began before Festinger saw it were said at an unknown time: they keep their order, but
# come before every current fact.
UNDATED_S: Final = 50 * 365.25 * 86_400.0
FIRST_DATED: Final = 1_000_000_000.0  # seconds since the epoch: 2001, before the first message that anybody has seen


def undate(at: float) -> float:
    return round(at - UNDATED_S, 6)


def is_dated(at: float) -> bool:
    """True if it is the time at which something was said, in seconds since the epoch."""
    return at >= FIRST_DATED


def describe_time(time: datetime) -> str:
    """Describe a time for a language model."""
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC" if is_dated(time.timestamp()) else "some time before"


@dataclass(slots=True)
class FirstSeenClock:
    """Gives each message a time of its own, in seconds since the epoch."""

    # Statements must keep the order of the conversation if many new messages come at once: of two that contradict each
    # other, the later one may win.
    _next: float = 0.0

    def date(self, characters: int, now: float) -> float:
        """Return when a new message was first seen. ``characters``: its length, as far as it is read."""
        # A microsecond for every statement that the message has room for: no two in a process get the same time. So the
        # times may be slightly ahead of the clock; if it went back, or there is too much, messages share one.
        at = min(max(round(now, 6), self._next), round(now + AHEAD_MAX_S, 6))
        statements = min(characters // SHORTEST_STATEMENT + 1, STATEMENTS_MAX)
        self._next = round(at + statements * MICROSECOND, 6)
        return at
