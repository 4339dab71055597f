"""What happens often is told seldom."""


class Seldom:
    """Says yes at most once in so many seconds."""

    def __init__(self, pause_s: float) -> None:
        self._pause_s = pause_s
        self._next = float("-inf")

    def is_due(self, now: float) -> bool:
        """``now`` in seconds, by any clock that does not go back."""
        if now < self._next:
            return False
        self._next = now + self._pause_s
        return True
