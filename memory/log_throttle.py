"""Keeps a log line that has much to tell from filling the log."""

from dataclasses import dataclass


@dataclass
class LogThrottle:
    """Allows one log line in so many seconds."""

    pause_s: float
    _next: float = float("-inf")

    def is_due(self, now: float) -> bool:
        """True if a line may be logged now; then the pause begins. ``now`` in seconds, by any clock that does not go
        back."""
        if now < self._next:
            return False
        self._next = now + self.pause_s
        return True
