"""Collects which tokens the messages of one prompt name, and keeps the collection up to date as the conversation
grows."""

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field

from memory.cache.state import Cache
from memory.graph.saliency import count_encounters, is_salient
from memory.learning.reader import Reading
from memory.types import SoasRow

# None for a message beyond the request's allowance, which is read when it is resent.
MaybeReading = Reading | None


@dataclass(slots=True)
class Mentions:
    """The names in a prompt. ``salient`` is a superset of the salient names, None if not determined yet; ``counted``:
    how many new messages name each of them, which their rows do not count yet."""

    readings: Sequence[Reading]
    names: set[str] = field(default_factory=set)  # all that can be recalled or asked about
    emphasised: set[str] = field(default_factory=set)  # those written as a name
    salient: set[str] | None = None
    by_user: Sequence[Reading] = ()  # the readings that a user has said themselves
    counted: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def of(cls, readings: Sequence[Reading]) -> "Mentions":
        mentions = cls(readings, by_user=[reading for reading in readings if reading.role == "user"])
        for reading in readings:
            mentions.add(reading)
        return mentions

    def add(self, reading: Reading) -> None:
        self.names |= reading.names
        self.emphasised |= reading.emphasised

    def find_salient(self, cache: Cache, now: float) -> dict[str, SoasRow]:
        """Return the salient names with their rows; the rows of names in new messages as they will be counted."""
        salient, threshold = self.names if self.salient is None else self.salient, cache.tuning.saliency_read_threshold
        found = filter_salient(cache, salient)
        for name in self.counted.keys() & self.names:
            row = cache.soas_by_token.get(name)
            if row is not None and not cache.is_muted(name, row):
                counted = count_encounters(row, self.counted[name], now)
                if is_salient(counted, threshold):
                    found[name] = counted
        return found


@dataclass(slots=True)
class KnownPrefix:
    """The names in the messages of a conversation up to some point."""

    # It grows with the conversation, so that a long history is not scanned again with each turn.
    _mentions: Mentions = field(default_factory=lambda: Mentions(()))
    _taken: list[frozenset[str] | None] = field(default_factory=list)  # for each message, the names taken in
    _salient: set[str] = field(default_factory=set)
    _looked_at: tuple[object, ...] = ()  # the state of the cache when all names were checked
    _risen: int = 0

    def __len__(self) -> int:
        """Return how much it holds: names and messages."""
        return len(self._mentions.names) + len(self._taken)

    def take(self, cache: Cache, readings: Sequence[MaybeReading]) -> None:
        """Take in the readings from the conversation's first message on; those taken before cost nothing again."""
        self._look_again(cache)
        taken = self._taken
        taken.extend([None] * (len(readings) - len(taken)))
        for index, reading in enumerate(readings):
            # A reading that was completed meanwhile, or whose words became names, has another set by now.
            if reading is not None and taken[index] is not reading.names:
                taken[index] = reading.names
                self._salient.update(filter_salient(cache, reading.names - self._mentions.names))
                self._mentions.add(reading)

    def _look_again(self, cache: Cache) -> None:
        """Add the names that became salient since; after a load, or with another threshold, check all of them."""
        state = (cache.loads, cache.loaded_at, cache.tuning.saliency_read_threshold)
        risen = cache.risen.since(self._risen) if state == self._looked_at else None
        if risen is None:
            self._salient = set(filter_salient(cache, self._mentions.names))
        else:
            self._salient.update(self._mentions.names.intersection(risen))
        self._looked_at, self._risen = state, cache.risen.count

    def extend_with(
        self,
        cache: Cache,
        readings: Sequence[MaybeReading],
        rest: Sequence[MaybeReading],
        quoted: Collection[int] = (),
    ) -> Mentions:
        """Return the mentions of a whole prompt: of ``readings``, which were taken, and of the rest. ``quoted``: the
        positions of readings that their role has not said."""
        known = self._mentions
        read = [reading for reading in (*readings, *rest) if reading is not None]
        salient = set(self._salient)
        by_user = [
            reading
            for index, reading in enumerate((*readings, *rest))
            if reading is not None and reading.role == "user" and index not in quoted
        ]
        mentions = Mentions(read, set(known.names), set(known.emphasised), salient, by_user)
        for reading in rest:
            if reading is not None:
                salient.update(filter_salient(cache, reading.names))
                mentions.add(reading)
        return mentions


def filter_salient(cache: Cache, names: Set[str]) -> dict[str, SoasRow]:
    """Return the salient names that are not muted, with their rows."""
    threshold, row_of = cache.tuning.saliency_read_threshold, cache.soas_by_token.get
    # is_salient written out: a long history calls it thousands of times.
    salient = {
        name: row
        for name in names
        if (row := row_of(name)) is not None
        and (row.saliency >= threshold or row.novelty >= threshold)
        and not row.is_muted
    }
    if cache.mutes is None:
        return salient
    return {name: row for name, row in salient.items() if not cache.is_muted(name)}
