"""What new messages name, counted in memory and handed to memory/ingest/flusher.py.

A message counts once: it is told by the digests of its conversation's opening, and of its role and text. Whether
it is new is known here as far as this process remembers, and for good in the table ``seen_message``: what this
process took for new and was not is counted until the flush, which puts it right.
"""

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from memory.cache.loader import Pace
from memory.cache.state import Cache
from memory.domain.first_seen import Sightings
from memory.domain.messages import Message
from memory.domain.recall.saliency import DAY, HOUR, saliency
from memory.domain.statement import Observed
from memory.domain.types import SoasRow, TripleIds
from memory.ingest.extraction import Heard, confirmed, statements, unexplained
from memory.ingest.reader import Key, Reading, learn, readable

logger = logging.getLogger(__name__)

SEEN_MAX = 200_000  # messages, at about 170 bytes
# What waits for a flush while Postgres is away: readings, in bytes, and texts, in characters, which are only evidence.
READINGS_MAX = 100_000_000
TEXTS_MAX = 16_000_000
# Learning takes turns with prompts, and leaves them two thirds of the time, until something has waited for long: what
# a prompt states is to leave this process within a second.
SLICE_S = 0.001
REST_S = 0.002
LONG_S = 0.1
LONG_SLICE_S = 0.01
# An unknown concept is handed over once in so long, however often it is named.
UNEXPLAINED_EVERY_S = HOUR
UNEXPLAINED_MAX = 10_000


@dataclass(slots=True)
class Batch:
    """What one flush writes. ``named`` is what was counted in memory for it; ``seen_again``, keys of messages that
    were sent again after a day; ``asked``, when a soas id was asked about; ``unexplained``, concepts that a language
    model is to be asked about, and where they were named; ``confirmed``, when facts were mentioned."""

    heard: dict[bytes, Heard] = field(default_factory=dict)
    named: Counter[str] = field(default_factory=Counter)
    seen_again: dict[bytes, float] = field(default_factory=dict)
    asked: dict[int, float] = field(default_factory=dict)
    unexplained: dict[str, Heard] = field(default_factory=dict)
    confirmed: dict[TripleIds, float] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.heard or self.seen_again or self.asked)

    def update(self, later: "Batch") -> None:
        self.heard |= later.heard
        self.named += later.named
        self.seen_again |= later.seen_again
        self.asked |= later.asked
        self.unexplained |= later.unexplained
        self.confirmed |= later.confirmed


@dataclass(slots=True)
class Encounters:
    """On the hot path only known names are counted, whose saliency may change with it; ``learn`` reads and counts the
    rest right after it, hands statements to ``observe_statements``, and common words wait for the flush.

    ``wanted`` asks for a flush before its time. ``dropped`` counts messages that found no room."""

    cache: Cache
    observe_statements: Callable[[list[Observed]], None] = lambda observed: None
    wanted: asyncio.Event = field(default_factory=asyncio.Event)
    dropped: int = 0
    _batch: Batch = field(default_factory=Batch)
    _seen: dict[bytes, float] = field(default_factory=dict)  # by key, when the database was last told
    _sightings: Sightings = field(default_factory=Sightings)
    _unlearned: deque[Heard] = field(default_factory=deque)
    _heard: asyncio.Event = field(default_factory=asyncio.Event)
    _learning: asyncio.Lock = field(default_factory=asyncio.Lock)
    _handed_over: dict[str, float] = field(default_factory=dict)  # unexplained concepts, and when
    _waiting_readings: int = 0
    _waiting_texts: int = 0

    def remember(self, seen: Iterable[tuple[bytes, float]]) -> None:
        """Messages that are counted already, and when they were last seen."""
        self._seen.update(seen)

    def observe(
        self, opening: bytes, said: Iterable[tuple[Message, Reading | None]], now: float, agent: str = ""
    ) -> list[Reading]:
        """Counts the messages that are new in the conversation with this opening, and returns their readings. Those
        that are read another time have none; what they state counts as said now."""
        new = []
        for message, reading in said:
            if reading is None:
                self._sightings.put_off((opening, Key.of(message)), readable(self.cache, message), now)
                continue
            key = opening + reading.digest
            told = self._seen.get(key)
            if told is None:
                at = self._sightings.first((opening, Key.of(message)), readable(self.cache, message), now)
                self._hear(Heard(key, reading, message.text, agent, at, reading.names - reading.parts))
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
        """Reads the rest of what was heard, and counts it. Others run in between."""
        async with self._learning:
            calm, hurried = Pace(SLICE_S, REST_S), Pace(LONG_SLICE_S)
            self._heard.clear()
            while self._unlearned:
                heard = self._unlearned[0]  # it stays there until it is learned, whatever happens in between
                await self._learn_from(heard, hurried if time.time() - heard.at > LONG_S else calm)
                if self._unlearned and self._unlearned[0] is heard:
                    self._unlearned.popleft()

    async def _learn_from(self, heard: Heard, pace: Pace) -> None:
        try:
            for _ in learn(self.cache, heard.reading):
                await pace.step()
            observed = []
            for statement in statements(self.cache, heard):
                observed.append(statement)
                await pace.step()
            self._note(heard, observed)
        except Exception:  # the other messages must be learned from, whatever this one holds
            logger.exception("learn.failed", extra={"characters": len(heard.text)})

    def take(self) -> Batch:
        """All that waits. What nobody has learned from yet is in it, less what it would teach: ``learn`` first."""
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
            self.cache.set_count(token, row, row.encounter_count + count)

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

    def _note(self, heard: Heard, observed: list[Observed]) -> None:
        """All that was learned from one message, at once."""
        self._count(heard.reading.names - heard.reading.parts - heard.counted, heard.at)
        if observed:
            self.observe_statements(observed)
        for name in unexplained(self.cache, heard):
            self._hand_over(name, heard)
        self._batch.confirmed |= dict.fromkeys(confirmed(self.cache, heard), heard.at)

    def _hand_over(self, name: str, heard: Heard) -> None:
        if heard.at - self._handed_over.get(name, 0.0) < UNEXPLAINED_EVERY_S:
            return
        self._handed_over.pop(name, None)
        self._handed_over[name] = heard.at
        if len(self._handed_over) > UNEXPLAINED_MAX:
            del self._handed_over[next(iter(self._handed_over))]
        self._batch.unexplained[name] = heard
        self.wanted.set()

    def _count(self, names: Iterable[str], now: float) -> None:
        rows, named = self.cache.soas_by_token, self._batch.named
        for name in names:
            named[name] += 1
            row = rows.get(name)
            if row is None:
                self._want_id(named[name])
                continue
            row.last_seen = now
            self.cache.set_count(name, row, row.encounter_count + 1)

    def _want_id(self, count: int) -> None:
        """A new word that became salient wants its id soon."""
        if saliency(count) >= self.cache.tuning.saliency_read_threshold:
            self.wanted.set()
