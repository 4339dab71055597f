"""Reads messages: the words that they name and the facts that they state."""

import re
import time
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from sys import getsizeof

from memory import bounds
from memory.attribution.envelopes import remove_client_parts, shows_tools, unwrap
from memory.attribution.forget_requests import ForgetRequest, cut_requests, find_requests
from memory.cache.state import Cache
from memory.channels import OTHERS
from memory.english.noun_phrases import opens_sentence
from memory.english.statements import CueMatch, iter_cues
from memory.english.tokenizer import WordSets, find_known_words, find_words, is_plain
from memory.questions import known_words
from memory.questions.askable import read_spoken
from memory.recall.block import CLOSING, OPENING
from memory.secrets.redaction import MARK, blank_secrets
from memory.timing import STATEMENTS_MAX
from memory.types import Message

# New text of one request that is read; the rest is read when it is sent again.
NEW_TEXT_MAX = 100_000  # characters
NEW_TEXT_S = 0.05
# Approximate bound on the readings that a process remembers.
READINGS_MAX_BYTES = 64_000_000
READING_BYTES = 600  # without its text, names and statements
WORD_BYTES = 60  # of a name with its characters, besides its place in a set
TRIPLE_BYTES = 300
# How much of one message is read, in characters: all streams wait meanwhile. In text full of cues, a sentence takes 8
# microseconds a character; text with combining marks takes 4.
CUE_TEXT_MAX = 65_536
CUE_SENTENCES_MAX = 4_000
# The same for a message that was read before; this much is also searched for secrets.
AT_ONCE_TEXT_MAX = 8_192
AT_ONCE_SENTENCES_MAX = 1_000
MARKED_TEXT_MAX = 10_000
# Characters of JSON in which a message may come: 3 ms.
ENVELOPE_MAX = 500_000

_PIECES = re.compile(r"[^\W_]+")

MessageKey = tuple[str, int, int]  # identifies a message within this process

# Statements of one message that are read, whoever they are by: two milliseconds for ten of them.
MATCHES_MAX = 100
TOO_MANY_STATEMENTS = bounds.define(
    "statements", f"messages with more statements than the {STATEMENTS_MAX} that are learned of one"
)


@dataclass(frozen=True, slots=True)
class FullReading:
    """Everything that one message says.

    - ``names``: can be recalled or asked about: all but common words that nothing is known of.
    - ``parts``: names that occur only within a compound, which is a word of its own.
    - ``emphasised``: the words written as a name or within one.
    - ``spoken``: unknown names that somebody may be asked about, each as it is written.
    """

    words: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    parts: frozenset[str] = frozenset()
    emphasised: frozenset[str] = frozenset()
    spoken: dict[str, str] = field(default_factory=dict)
    triples: tuple[CueMatch, ...] = ()


UNREAD = FullReading()


@dataclass(slots=True)
class Reading:
    """The part of one message that a prompt waits for: the words that the vocabulary has, and statements about concepts
    with facts. A worker reads the rest (``read_all``)."""

    digest: bytes
    key: bytes  # the digest of what is said in it: what an agent rebuilds around that does not count
    role: str
    text: str  # without its envelope and Festinger's own blocks, as far as it is read
    edition: int  # the cache's, when ``names`` were separated from ordinary words
    risen: int = 0  # how many words had become salient by then
    loaded_at: float | None = None  # the cache's, at that time
    names: frozenset[str] = frozenset()  # these three as in a FullReading
    parts: frozenset[str] = frozenset()
    emphasised: frozenset[str] = frozenset()
    is_cut: bool = False  # the message continues where the text ends, because that would take too long to read
    has_tools: bool = False  # it shows that the agent has tools, though the request may not say so
    has_secrets: bool | None = None  # None: not looked for yet
    spoken: dict[str, str] | None = None  # as in a FullReading; None: not looked for yet
    triples: tuple[CueMatch, ...] | None = None  # the first statements; None: not looked for yet
    requests: tuple[ForgetRequest, ...] = ()  # to forget, or not to remember; their sentences are not in the text
    size: int = READING_BYTES  # bytes, roughly
    reader: "Reader | None" = None  # that remembers it

    def measure(self) -> None:
        """Update ``size``. Call it after reading: what a text says can take twenty times as much as the text."""
        before = self.size
        sets = (self.names, self.parts, self.emphasised)
        # Each word is an object of its own, once in all sets.
        words = WORD_BYTES * (max(map(len, sets)) + 2 * len(self.spoken or ()))
        self.size = (
            READING_BYTES + words + sum(map(getsizeof, (self.text, *sets))) + TRIPLE_BYTES * len(self.triples or ())
        )
        if self.reader is not None:
            self.reader.bytes += self.size - before


