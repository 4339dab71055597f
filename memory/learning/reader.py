"""From a message to what it says: the words it names and the facts it states."""

import time
from collections.abc import Sequence, Set
from dataclasses import dataclass, field
from hashlib import blake2b
from sys import getsizeof
from typing import NamedTuple

from memory import bounds
from memory.cache.state import Cache
from memory.domain.channels import TENTATIVE, Channel, channel_of_role
from memory.domain.cues.extractor import (
    CueMatch,
    PossibleCues,
    find_possible_cues,
    iter_cues,
    iter_names_near_cues,
    names_near_cues,
)  # fmt: skip
from memory.domain.cues.noun_phrases import opens_sentence
from memory.domain.recall.rendering import CLOSING, OPENING
from memory.domain.secrets.redaction import blank_in_steps, blank_secrets
from memory.domain.steps import Steps, finish
from memory.domain.text.agent_envelopes import shows_tools, unwrap
from memory.domain.text.portions import split_for_reading, unite_words
from memory.domain.text.quotations import find_quotations
from memory.domain.text.tokenizer import WordSets, find_known_words, find_words, is_plain
from memory.domain.timing import STATEMENTS_MAX
from memory.domain.types import Message
from memory.learning.speech import SILENCE, Speech, read_speech

# What a process remembers of what it read, roughly: an agent's history of 400 KB takes 2 MB.
READINGS_MAX_BYTES = 64_000_000
READING_BYTES = 600  # without its words, names and statements
WORD_BYTES = 60  # of a name, beside its place in a set; its characters are counted as often as there are
TRIPLE_BYTES = 300
# How much of one message is read at once, in characters: all streams wait meanwhile. Where text is full of cues, a
# sentence takes 8 microseconds a character; text with combining marks takes 4.
CUE_TEXT_MAX = 65_536
CUE_SENTENCES_MAX = 4_000
MARKED_TEXT_MAX = 10_000
QUOTATIONS_TEXT_MAX = 20_000  # what is longer was hardly typed
# Of JSON in which a message may come, in characters: 3 ms.
ENVELOPE_MAX = 500_000
# Of the words that are read in one step, while a prompt waits and afterwards.
HURRIED_STEP_CHARACTERS = 8_000
STEP_CHARACTERS = 4_000

# Statements of one message that are read, whoever they are by: two milliseconds for ten of them.
MATCHES_MAX = 100
TOO_MANY_STATEMENTS = bounds.define(
    "statements", f"messages with more statements than the {STATEMENTS_MAX} that are learned of one"
)


@dataclass(slots=True)
class Reading:
    """What one message says: at first the words that the vocabulary has, and statements about concepts with facts."""

    # The sender waits for no more than can be recalled. ``read_rest`` reads what is left.
    digest: bytes
    role: str
    text: str  # empty once all of it is read
    edition: int  # the cache's, when ``names`` were told from ordinary words
    words: str = ""  # each once, in one string with spaces between: a set of them takes many times the memory
    names: frozenset[str] = frozenset()  # can be recalled or asked about: all but common words that nothing is known of
    parts: frozenset[str] = frozenset()  # names that stand only within a compound, which is a word of its own
    emphasised: frozenset[str] = frozenset()  # the words written as a name or within one
    has_quotations: bool = False  # it passes on the words of others; once all of it is read
    is_partial: bool = False  # not all of its text is read: it is too long, or has secrets
    has_tools: bool = False  # it shows that the agent has tools, though the request may not say so
    speech: Speech = SILENCE  # of whom it speaks; once all of it is read
    triples: tuple[CueMatch, ...] | None = None  # the first statements, until all are read; None: not looked for yet
    size: int = READING_BYTES  # bytes, roughly
    use: "MemoryUse | None" = None  # of the reader that remembers it

    def put(self, found: WordSets, nameless: set[str]) -> None:
        self.emphasised = frozenset(found.emphasised)
        self.names = frozenset((found.tokens - nameless) | (found.emphasised - nameless))
        self.parts = self.names - found.tokens

    def measure(self) -> None:
        """Call it when something was read: what a text says can take twenty times as much as the text."""
        before = self.size
        texts, sets = (self.text, self.words), (self.names, self.parts, self.emphasised)
        # Each word is an object of its own, once in all sets.
        words = WORD_BYTES * max(map(len, sets)) + len(self.words) + self.speech.size
        self.size = (
            READING_BYTES + words + sum(map(getsizeof, (*texts, *sets))) + TRIPLE_BYTES * len(self.triples or ())
        )
        if self.use is not None:
            self.use.bytes += self.size - before


@dataclass(slots=True)
class MemoryUse:
    bytes: int = 0


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


class MessageKey(NamedTuple):
    """Tells a message within this process."""

    # Python's hash of a text is keyed with a secret of the process, so that nobody can make two messages collide, and
    # takes a fifth of the time of a digest.
    role: str
    characters: int
    hash: int

    @classmethod
    def of(cls, message: Message) -> "MessageKey":
        return cls(message.role, len(message.text), hash(message.text))


