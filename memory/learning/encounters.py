"""Notices which messages are new, counts the known names in them, and hands them over to be learned from.

A message counts once. It is identified by the digests of its conversation's opening and of its own role and text."""

import time
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import chain
from typing import Final, NamedTuple

from memory import request_ids
from memory.attribution.client_names import GROUP
from memory.cache.state import Cache
from memory.graph.saliency import DAY
from memory.learning.messages import AGAIN_S, NewMessage
from memory.learning.reader import Reading, digest_message, unwrap_message, unwrap_readable
from memory.memories.scope import Scope
from memory.timing import FirstSeenClock
from memory.types import Message
from memory.voice import Voice, weaker_of

TOLD_MIN: Final = 300  # characters that identify a conversation
IN_NAMED_CHAT, BEHIND_SAME_WORDS = b"c", b"p"
ANSWER_MAX: Final = 400  # characters, with its envelope, of an answer that the model's question explains
ASKING_MAX: Final = 8_000  # characters of a model's message that is searched for its question
SEEN_MAX: Final = 200_000  # messages, at about 170 bytes
NOTHING: Final = Message("", "")


class MetMessage(NamedTuple):
    """A message to be learned from. ``names``: the known words that it counts, once a conversation; ``is_first``: its
    conversation has not had it; ``seen_at``: when it was last noted."""

    heard: NewMessage
    names: frozenset[str]
    is_first: bool
    seen_at: float | None


@dataclass(slots=True)
class Encounter:
    """The new messages of a prompt.

    - ``stated``: the readings of the new messages that their own role says now.
    - ``again``: the keys of known messages that end their request, or were last seen more than a day ago.
    - ``resent``: those of them that are only sent again, after a day.
    - ``unkept``: the keys of messages of which nothing is kept.
    """

    now: float
    messages: list[MetMessage] = field(default_factory=list)
    stated: list[Reading] = field(default_factory=list)
    again: list[bytes] = field(default_factory=list)
    resent: list[bytes] = field(default_factory=list)
    unkept: Collection[bytes] = ()

    def count_names(self) -> Counter[str]:
        """Return in how many of the new messages each known word is named."""
        return Counter(chain.from_iterable(message.names for message in self.messages))


@dataclass(slots=True)
class Encounters:
    """Recognises new messages; ``add`` receives those to be learned from, ``note_resent`` the keys of messages that are
    resent after a day."""

    cache: Cache
    add: Callable[[NewMessage], None] = lambda message: None
    note_resent: Callable[[bytes, float], None] = lambda key, now: None
    _seen: dict[bytes, float] = field(default_factory=dict)  # by key, with when it was last noted
    _kept: dict[int, None] = field(default_factory=dict)  # messages handed over for somebody
    _unkept: dict[bytes, None] = field(default_factory=dict)  # by key
    _asked: dict[Hashable, float] = field(default_factory=dict)  # by key, when something was asked to be forgotten
    _forgotten: dict[bytes, float] = field(default_factory=dict)  # conversations, and when
    _clock: FirstSeenClock = field(default_factory=FirstSeenClock)

    def remember(self, seen: Iterable[tuple[bytes, float]]) -> None:
        """Take over which messages are counted already (keys), and when they were last seen."""
        self._seen.update(seen)

    def find_new(
        self,
        opening: bytes,
        messages: Sequence[Message],
        readings: Sequence[Reading | None],
        digests: Sequence[bytes],
        now: float,
        agent: str = "",
        *,
        answered: int = 0,
        scope: Scope | None = None,
        chat: str = "",
        unkept: Collection[int] = (),
    ) -> Encounter:
        """Find the messages that are new in the conversation with this opening; nothing is noted of them.

        ``answered``: how many messages came before the model's last answer; if those are new, the conversation was
        under way before Festinger saw it. ``scope``: for whom messages are kept; those said now even if another has
        said them before. ``chat``: the client's name of the conversation. ``unkept``: the indexes of messages of which
        nothing is kept."""
        found, met, kept = Encounter(now, unkept=list_unkept(opening, digests, unkept)), set[bytes](), set[int]()
        is_live, before, place = False, NOTHING, _Place(chat)
        forgotten_at = self._forgotten.get(opening, -1.0)
        for index, (message, reading, digest) in enumerate(zip(messages, readings, digests, strict=True)):
            if index:
                place.add(messages[index - 1], digests[index - 1])
            if not message.text or index in unkept:
                continue
            key, is_dated = opening + digest, index >= answered
            ends_request = index == len(messages) - 1 and message.role == "user"
            whose, voice = _find_speaker(scope, message)
            seen_at = now if key in met else self._seen.get(key)
            if seen_at is not None and seen_at <= forgotten_at:
                seen_at = None
            if (key in self._unkept or key in found.unkept) and not ends_request:
                continue  # it asked not to be kept, and is resent
            if seen_at is not None and ends_request:
                found.again.append(key)
                seen_at = None if now - seen_at > AGAIN_S else seen_at
            of_scope = hash((whose, key))
            is_unkept = whose is not None and of_scope not in self._kept and of_scope not in kept
            if seen_at is None or (is_dated and is_unkept):
                is_whole = reading is not None and not reading.is_cut
                said = reading if reading is not None and is_whole else unwrap_readable(self.cache, message)
                heard = NewMessage(
                    key,
                    agent,
                    whose,
                    said.role,
                    said.text,
                    now,
                    before=_find_asking(before, message),
                    voice=voice,
                    is_dated=is_dated,
                    is_live=is_live or is_dated,
                    place=place.digest() if is_dated and said.role == "user" else b"",
                    request=request_ids.current(),
                    ends_request=ends_request,
                )
                names = reading.names - reading.parts if seen_at is None and reading is not None else frozenset()
                found.messages.append(MetMessage(heard, names, seen_at is None, self._seen.get(key)))
                kept.add(of_scope)
                if seen_at is None:
                    met.add(key)
                    if reading is not None and is_dated and voice is Voice.SHARED:
                        found.stated.append(reading)
            before, is_live = message, is_live or seen_at is not None
            if seen_at is not None and now - seen_at > DAY:
                found.again.append(key)
                found.resent.append(key)
        return found

    def note(self, found: Encounter) -> None:
        """Hand over the new messages, count the words that they name, and note what was met."""
        for key in found.unkept:
            _remember(self._unkept, key, None)
        for key in found.resent:
            self.note_resent(key, found.now)
        for message in found.messages:
            if message.is_first and self._seen.get(message.heard.key) != message.seen_at:
                continue  # another prompt with it was noted since
            heard = message.heard._replace(at=self._clock.date(len(message.heard.text), found.now))
            if heard.text.strip():
                self.add(heard)
            if heard.scope is not None:
                _remember(self._kept, hash((heard.scope, heard.key)), None)
            if message.is_first:
                _remember(self._seen, heard.key, heard.at)
                self._count(message.names, heard.at)
        self._seen |= dict.fromkeys(found.again, found.now)

    def keep_answer(self, opening: bytes, answer: str, now: float, agent: str, scope: Scope | None) -> None:
        """Hand over the model's answer, of which a client that does not go on would never tell. It is not new when the
        client sends it with its next message."""
        said = unwrap_message(Message("assistant", answer))
        key = opening + digest_message(said)
        if key in self._seen or not said.text.strip():
            return
        at = self._clock.date(len(said.text), now)
        self.add(NewMessage(key, agent, scope, said.role, said.text, at, request=request_ids.current()))
        _remember(self._seen, key, at)
        if scope is not None:
            _remember(self._kept, hash((scope, key)), None)

    def _count(self, names: Set[str], now: float) -> None:
        """Count known names in this process's copy, because that may make them salient for the next prompt."""
        rows = self.cache.soas_by_token
        for name in rows.keys() & names:
            row = rows[name]
            row.last_seen = now
            self.cache.set_count(name, row, row.encounter_count + 1)

    def is_asked_anew(self, key: Hashable, now: float) -> bool:
        """True if a request to forget was not met lately: a client may send its prompt again."""
        asked_at = self._asked.get(key)
        _remember(self._asked, key, now)
        return asked_at is None or now - asked_at > AGAIN_S

    def forget(self, conversations: Collection[bytes]) -> None:
        """Forget which messages of these conversations were seen: what of them was set aside may be said anew."""
        now = time.time()
        for conversation in conversations:
            _remember(self._forgotten, conversation, now)