def select_names(found: WordSets, nameless: set[str]) -> tuple[frozenset[str], frozenset[str]]:
    """Return all that can be recalled or asked about, and those of them that occur only within a compound."""
    names = frozenset((found.tokens - nameless) | (found.emphasised - nameless))
    return names, names - found.tokens


@dataclass(slots=True)
class Reader:
    """Reads each message once."""

    # Readings are remembered, because clients resend the whole history each turn.
    cache: Cache
    bytes: int = 0  # of the readings, roughly
    _readings: dict[MessageKey, Reading] = field(default_factory=dict)

    def read(self, message: Message) -> Reading:
        key = _key_of(message)
        return self._recall(key) or self._read(key, message)

    def read_within(
        self, messages: Sequence[Message], characters: int | None = None, seconds: float | None = None
    ) -> Iterator[Reading | None]:
        """Yield a reading for each message, the last one first, None for new ones beyond the allowance of
        ``NEW_TEXT_MAX`` characters and ``NEW_TEXT_S`` seconds: they are read when they are resent."""
        left = NEW_TEXT_MAX if characters is None else characters
        until = time.monotonic() + (NEW_TEXT_S if seconds is None else seconds)
        # The newest text matters most: it is read however late it is.
        for index, message in enumerate(reversed(messages)):
            key = _key_of(message)
            reading = self._recall(key)
            if reading is None:
                length = readable_length(message)
                is_allowed = length <= left and time.monotonic() < until
                left -= length if is_allowed else 0
                if is_allowed or index == 0:
                    reading = self._read(key, message)
            yield reading

    def _recall(self, key: MessageKey) -> Reading | None:
        reading = self._readings.get(key)
        if reading is None:
            return None
        if reading.edition != self.cache.edition or self._has_risen(reading):
            self._look_up(reading)
            reading.measure()
        reading.risen, reading.loaded_at = self.cache.risen.count, self.cache.loaded_at
        return reading

    def _has_risen(self, reading: Reading) -> bool:
        """True if words that it may name have become salient, or were loaded, since it was read."""
        is_loaded_anew = reading.loaded_at != self.cache.loaded_at
        if reading.risen == self.cache.risen.count and not is_loaded_anew:
            return False
        risen = self.cache.risen.since(reading.risen)
        if risen is None or is_loaded_anew or not reading.text.isascii():  # in other scripts it may name any
            return True
        text = reading.text.lower()
        return any(all(piece in text for piece in _PIECES.findall(word)) for word in risen)

    def _look_up(self, reading: Reading) -> None:
        nameless = self.cache.nameless
        found = find_known_words(reading.text, self.cache.soas_by_token, nameless)
        reading.emphasised = frozenset(found.emphasised)
        reading.names, reading.parts = select_names(found, nameless)
        reading.edition = self.cache.edition

    def _read(self, key: MessageKey, message: Message) -> Reading:
        said = _unwrap_readable(message)
        digest = digest_message(message)
        is_whole = len(message.text) <= NEW_TEXT_MAX
        requests = find_wishes(self.cache, said)
        said_digest = digest if said.text == message.text or not is_whole else digest_message(said)
        said = said._replace(text=cut_requests(said.text, requests))
        is_cut = len(said.text) > MARKED_TEXT_MAX and not is_plain(said.text)
        if is_cut:
            said = Message(said.role, said.text[:MARKED_TEXT_MAX])
        state = self.cache.edition, self.cache.risen.count, self.cache.loaded_at
        reading = Reading(digest, said_digest, said.role, said.text, *state, is_cut=is_cut, requests=requests)
        reading.has_tools = shows_tools(message.text, message.role)
        self._look_up(reading)
        concepts = [name for name in reading.names if self.cache.is_concept(name)]
        if concepts:
            _read_statements(self.cache, reading, said.text[:CUE_TEXT_MAX], CUE_SENTENCES_MAX)
        return self._remember(key, reading)

    def _remember(self, key: MessageKey, reading: Reading) -> Reading:
        self._readings[key] = reading
        reading.measure()
        reading.reader = self
        self.bytes += reading.size
        while self.bytes > READINGS_MAX_BYTES and len(self._readings) > 1:  # the newest is in use
            oldest = self._readings.pop(next(iter(self._readings)))
            oldest.reader = None
            self.bytes -= oldest.size
        return reading


def _key_of(message: Message) -> MessageKey:
    # Python's hash of a text is keyed with a secret of the process, so that nobody can make two messages collide, and
    # takes a fifth of the time of a digest.
    return message.role, len(message.text), hash(message.text)


