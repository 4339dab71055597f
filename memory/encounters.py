"""What new messages name, counted in memory and handed to memory/flusher.py.

A message counts once: it is told by the digests of its conversation's opening, and of its role and text. Whether
it is new is known here as far as this process remembers, and for good in the table ``seen_message``: what this
process took for new and was not is counted until the flush, which puts it right.
"""

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from memory.cache import Cache
from memory.domain.messages import Message
from memory.domain.rows import SoasRow
from memory.domain.saliency import DAY, saliency
from memory.loading import Pace
from memory.reading import Reading, complete

logger = logging.getLogger(__name__)

SEEN_MAX = 200_000  # messages, at about 170 bytes
# What waits for a flush while Postgres is away: readings, in bytes, and texts, in characters, which are only evidence.
READINGS_MAX = 100_000_000
TEXTS_MAX = 16_000_000


@dataclass(frozen=True, slots=True)
class Heard:
    """A message that this process took for new. ``text`` is empty where too much of it waits already; ``counted``
    are the names that were counted when it came."""

    key: bytes
    reading: Reading
    text: str
    agent: str
    at: float  # seconds since the epoch
    counted: frozenset[str]


@dataclass(slots=True)
class Batch:
    """What one flush writes. ``named`` is what was counted in memory for it; ``seen_again``, keys of messages that
    were sent again after a day; ``asked``, when a soas id was asked about."""

    heard: dict[bytes, Heard] = field(default_factory=dict)
    named: Counter[str] = field(default_factory=Counter)
    seen_again: dict[bytes, float] = field(default_factory=dict)
    asked: dict[int, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.heard or self.seen_again or self.asked)

    def update(self, later: "Batch") -> None:
        self.heard |= later.heard
        self.named += later.named
        self.seen_again |= later.seen_again
        self.asked |= later.asked


@dataclass(slots=True)
class Encounters:
    """On the hot path only known names are counted, whose saliency may change with it; ``learn`` reads and counts the
    rest right after it, and common words wait for the flush.

    ``wanted`` asks for a flush before its time. ``dropped`` counts messages that found no room."""

    cache: Cache
    wanted: asyncio.Event = field(default_factory=asyncio.Event)
    dropped: int = 0
    _batch: Batch = field(default_factory=Batch)
    _seen: dict[bytes, float] = field(default_factory=dict)  # by key, when the database was last told
    _unlearned: deque[Heard] = field(default_factory=deque)
    _heard: asyncio.Event = field(default_factory=asyncio.Event)
    _waiting_readings: int = 0
    _waiting_texts: int = 0

    def remember(self, seen: Iterable[tuple[bytes, float]]) -> None:
        """Messages that are counted already, and when they were last seen."""
        self._seen.update(seen)

    def observe(
        self, opening: bytes, said: Iterable[tuple[Message, Reading]], now: float, agent: str = ""
    ) -> list[Reading]:
        """Counts the messages that are new in the conversation with this opening, and returns their readings."""
        new = []
        for message, reading in said:
            key = opening + reading.digest
            told = self._seen.get(key)
            if told is None:
                self._hear(Heard(key, reading, message.text, agent, now, reading.names - reading.parts))
                new.append(reading)
            elif now - told > DAY:
                self._seen[key] = self._batch.seen_again[key] = now
        return new

    def note_asked(self, row_ids: Iterable[int], now: float) -> None:
        """The other processes must know soon: they would ask, too."""
        self._batch.asked |= dict.fromkeys(row_ids, now)
        if self._batch.asked:
            self.wanted.set()

    def pending(self) -> int:
        """How many messages wait to be written."""
        return len(self._batch.heard)

    async def run(self) -> None:
        """Learns from what is heard, as long as it runs."""
        while True:
            await self._heard.wait()
            await self.learn()

    async def learn(self) -> None:
        """Reads the rest of what was heard, and counts it."""
        pace = Pace()
        self._heard.clear()
        while self._unlearned:
            self._learn(self._unlearned.popleft())
            await pace.step()

    def take(self) -> Batch:
        """All that waits."""
        while self._unlearned:
            self._learn(self._unlearned.popleft())
        batch, self._batch = self._batch, Batch()
        self._waiting_readings = self._waiting_texts = 0
        self.wanted.clear()
        return batch

    def give_back(self, batch: Batch) -> None:
        """Returns what could not be written, to be written with the next batch."""
        batch.update(self._batch)
        self._batch = batch
        self._waiting_readings = sum(heard.reading.size for heard in batch.heard.values())
        self._waiting_texts = sum(len(heard.text) for heard in batch.heard.values())

    def settle(self, stored: Iterable[tuple[str, SoasRow]]) -> None:
        """After a flush: the rows of the names in it, as Postgres has them now."""
        for token, row in stored:
            if (old := self.cache.soas_by_token.get(token)) is not None:
                row.keep_times(old)
            row.load = self.cache.loads  # the load under way may have a picture from before the flush
            self.cache.put_soas(token, row)
            self._add_waiting(token, self._batch.named[token])

    def _add_waiting(self, token: str, count: int) -> None:
        row = self.cache.soas_by_token.get(token)
        if row is not None and count:
            row.encounter_count += count
            row.saliency = 0.0 if row.is_common else saliency(row.encounter_count)

    def _hear(self, heard: Heard) -> None:
        if self._waiting_readings + heard.reading.size > READINGS_MAX:
            self.dropped += 1
            return
        if self._waiting_texts + len(heard.text) > TEXTS_MAX:
            heard = replace(heard, text="")
        self._waiting_readings += heard.reading.size
        self._waiting_texts += len(heard.text)
        self._batch.heard[heard.key] = heard
        self._seen[heard.key] = heard.at
        if len(self._seen) > SEEN_MAX:
            del self._seen[next(iter(self._seen))]
        self._count(heard.counted, heard.at)
        self._unlearned.append(heard)
        self._heard.set()

    def _learn(self, heard: Heard) -> None:
        try:
            reading = complete(self.cache, heard.reading)
        except Exception:  # the other messages must be learned from, whatever this one holds
            logger.exception("learn.failed", extra={"characters": len(heard.text)})
            return
        self._count(reading.names - reading.parts - heard.counted, heard.at)

    def _count(self, names: Iterable[str], now: float) -> None:
        rows, named = self.cache.soas_by_token, self._batch.named
        for name in names:
            named[name] += 1
            row = rows.get(name)
            if row is None:
                self._want_id(named[name])
                continue
            row.last_seen = now
            row.encounter_count += 1
            if not row.is_common:
                row.saliency = saliency(row.encounter_count)

    def _want_id(self, count: int) -> None:
        """A new word that became salient wants its id soon."""
        if saliency(count) >= self.cache.tuning.saliency_read_threshold:
            self.wanted.set()
