"""From a message to what it teaches: the tokens it names and the facts it states.

Reading is pure and remembered by digest, because clients resend the whole history each turn. Encounters are
counted here in memory and written by memory/flusher.py.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from memory.cache import Cache
from memory.domain.cues import Triple, find_cues
from memory.domain.envelopes import unwrap
from memory.domain.rendering import CLOSING, OPENING
from memory.domain.saliency import saliency
from memory.domain.tokens import words

# Bounds of what a process remembers, in entries; a word is some 100 bytes, a digest 100 bytes.
READINGS_MAX_WORDS = 1_000_000
SEEN_MAX = 200_000
FRESH_MAX = 200_000


@dataclass(frozen=True, slots=True)
class Message:
    role: str
    text: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What one message says. ``emphasised`` are those written as a name or within one (a part
    of a compound is not a word of its own)."""

    digest: bytes
    role: str
    words: frozenset[str]
    emphasised: frozenset[str]
    triples: tuple[Triple, ...]


@dataclass(slots=True)
class Reader:
    """Reads messages, each once: a resent one is found by its digest."""

    cache: Cache
    _readings: dict[bytes, Reading] = field(default_factory=dict)
    _weight: int = 0

    def read(self, message: Message) -> Reading:
        digest = blake2b(
            message.text.encode("utf-8", "surrogatepass"), digest_size=16, person=message.role.encode()[:16]
        ).digest()
        reading = self._readings.get(digest)
        if reading is None:
            reading = self._remember(self._read(digest, message))
        return reading

    def _read(self, digest: bytes, message: Message) -> Reading:
        text, role = unwrap(without_recollections(message.text), message.role)
        found = words(text)
        return Reading(
            digest=digest,
            role=role,
            words=frozenset(found.tokens),
            emphasised=frozenset(found.emphasised),
            triples=tuple(find_cues(text, role, vocabulary=self.cache)),
        )

    def _remember(self, reading: Reading) -> Reading:
        self._readings[reading.digest] = reading
        self._weight += len(reading.words) + 1
        while self._weight > READINGS_MAX_WORDS:
            oldest = self._readings.pop(next(iter(self._readings)))
            self._weight -= len(oldest.words) + 1
        return reading


def describe(triple: Triple) -> dict[str, Any]:
    """The triple for people and programs: in answers and in ``manage.py explain``."""
    return {
        "subject": triple.subject,
        "parent": triple.parent,
        "dimension": triple.dimension,
        "is_isa": triple.is_isa,
        "confidence": triple.confidence,
        "span": [triple.start, triple.end],
    }


def without_recollections(text: str) -> str:
    """The text less Festinger's own blocks: what was recalled must not count as said again."""
    start = text.find(OPENING)
    while start >= 0:
        end = text.find(CLOSING, start)
        if end < 0:
            return text
        text = text[:start] + "\n" + text[end + len(CLOSING) :]
        start = text.find(OPENING, start)
    return text


@dataclass(slots=True)
class Fresh:
    """A token that Postgres has not given an id yet."""

    count: int
    last_seen: float


@dataclass(slots=True)
class Batch:
    """What one flush writes. Keys of the first two are soas ids."""

    counts: dict[int, int] = field(default_factory=dict)
    asked: dict[int, int] = field(default_factory=dict)
    fresh: dict[str, Fresh] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.counts or self.asked or self.fresh)


@dataclass(slots=True)
class Encounters:
    """Counts what new messages name. A message counts once per conversation, however often it is resent."""

    cache: Cache
    batch: Batch = field(default_factory=Batch)
    wanted: asyncio.Event = field(default_factory=asyncio.Event)
    dropped: int = 0
    _seen: dict[bytes, None] = field(default_factory=dict)

    def observe(self, opening: bytes, readings: Iterable[Reading], now: float) -> list[Reading]:
        """Counts the messages that are new in the conversation with this opening, and returns them."""
        return [reading for reading in readings if self._is_new(opening + reading.digest, reading, now)]

    def note_asked(self, row_ids: Sequence[int]) -> None:
        for row_id in row_ids:
            self.batch.asked[row_id] = self.batch.asked.get(row_id, 0) + 1

    def take(self) -> Batch:
        taken, self.batch = self.batch, Batch()
        self.wanted.clear()
        return taken

    def give_back(self, batch: Batch) -> None:
        """Returns what could not be written, to be written with the next batch."""
        for row_id, count in batch.counts.items():
            self.batch.counts[row_id] = self.batch.counts.get(row_id, 0) + count
        for row_id, count in batch.asked.items():
            self.batch.asked[row_id] = self.batch.asked.get(row_id, 0) + count
        for token, fresh in batch.fresh.items():
            self._count_fresh(token, fresh.count, fresh.last_seen)

    def _is_new(self, key: bytes, reading: Reading, now: float) -> bool:
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > SEEN_MAX:
            del self._seen[next(iter(self._seen))]
        for word in reading.words:
            self._count(word, now)
        return True

    def _count(self, word: str, now: float) -> None:
        row = self.cache.soas_by_token.get(word)
        if row is None:
            self._count_fresh(word, 1, now)
            return
        row.encounter_count += 1
        row.last_seen = now
        if not row.is_common:
            row.saliency = saliency(row.encounter_count)
        self.batch.counts[row.id] = self.batch.counts.get(row.id, 0) + 1

    def _count_fresh(self, word: str, count: int, now: float) -> None:
        fresh = self.batch.fresh.get(word)
        if fresh is None:
            if len(self.batch.fresh) >= FRESH_MAX:
                self.dropped += 1
                return
            fresh = self.batch.fresh[word] = Fresh(0, now)
        fresh.count += count
        fresh.last_seen = max(fresh.last_seen, now)
        if saliency(fresh.count) >= self.cache.tuning.saliency_read_threshold:
            self.wanted.set()