def read_all(cache: Cache, role: str, text: str) -> FullReading:
    """Read everything in a message. Some 0.1 ms of work for each 1,000 characters. Secrets, and the marks in their
    place, are not words and state nothing."""
    text = blank_secrets(text).replace(MARK, "*" * len(MARK))
    found = find_words(text)
    triples = _read_all_statements(cache, role, text)
    spoken = read_spoken(cache, text) if role == "user" else {}
    for whole, rest in found.openings.items():
        first, *others = whole.removesuffix(rest)[:-1], *rest.split("_")
        if not cache.is_concept(whole) and opens_sentence(first, others, cache.is_common):
            found.tokens.discard(whole)  # `Deploy Kvasir`
            found.emphasised.discard(whole)
            found.tokens.add(rest)
    names, parts = select_names(found, cache.nameless)
    return FullReading(frozenset(found.tokens), names, parts, frozenset(found.emphasised), spoken, triples)


def _read_all_statements(cache: Cache, role: str, text: str) -> tuple[CueMatch, ...]:
    triples: list[CueMatch] = []
    own: set[tuple[str, str, str]] = set()
    for triple in iter_cues(text, role, vocabulary=cache):
        triples.append(triple)
        if triple.channel not in OTHERS:
            own.add((triple.subject, triple.parent, triple.dimension))
        # Quoted or repeated statements may all be left out later; a speaker's own are not.
        if len(own) >= STATEMENTS_MAX or len(triples) >= MATCHES_MAX:
            TOO_MANY_STATEMENTS.count_hit()
            break
    return tuple(triples)


def find_statements(cache: Cache, reading: Reading, names: Set[str]) -> Sequence[CueMatch]:
    """Return the first statements of the message, if it names one of these; fewer if they were not read before."""
    if reading.triples is None and names & reading.names:
        _read_statements(cache, reading, reading.text[:AT_ONCE_TEXT_MAX], AT_ONCE_SENTENCES_MAX)
        reading.measure()
    return reading.triples or ()


def find_stated(cache: Cache, readings: Sequence[Reading], names: Set[str]) -> set[str]:
    """Return the names that the messages state something about, as subject or parent."""
    triples = (triple for reading in readings for triple in find_statements(cache, reading, names))
    return {word for triple in triples for word in (triple.subject, triple.parent)} & names


def find_hidden(readings: Sequence[Reading], names: Set[str]) -> set[str]:
    """Return the names that the messages contain only within secrets."""
    hidden: set[str] = set()
    shown: set[str] = set()
    for reading in readings:
        found = names & reading.names
        if found and reading.has_secrets is not False:
            text = reading.text[:AT_ONCE_TEXT_MAX]  # names are looked for no further
            blank = blank_secrets(text)
            reading.has_secrets = blank != text
            in_sight = find_known_words(blank, dict.fromkeys(found)).tokens if reading.has_secrets else found
            hidden |= found - in_sight
            found &= in_sight
        shown |= found
    return hidden - shown


def _read_statements(cache: Cache, reading: Reading, text: str, sentences_max: int) -> None:
    """Read the statements. ``sentences_max``: characters of the sentences that are read."""
    reading.triples = tuple(iter_cues(text, reading.role, vocabulary=cache, characters_max=sentences_max))


def digest_message(message: Message) -> bytes:
    """Return 16 bytes that identify a message by its role and its text."""
    text = message.text.encode("utf-8", "surrogatepass")
    return blake2b(text, digest_size=16, person=message.role.encode("utf-8", "surrogatepass")[:16]).digest()


def readable_length(message: Message) -> int:
    """Return how many characters of the message are read at all: no more than one request may read."""
    return min(len(message.text), NEW_TEXT_MAX)


def unwrap_readable(cache: Cache, message: Message) -> Message:
    """Return what is said in the part of the message that is read, without the sentences that ask to forget."""
    said = _unwrap_readable(message)
    return said._replace(text=cut_requests(said.text, find_wishes(cache, said)))


def find_wishes(cache: Cache, said: Message) -> tuple[ForgetRequest, ...]:
    """Return what a user's message asks to forget, or not to remember."""
    return find_requests(said.text, partial(is_word, cache)) if said.role == "user" else ()


def is_word(cache: Cache, word: str) -> bool:
    """True if a lower-case word is no name."""
    return cache.is_common(word) or known_words.is_known(word) or known_words.is_rare_english(word)


def _unwrap_readable(message: Message) -> Message:
    # An envelope is opened whole: half of it is not JSON.
    said = unwrap_message(Message(message.role, message.text[: max(readable_length(message), ENVELOPE_MAX)]))
    return Message(said.role, said.text[:NEW_TEXT_MAX])


def unwrap_message(message: Message) -> Message:
    """Return the message without its envelope, Festinger's own blocks and what clients put beside a person's words."""
    text, role = unwrap(remove_recollections(message.text), message.role)
    return Message(role, remove_client_parts(text) if role == "user" else text)


def remove_recollections(text: str) -> str:
    # Recalled text must not count as said again.
    kept, at = [], 0
    while (start := text.find(OPENING, at)) >= 0 and (end := text.find(CLOSING, start)) >= 0:
        kept.append(text[at:start])
        at = end + len(CLOSING)
    return "\n".join([*kept, text[at:]]) if kept else text
