"""From a message to what it says: the words it names and the facts it states.

Reading is remembered by digest, because clients resend the whole history each turn.
"""

import time
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from memory.cache import Cache
from memory.domain.cues import Triple, find_cues, names_near_cues
from memory.domain.envelopes import unwrap
from memory.domain.messages import Message
from memory.domain.rendering import CLOSING, OPENING
from memory.domain.tokens import Words, is_plain, known_words, words

# What a process remembers of what it read, roughly: an agent's history of 400 KB takes 2 MB.
READINGS_MAX_BYTES = 64_000_000
READING_BYTES = 600  # without its words and names
CHARACTER_BYTES = 4  # of its text: each word once in a string, and in a set or two if it is a name
# How much of one message is read at once, in characters: all streams wait meanwhile. Where text is full of cues, a
# sentence takes 8 microseconds a character; text with combining marks takes 4.
CUE_TEXT_MAX = 65_536
CUE_SENTENCES_MAX = 4_000
MARKED_TEXT_MAX = 10_000


@dataclass(slots=True)
class Reading:
    """What one message says. Its sender waits only for what can be recalled: for the words that the vocabulary has,
    and for statements about concepts with facts. ``complete`` reads the rest, and ``text`` is empty then.

    ``words``, each once, stand in one string with spaces between. ``names`` are those that can be recalled or asked
    about: all but the common ones that nothing is known about; ``parts`` are those of them that stand only within a
    compound, which is a word of its own. ``emphasised`` are the words written as a name or within one."""

    digest: bytes
    role: str
    text: str
    size: int  # bytes, roughly
    edition: int
    words: str = ""
    names: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()
    emphasised: frozenset[str] = frozenset()
    triples: tuple[Triple, ...] | None = None  # not looked for yet

    def put(self, found: Words, nameless: set[str]) -> None:
        self.emphasised = frozenset(found.emphasised)
        self.names = frozenset((found.tokens | found.emphasised) - nameless)
        self.parts = self.names - found.tokens


@dataclass(slots=True)
class Allowance:
    """How much new text may be read for one request: characters, and until when by the monotonic clock."""

    characters: int
    until: float

    @classmethod
    def of(cls, cache: Cache) -> "Allowance":
        tuning = cache.tuning
        return cls(tuning.enrichment_max_characters, time.monotonic() + tuning.enrichment_max_ms / 1000)

    def grants(self, characters: int) -> bool:
        if characters > self.characters or time.monotonic() >= self.until:
            return False
        self.characters -= characters
        return True


@dataclass(slots=True)
class Reader:
    """Reads messages, each once: a resent one is found by its digest."""

    cache: Cache
    _readings: dict[bytes, Reading] = field(default_factory=dict)
    _size: int = 0

    def read(self, message: Message) -> Reading:
        """The whole reading."""
        digest = digest_of(message)
        return complete(self.cache, self._recall(digest) or self._read(digest, message))

    def read_within(
        self, messages: Sequence[Message], digests: Sequence[bytes], allowance: Allowance
    ) -> list[Reading | None]:
        """A reading for each message, None for new ones beyond the allowance: they are read when they are resent.

        The newest text matters most: it is read first, and however late it is."""
        readings = [self._recall(digest) for digest in digests]
        missing = [index for index, reading in enumerate(readings) if reading is None]
        for index in reversed(missing):
            reading = self._recall(digests[index])  # the same text may stand there twice
            if reading is None and (allowance.grants(self.readable(messages[index])) or index == len(messages) - 1):
                reading = self._read(digests[index], messages[index])
            readings[index] = reading
        return readings

    def readable(self, message: Message) -> int:
        """How many characters of the message are read at all: no more than one request may read."""
        return min(len(message.text), self.cache.tuning.enrichment_max_characters)

    def _recall(self, digest: bytes) -> Reading | None:
        reading = self._readings.get(digest)
        if reading is None or reading.edition == self.cache.edition:
            return reading
        if reading.text:  # only what was a name then is known of it: it has to be read again
            self._size -= self._readings.pop(digest).size
            return None
        reading.put(Words(set(reading.words.split()), set(reading.emphasised)), self.cache.nameless)
        reading.edition = self.cache.edition
        return reading

    def _read(self, digest: bytes, message: Message) -> Reading:
        said = what_is_said(Message(message.role, message.text[: self.readable(message)]))
        if len(said.text) > MARKED_TEXT_MAX and not is_plain(said.text):
            said = Message(said.role, said.text[:MARKED_TEXT_MAX])
        size = READING_BYTES + CHARACTER_BYTES * len(said.text)
        reading = Reading(digest, said.role, said.text, size, self.cache.edition)
        nameless = self.cache.nameless
        reading.put(known_words(said.text, self.cache.soas_by_token, nameless), nameless)
        concepts = [name for name in reading.names if self.cache.is_concept(name)]
        if concepts and names_near_cues(said.text[:CUE_TEXT_MAX], concepts):
            read_statements(self.cache, reading)
        return self._remember(reading)

    def _remember(self, reading: Reading) -> Reading:
        self._readings[reading.digest] = reading
        self._size += reading.size
        while self._size > READINGS_MAX_BYTES:
            oldest = self._readings.pop(next(iter(self._readings)))
            self._size -= oldest.size
        return reading


def complete(cache: Cache, reading: Reading) -> Reading:
    """The same reading, whole."""
    if reading.text:
        found = words(reading.text)
        reading.words = " ".join(found.tokens)
        reading.put(found, cache.nameless)
        read_statements(cache, reading)
        reading.text, reading.edition = "", cache.edition
    return reading


def stated_among(readings: Sequence[Reading], names: Set[str]) -> set[str]:
    """Those of the names that the messages state something about, as subject or parent. Where nobody has looked for
    statements yet, those that may be: it is known for certain when the message is sent again."""
    stated: set[str] = set()
    for reading in readings:
        if reading.triples is not None:
            stated |= {word for triple in reading.triples for word in (triple.subject, triple.parent)}
        elif asked := names & reading.names:
            stated |= names_near_cues(reading.text[:CUE_TEXT_MAX], asked, as_parents=True)
    return stated & names


def read_statements(cache: Cache, reading: Reading) -> None:
    if reading.triples is None:
        text = reading.text[:CUE_TEXT_MAX]
        found = find_cues(text, reading.role, vocabulary=cache, characters_max=CUE_SENTENCES_MAX)
        reading.triples = tuple(found)


def digest_of(message: Message) -> bytes:
    """16 bytes that tell a message by its role and its text."""
    text = message.text.encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=16, person=message.role.encode("utf-8", "surrogatepass")[:16]).digest()


def what_is_said(message: Message) -> Message:
    """The message less its envelope and less Festinger's own blocks."""
    text, role = unwrap(without_recollections(message.text), message.role)
    return Message(role, text)


def without_recollections(text: str) -> str:
    """What was recalled must not count as said again."""
    kept, at = [], 0
    while (start := text.find(OPENING, at)) >= 0 and (end := text.find(CLOSING, start)) >= 0:
        kept.append(text[at:start])
        at = end + len(CLOSING)
    return "\n".join([*kept, text[at:]]) if kept else text


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
