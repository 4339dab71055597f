"""From a message to what it teaches: the tokens it names and the facts it states.

Reading is pure and remembered by digest, because clients resend the whole history each turn. Encounters are
counted here in memory and written by memory/flusher.py.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from memory.cache import Cache
from memory.domain.cues import Triple, find_cues
from memory.domain.envelopes import unwrap
from memory.domain.messages import Message
from memory.domain.rendering import CLOSING, OPENING
from memory.domain.saliency import saliency
from memory.domain.tokens import words

# Bounds of what a process remembers, in entries; a word is some 100 bytes, a digest 100 bytes.
READINGS_MAX_WORDS = 1_000_000
SEEN_MAX = 200_000
# How much of one message is looked through for statements, in characters: where every line has one, this takes
# half a second, and all streams wait meanwhile.
CUE_TEXT_MAX = 65_536
TALLIES_MAX = 500_000


@dataclass(frozen=True, slots=True)
class Reading:
    """What one message says.

    ``names`` are the words that can be recalled or asked about: all but the common ones that nothing is known
    about, and parts of a compound (which is a word of its own) among them. ``emphasised`` are the words written
    as a name or within one."""

    digest: bytes
    role: str
    words: frozenset[str]
    names: frozenset[str]
    emphasised: frozenset[str]
    triples: tuple[Triple, ...]


@dataclass(slots=True)
class Reader:
    """Reads messages, each once: a resent one is found by its digest, until the common words change."""

    cache: Cache
    _readings: dict[bytes, Reading] = field(default_factory=dict)
    _weight: int = 0
    _edition: int = -1

    def read(self, message: Message) -> Reading:
        if self._edition != self.cache.edition:
            self._forget()
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
            names=frozenset((found.tokens | found.emphasised) - self.cache.nameless),
            emphasised=frozenset(found.emphasised),
            triples=tuple(find_cues(text[:CUE_TEXT_MAX], role, vocabulary=self.cache)),
        )

    def _remember(self, reading: Reading) -> Reading:
        self._readings[reading.digest] = reading
        self._weight += len(reading.words) + 1
        while self._weight > READINGS_MAX_WORDS:
            oldest = self._readings.pop(next(iter(self._readings)))
            self._weight -= len(oldest.words) + 1
        return reading

    def _forget(self) -> None:
        self._readings.clear()
        self._weight, self._edition = 0, self.cache.edition


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
    kept, at = [], 0
    while (start := text.find(OPENING, at)) >= 0 and (end := text.find(CLOSING, start)) >= 0:
        kept.append(text[at:start])
        at = end + len(CLOSING)
    return "\n".join([*kept, text[at:]]) if kept else text


@dataclass(slots=True)
class Tally:
    """How many messages named a word, and when the last did (seconds since the epoch)."""

    count: int = 0
    last_seen: float = 0.0

    def add(self, count: int, last_seen: float) -> None:
        self.count += count
        self.last_seen = max(self.last_seen, last_seen)


@dataclass(slots=True)
class Batch:
    """What one flush writes: per token how often it was met, per soas id how often it was asked about."""

    met: dict[str, Tally] = field(default_factory=dict)
    asked: Counter[int] = field(default_factory=Counter)

    def __bool__(self) -> bool:
        return bool(self.met or self.asked)


@dataclass(slots=True)
class Encounters:
    """Counts what new messages name. A message counts once per conversation, however often it is resent.

    On the hot path only names are counted, whose saliency may change with it; the rest waits for the flush."""

    cache: Cache
    wanted: asyncio.Event = field(default_factory=asyncio.Event)
    dropped: int = 0
    _messages: list[tuple[frozenset[str], float]] = field(default_factory=list)
    _unknown: Counter[str] = field(default_factory=Counter)  # names without an id, since the last flush
    _asked: Counter[int] = field(default_factory=Counter)
    _unwritten: Batch = field(default_factory=Batch)
    _seen: dict[bytes, None] = field(default_factory=dict)

    def observe(self, opening: bytes, readings: Iterable[Reading], now: float) -> list[Reading]:
        """Counts the messages that are new in the conversation with this opening, and returns them."""
        return [reading for reading in readings if self._is_new(opening + reading.digest, reading, now)]

    def note_asked(self, row_ids: Iterable[int]) -> None:
        self._asked.update(row_ids)

    def pending(self) -> int:
        """How many messages and tokens wait to be written."""
        return len(self._messages) + len(self._unwritten.met)

    def take(self) -> Batch:
        """All that was counted since the last flush, and what that could not write."""
        batch, self._unwritten = self._unwritten, Batch()
        batch.asked.update(self._asked)
        counts: Counter[str] = Counter()
        last_seen: dict[str, float] = {}
        for said, now in self._messages:
            counts.update(said)
            last_seen.update(dict.fromkeys(said, now))
        for word, count in counts.items():
            self._add(batch, word, count, last_seen[word])
        self._messages, self._unknown, self._asked = [], Counter(), Counter()
        self.wanted.clear()
        return batch

    def give_back(self, batch: Batch) -> None:
        """Returns what could not be written, to be written with the next batch."""
        for token, tally in batch.met.items():
            self._add(self._unwritten, token, tally.count, tally.last_seen)
        self._unwritten.asked.update(batch.asked)

    def _is_new(self, key: bytes, reading: Reading, now: float) -> bool:
        if key in self._seen:
            return False
        self._seen[key] = None
        if len(self._seen) > SEEN_MAX:
            del self._seen[next(iter(self._seen))]
        self._messages.append((reading.words, now))
        rows = self.cache.soas_by_token
        for name in reading.names & reading.words:
            row = rows.get(name)
            if row is None:
                self._count_unknown(name)
                continue
            row.last_seen = now
            row.encounter_count += 1
            if not row.is_common:
                row.saliency = saliency(row.encounter_count)
        return True

    def _count_unknown(self, name: str) -> None:
        """A new word that became salient wants its id soon."""
        self._unknown[name] += 1
        if saliency(self._unknown[name]) >= self.cache.tuning.saliency_read_threshold:
            self.wanted.set()

    def _add(self, batch: Batch, token: str, count: int, last_seen: float) -> None:
        tally = batch.met.get(token)
        if tally is None:
            if len(batch.met) >= TALLIES_MAX:
                self.dropped += count
                return
            tally = batch.met[token] = Tally()
        tally.add(count, last_seen)