@dataclass(slots=True)
class Reader:
    """Reads messages, each once."""

    # Readings are remembered, because clients resend the whole history each turn.
    cache: Cache
    _readings: dict[MessageKey, Reading] = field(default_factory=dict)
    _use: MemoryUse = field(default_factory=MemoryUse)

    def read(self, message: Message) -> Reading:
        key = MessageKey.of(message)
        return complete_reading(self.cache, self._recall(key) or finish(self._read(key, message)))

    def read_in_steps(self, message: Message) -> Steps[Reading]:
        """All that the message says."""
        key = MessageKey.of(message)
        reading = self._recall(key) or (yield from self._read(key, message))
        yield from read_rest(self.cache, reading)
        return reading

    def read_within(self, messages: Sequence[Message], allowance: Allowance) -> Steps[list[Reading | None]]:
        """A reading for each message, None for new ones beyond the allowance: they are read when they are resent."""
        keys: list[MessageKey] = []
        readings: list[Reading | None] = []
        for message in messages:
            keys.append(MessageKey.of(message))
            readings.append(self._recall(keys[-1]))
            if len(keys) % 16 == 0:  # at a microsecond each
                yield
        # The newest text matters most: it is read first, and however late it is.
        missing = [index for index, reading in enumerate(readings) if reading is None]
        for index in reversed(missing):
            reading = self._recall(keys[index])  # the same text may stand there twice
            size, is_last = readable_length(self.cache, messages[index]), index == len(messages) - 1
            if reading is None and (allowance.grants(size) or is_last):
                reading = yield from self._read(keys[index], messages[index])
            readings[index] = reading
            yield
        return readings

    def _recall(self, key: MessageKey) -> Reading | None:
        reading = self._readings.get(key)
        if reading is None or reading.edition == self.cache.edition:
            return reading
        if reading.text:  # only what was a name then is known of it: it has to be read again
            self._forget(key)
            return None
        reading.put(WordSets(set(reading.words.split()), set(reading.emphasised)), self.cache.nameless)
        reading.edition = self.cache.edition
        reading.measure()
        return reading

    def _read(self, key: MessageKey, message: Message) -> Steps[Reading]:
        said = unwrap_readable(self.cache, message)
        is_cut = len(said.text) >= self.cache.tuning.enrichment_max_characters or len(message.text) > ENVELOPE_MAX
        if len(said.text) > MARKED_TEXT_MAX and not is_plain(said.text):
            said, is_cut = Message(said.role, said.text[:MARKED_TEXT_MAX]), True
        reading = Reading(digest_message(message), said.role, said.text, self.cache.edition, is_partial=is_cut)
        reading.has_tools = shows_tools(message.text, message.role)
        nameless, vocabulary = self.cache.nameless, self.cache.soas_by_token
        steps = split_for_reading(said.text, HURRIED_STEP_CHARACTERS)
        found = yield from unite_words(find_known_words(part, vocabulary, nameless) for part in steps)
        reading.put(found, nameless)
        concepts = [name for name in reading.names if self.cache.is_concept(name)]
        if concepts:
            text = said.text[:CUE_TEXT_MAX]
            possible = find_possible_cues(text, self.cache)
            yield
            if not possible.hopeful or (yield from iter_names_near_cues(text, concepts, possible.hopes)):
                yield from read_statements(self.cache, reading, possible)
        return self._remember(key, reading)

    def _remember(self, key: MessageKey, reading: Reading) -> Reading:
        # Read for another request meanwhile: of one message there must be one reading, which is completed later.
        if (known := self._readings.get(key)) is not None:
            return known
        self._readings[key] = reading
        reading.measure()
        reading.use = self._use
        self._use.bytes += reading.size
        while self._use.bytes > READINGS_MAX_BYTES and len(self._readings) > 1:  # the newest is in use
            self._forget(next(iter(self._readings)))
        return reading

    def _forget(self, key: MessageKey) -> None:
        reading = self._readings.pop(key)
        reading.use = None
        self._use.bytes -= reading.size


def complete_reading(cache: Cache, reading: Reading) -> Reading:
    """The same reading with all its words, at once."""
    if reading.text:
        _hide_secrets(reading, blank_secrets(reading.text))
        finish(read_statements(cache, reading))
        found = find_words(reading.text)
        reading.speech = finish(read_speech(cache, reading.role, reading.text, words=found))
        _put_words(cache, reading, found)
    return reading


def _hide_secrets(reading: Reading, blank: str) -> None:
    """What stands in a secret is no word and states nothing. (On the hot path only words that are known are read.)"""
    if blank != reading.text:
        reading.text, reading.triples, reading.is_partial = blank, None, True