def list_unkept(opening: bytes, digests: Sequence[bytes], unkept: Collection[int]) -> set[bytes]:
    """Return the keys of messages of which nothing is kept: other requests may have them in their history."""
    told = {digest for index, digest in enumerate(digests) if index not in unkept}
    return {opening + digests[index] for index in unkept if digests[index] not in told}


def _find_speaker(scope: Scope | None, message: Message) -> tuple[Scope | None, Voice]:
    """Return for whom the message is kept, and its voice."""
    if scope is not None and message.person:
        scope = scope._replace(speaker=scope.speaker._replace(person=message.person))
    elif scope is not None and scope.speaker.person == GROUP:
        return None, weaker_of(message.voice, Voice.UNSURE)  # nothing of it is for one of them
    return scope, message.voice


class _Place:
    """Identifies a message's position in its conversation by the messages before it or, if the client names the
    ``chat``, by how many messages of users came before."""

    def __init__(self, chat: str) -> None:
        self._chat = chat
        self._roles = Counter[str]()
        self._told = 0
        self._said = blake2b(digest_size=16)

    def add(self, message: Message, digest: bytes) -> None:
        self._roles[message.role] += 1
        if message.role != "system":
            self._told += len(message.text)
            self._said.update(digest)

    def digest(self) -> bytes:
        """Return 17 bytes; empty if no answer, or too little, came before."""
        if not (self._roles["user"] and self._roles["assistant"]):
            return b""
        if self._chat:
            told = f"{self._chat}\0{self._roles['user']}".encode("utf-8", "surrogatepass")
            return IN_NAMED_CHAT + blake2b(told, digest_size=16).digest()
        # A greeting and its answer precede many conversations.
        return BEHIND_SAME_WORDS + self._said.digest() if self._told >= TOLD_MIN else b""


def _remember(seen: dict, key: object, value: object) -> None:  # type: ignore[type-arg]
    seen[key] = value
    if len(seen) > SEEN_MAX:
        del seen[next(iter(seen))]  # the oldest: dicts keep the order of insertion


def _find_asking(before: Message, message: Message) -> str:
    """Return what may have asked for a short message; "" if the message is longer, or nothing did."""
    is_short = len(message.text) <= ANSWER_MAX and len(before.text) <= ASKING_MAX
    return before.text if is_short and before.role == "assistant" and "?" in before.text[-ANSWER_MAX:] else ""
