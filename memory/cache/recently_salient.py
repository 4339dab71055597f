"""Remembers which words became salient last."""

from collections import deque
from dataclasses import dataclass, field
from itertools import islice

RISEN_MAX = 10_000  # words


@dataclass(slots=True)
class RecentlySalient:
    """The words that became salient last, in order."""

    # After all names of a long conversation were checked once, the next turn need only check these.
    count: int = 0  # all since the process started
    _last: deque[str] = field(default_factory=lambda: deque(maxlen=RISEN_MAX))

    def note(self, word: str) -> None:
        self._last.append(word)
        self.count += 1

    def since(self, count: int) -> list[str] | None:
        """Return the words after the first ``count``; None if they are not known any more."""
        new = self.count - count
        return list(islice(reversed(self._last), new)) if new <= len(self._last) else None