def read_rest(cache: Cache, reading: Reading) -> Steps[None]:
    """Reads what is left, words and statements, step by step: other tasks may run in between."""
    if not reading.text:
        return
    parts = []
    for part in blank_in_steps(reading.text):
        parts.append(part)
        yield
    _hide_secrets(reading, "".join(parts))
    text = reading.text
    found = yield from unite_words(map(find_words, split_for_reading(text, STEP_CHARACTERS)))
    if reading.triples is None or len(text) > CUE_SENTENCES_MAX:
        triples: list[CueMatch] = []
        own: set[tuple[str, str, str]] = set()
        for triple in iter_cues(text, reading.role, vocabulary=cache):
            if triple is not None:
                triples.append(triple)
                if triple.channel not in TENTATIVE:
                    own.add((triple.subject, triple.parent, triple.dimension))
            yield
            # What is quoted or repeated may all be left out later; what somebody states is not.
            if len(own) >= STATEMENTS_MAX or len(triples) >= MATCHES_MAX:
                TOO_MANY_STATEMENTS.count_bite()
                break
        reading.triples = tuple(triples)
    reading.speech = yield from read_speech(cache, reading.role, text, words=found)
    _put_words(cache, reading, found)


def _put_words(cache: Cache, reading: Reading, found: WordSets) -> None:
    if channel_of_role(reading.role) is not Channel.QUOTED:  # all of that is passed on
        reading.has_quotations = len(reading.text) > QUOTATIONS_TEXT_MAX or bool(find_quotations(reading.text))
    for whole, rest in found.openings.items():
        first, *others = whole.removesuffix(rest)[:-1], *rest.split("_")
        if not cache.is_concept(whole) and opens_sentence(first, others, cache.is_common):
            found.tokens.discard(whole)  # `Deploy Kvasir`
            found.emphasised.discard(whole)
            found.tokens.add(rest)
    reading.words = " ".join(found.tokens)
    reading.put(found, cache.nameless)
    reading.text, reading.edition = "", cache.edition
    reading.measure()


def find_stated(readings: Sequence[Reading], names: Set[str]) -> set[str]:
    """Those of the names that the messages state something about, as subject or parent. Where nobody has looked for
    statements yet, those that may be: it is known for certain when the message is sent again."""
    stated: set[str] = set()
    for reading in readings:
        if reading.triples is not None:
            stated |= {word for triple in reading.triples for word in (triple.subject, triple.parent)}
        elif asked := names & reading.names:
            stated |= names_near_cues(reading.text[:CUE_TEXT_MAX], asked, as_parents=True)
    return stated & names


def find_hidden(readings: Sequence[Reading], names: Set[str]) -> set[str]:
    """Those of the names that the messages have only within secrets."""
    # A message of which all is read has no names within secrets.
    hidden: set[str] = set()
    for reading in readings:
        if reading.text and (found := names & reading.names):
            text = blank_secrets(reading.text[:CUE_TEXT_MAX])
            hidden |= found - find_known_words(text, dict.fromkeys(found)).tokens
    return {name for name in hidden if not any(name in reading.names for reading in readings if not reading.text)}


def read_statements(cache: Cache, reading: Reading, possible: PossibleCues | None = None) -> Steps[None]:
    if reading.triples is None:
        triples = []
        text = reading.text[:CUE_TEXT_MAX]
        steps = iter_cues(text, reading.role, vocabulary=cache, characters_max=CUE_SENTENCES_MAX, possible=possible)
        for triple in steps:
            if triple is not None:
                triples.append(triple)
            yield
        reading.triples = tuple(triples)


def digest_message(message: Message) -> bytes:
    """16 bytes that tell a message by its role and its text."""
    text = message.text.encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=16, person=message.role.encode("utf-8", "surrogatepass")[:16]).digest()


def readable_length(cache: Cache, message: Message) -> int:
    """How many characters of the message are read at all: no more than one request may read."""
    return min(len(message.text), cache.tuning.enrichment_max_characters)


def unwrap_readable(cache: Cache, message: Message) -> Message:
    """What is said in the part of the message that is read."""
    # An envelope is opened whole: half of it is no JSON.
    said = unwrap_message(Message(message.role, message.text[: max(readable_length(cache, message), ENVELOPE_MAX)]))
    return Message(said.role, said.text[: cache.tuning.enrichment_max_characters])


def unwrap_message(message: Message) -> Message:
    """The message less its envelope and less Festinger's own blocks."""
    text, role = unwrap(remove_recollections(message.text), message.role)
    return Message(role, text)


def remove_recollections(text: str) -> str:
    # What was recalled must not count as said again.
    kept, at = [], 0
    while (start := text.find(OPENING, at)) >= 0 and (end := text.find(CLOSING, start)) >= 0:
        kept.append(text[at:start])
        at = end + len(CLOSING)
    return "\n".join([*kept, text[at:]]) if kept else text
