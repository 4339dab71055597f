"""The bounded memory of running conversations: which blocks stand where in their prompts.

Clients send the whole history again each turn. A model need not evaluate again what begins as it did before, so a block
that was put into a prompt is put there again, byte for byte, and what is new goes to the prompt's end.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from memory.cache.state import Cache
from memory.recall.mentions import Beginning, Mentions, Read
from proxy.domain.prefixes import Thread

HOUR = 3600.0
TAILS_MAX = 200  # blocks of one conversation, over all its forks; those go that stood in a prompt longest ago
SIZE_MAX = 200_000_000  # bytes of all conversations, roughly; the oldest go
KEY_BYTES = 200  # a digest and its places in dicts
CHARACTER_BYTES = 2  # of a block
NAMES_MAX = 300_000  # names and messages that are remembered of running conversations: some 30 MB


@dataclass(frozen=True, slots=True)
class Injection:
    """One change of the memory, for the other processes and for the time after a restart. ``conversation`` is its
    key; ``keys`` are all keys of a new one. ``place`` is the link after which a tail stands, empty for the top.
    ``block`` is empty where nothing stands there (any more). ``system``: the Modelfile's SYSTEM that had to come before
    the block. ``at`` is in seconds since the epoch."""

    conversation: bytes
    keys: tuple[bytes, ...]
    place: bytes
    block: str
    system: str | None
    at: float


@dataclass(slots=True)
class Conversation:
    """``top`` is the block before the first text of all its prompts; ``tails``, by link, those further down, with when
    they were put there. ``at``: when it began, or was last written anew."""

    key: bytes
    keys: tuple[bytes, ...]
    top: str
    system: str | None
    at: float
    tails: dict[bytes, tuple[str, float]] = field(default_factory=dict)
    size: int = 0  # bytes, roughly

    def __post_init__(self) -> None:
        self.size = KEY_BYTES * len(self.keys) + CHARACTER_BYTES * (len(self.top) + len(self.system or ""))

    def put(self, place: bytes, block: str, at: float) -> None:
        """Unless something later is known of this place; an empty block takes away what stood there."""
        if place in self.tails and self.tails[place][1] > at:
            return
        self._take_out(place)
        self.tails[place] = (block, at)
        self.size += KEY_BYTES + CHARACTER_BYTES * len(block)
        if len(self.tails) > TAILS_MAX:
            self._take_out(next(iter(self.tails)))

    def _take_out(self, place: bytes) -> None:
        if (tail := self.tails.pop(place, None)) is not None:
            self.size -= KEY_BYTES + CHARACTER_BYTES * len(tail[0])

    def standing(self, links: Iterable[bytes]) -> dict[int, str]:
        """The blocks further down that have their place in this request, by the index of the part at whose end."""
        found: dict[int, str] = {}
        for index, link in enumerate(links) if self.tails else ():
            if (tail := self.tails.pop(link, None)) is not None:
                self.tails[link] = tail  # the last to go
                if tail[0]:
                    found[index] = tail[0]
        return found


class Conversations:
    """``tell`` is told of each change."""

    def __init__(self, tell: Callable[[Injection], None] = lambda injection: None) -> None:
        self.conversations_max = 20_000
        self.tell = tell
        self._size = 0
        self._by_key: dict[bytes, Conversation] = {}
        self._recent: dict[bytes, Conversation] = {}  # by their own keys, the one used last at the end
        self._beginnings: dict[bytes, tuple[bytes, int, Beginning]] = {}
        self._names = 0

    def __len__(self) -> int:
        return len(self._recent)

    # --- what stands ---

    def find(self, thread: Thread, now: float) -> Conversation | None:
        """The conversation with which the request shares the longest beginning; None for a new one."""
        own = self._recent.get(thread.key)
        if own is not None:
            self._use(own, now)
            return own
        keys = (thread.key, *thread.shared)
        near = next((self._by_key[key] for key in keys if key in self._by_key), None)
        return None if near is None else self.begin(thread, near.top, near.system, now)

    def begin(self, thread: Thread, top: str, system: str | None, now: float) -> Conversation:
        """A new conversation, or one that is rebuilt: only ``top`` stands in it."""
        conversation = Conversation(thread.key, tuple(thread.all_keys), top, system, now)
        self._add(conversation)
        self._tell_top(conversation)
        return conversation

    def put(self, conversation: Conversation, place: bytes, block: str, now: float) -> None:
        """What stands after this link; an empty block takes it out."""
        self._put(conversation, place, block, now)
        self.tell(Injection(conversation.key, (), place, block, None, now))

    def remember(self, injection: Injection) -> None:
        """What another process wrote, or this one before it was started."""
        known = self._recent.get(injection.conversation)
        if known is not None and known.at > injection.at:
            return
        if injection.place:
            if known is not None:
                self._put(known, injection.place, injection.block, injection.at)
        elif known is None or (known.top, known.system) != (injection.block, injection.system):
            made = Conversation(injection.conversation, injection.keys, injection.block, injection.system, injection.at)
            self._add(made)

    def _put(self, conversation: Conversation, place: bytes, block: str, at: float) -> None:
        self._size -= conversation.size
        conversation.put(place, block, at)
        self._size += conversation.size
        self._make_room()

    def _add(self, conversation: Conversation) -> None:
        if (old := self._recent.pop(conversation.key, None)) is not None:
            self._forget(old)
        self._recent[conversation.key] = conversation
        self._size += conversation.size
        for key in conversation.keys:
            self._by_key[key] = conversation
        self._make_room()

    def _make_room(self) -> None:
        """The conversations that were used longest ago go; the newest stays."""
        while len(self._recent) > self.conversations_max or (self._size > SIZE_MAX and len(self._recent) > 1):
            self._forget(self._recent.pop(next(iter(self._recent))))

    def _forget(self, conversation: Conversation) -> None:
        self._size -= conversation.size
        for key in conversation.keys:
            if self._by_key.get(key) is conversation:
                del self._by_key[key]

    def _use(self, conversation: Conversation, now: float) -> None:
        self._recent.pop(conversation.key, None)
        self._recent[conversation.key] = conversation
        if now - conversation.at > HOUR:  # what is old is not loaded at the next start
            conversation.at = now
            self._tell_again(conversation)

    def _tell_again(self, conversation: Conversation) -> None:
        self._tell_top(conversation)
        for place, (block, _) in conversation.tails.items():
            self.tell(Injection(conversation.key, (), place, block, None, conversation.at))

    def _tell_top(self, conversation: Conversation) -> None:
        top, system = conversation.top, conversation.system
        self.tell(Injection(conversation.key, conversation.keys, b"", top, system, conversation.at))

    # --- what was named ---

    def mentions(self, cache: Cache, thread: Thread, readings: Sequence[Read]) -> Mentions:
        """What the messages name. Of a conversation that goes on only what is new is looked at; its last message may be
        rebuilt next time, so it is never taken for granted."""
        last = len(readings) - 1
        beginning = self._beginning(thread, last)
        beginning.take(cache, readings[:last])
        if last:
            self._keep(thread.key, thread.links[last - 1], last - 1, beginning)
        return beginning.followed_by(cache, readings[:last], readings[last:])

    def _beginning(self, thread: Thread, last: int) -> Beginning:
        link, index, beginning = self._beginnings.pop(thread.key, (b"", 0, Beginning()))
        self._names -= len(beginning)
        return beginning if index < last and thread.links[index] == link else Beginning()

    def _keep(self, key: bytes, link: bytes, index: int, beginning: Beginning) -> None:
        self._beginnings[key] = (link, index, beginning)
        self._names += len(beginning)
        while self._names > NAMES_MAX:
            _, _, oldest = self._beginnings.pop(next(iter(self._beginnings)))
            self._names -= len(oldest)
