"""Remembers which names the beginnings of running conversations have, so that only new messages are looked through."""

from collections.abc import Collection, Sequence

from memory.cache.state import Cache
from memory.recall.mentions import KnownPrefix, MaybeReading, Mentions

NAMES_MAX = 300_000  # names and messages remembered of running conversations: some 30 MB


class Beginnings:
    """The names in the beginnings of prompts, by their links."""

    def __init__(self) -> None:
        self._known: dict[bytes, KnownPrefix] = {}  # the one used last at the end
        self._names = 0

    def find_mentions(
        self, cache: Cache, links: Sequence[bytes], readings: Sequence[MaybeReading], quoted: Collection[int] = ()
    ) -> Mentions:
        """Return the tokens that the messages name. ``quoted`` are the indexes of those that their role has not
        said."""
        # Clients rebuild the last message from turn to turn, so it is never kept as part of the beginning.
        last = len(readings) - 1
        link = next((link for link in reversed(links[:last]) if link in self._known), b"")
        beginning = self._known.pop(link, None) or KnownPrefix()
        self._names -= len(beginning)
        beginning.take(cache, readings[:last])
        if last:
            self._known[links[last - 1]] = beginning
            self._names += len(beginning)
            while self._names > NAMES_MAX and len(self._known) > 1:
                self._names -= len(self._known.pop(next(iter(self._known))))
        return beginning.extend_with(cache, readings[:last], readings[last:], quoted)
