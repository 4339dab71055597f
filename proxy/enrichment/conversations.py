"""The bounded memory of running conversations: which blocks stand where in their prompts.

Clients resend the whole history each turn. A model need not evaluate again what begins as it did before, so a block
that was once put into a prompt is put there again, byte for byte, and what is new goes to the end.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from memory.cache.state import Cache
from memory.domain.recall.notes import ShownNote
from memory.domain.recall.rendering import NOTHING, Block
from memory.recall.mentions import Beginning, MaybeReading, Mentions
from proxy.domain.prefixes import Spot, Thread

HOUR = 3600.0
SAME_S = 0.001  # two times are one: what comes back from Postgres is rounded
BLOCKS_MAX = 200  # blocks of one conversation, over all its forks; those go that stood in a prompt longest ago
SIZE_MAX = 200_000_000  # bytes of all conversations, roughly; the oldest go
KEY_BYTES = 200  # a digest and its places in dicts
CHARACTER_BYTES = 2  # of a block's text: half of them may hold a character outside of Latin-1
NOTE_BYTES = 200  # of a note, or a value of a project, besides its text, which it shares with nothing
FACT_BYTES = 100  # of a block's facts: a tuple each; the words are the cache's own
NAMES_MAX = 300_000  # names and messages that are remembered of running conversations: some 30 MB


@dataclass(frozen=True, slots=True)
class Injection:
    """One change of what stands in a conversation. ``at`` is in seconds since the epoch."""

    conversation: bytes  # its key
    keys: tuple[bytes, ...]  # all keys of a new one
    place: bytes  # the digest of all that comes before the block, empty for the top
    block: Block  # empty where nothing stands there (any more)
    system: str | None  # the Modelfile's SYSTEM that had to come before the block
    at: float


@dataclass(slots=True)
class Conversation:
    """What was injected into one conversation, over all its forks. Times are seconds since the epoch."""

    key: bytes
    keys: tuple[bytes, ...]  # all under which it is found
    top: Block  # before the first text of all its prompts
    system: str | None  # the Modelfile's SYSTEM that had to come before it
    at: float  # when it began, or was last written to the log as a whole
    # By place, and when they were put there. Without a text: notes that belong to a message of a user, wherever they
    # stand, under the key of that message.
    blocks: dict[bytes, tuple[Block, float]] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)  # what it was asked about, also in blocks that are gone
    size: int = 0  # bytes, roughly
    # The places in its last prompt that a block may be put to only once: what follows them has been evaluated.
    passed: frozenset[bytes] = frozenset()

    def __post_init__(self) -> None:
        self.asked.update(self.top.questions)
        self.size = KEY_BYTES * len(self.keys) + _size_of(self.top) + CHARACTER_BYTES * len(self.system or "")

    def put(self, place: bytes, block: Block, at: float) -> None:
        """Puts the block there; an empty block removes what stood there."""
        # What another process did may be heard of late, when something newer is known already.
        if place in self.blocks and self.blocks[place][1] > at:
            return
        self._remove(place)
        self.blocks[place] = (block, at)
        self.asked.update(block.questions)
        self.size += KEY_BYTES + _size_of(block)
        if len(self.blocks) > BLOCKS_MAX:
            self._remove(next(iter(self.blocks)))

    def _remove(self, place: bytes) -> None:
        if (found := self.blocks.pop(place, None)) is not None:
            self.size -= KEY_BYTES + _size_of(found[0])

    def list_notes(self) -> Iterator[ShownNote]:
        """All that it shows, or is going to."""
        yield from self.top.notes
        for block, _ in self.blocks.values():
            yield from block.notes

    def notes_at(self, place: bytes) -> tuple[ShownNote, ...]:
        return self.blocks[place][0].notes if place in self.blocks else ()

    def use_blocks(self, thread: Thread) -> dict[Spot, Block]:
        """The blocks further down that have their place in this request, in order. They become the last to be
        dropped."""
        found: dict[Spot, Block] = {}
        for spot, place in sorted(
            (spot, place) for place in self.blocks if (spot := thread.spot_of(place)) is not None
        ):
            kept = self.blocks[place] = self.blocks.pop(place)  # dicts keep the order of insertion: now it is the last
            if kept[0]:
                found[spot] = kept[0]
        return found


def _size_of(block: Block) -> int:
    texts = [line.text for lines in (block.notes, block.states) for line in lines]
    notes = sum(NOTE_BYTES + CHARACTER_BYTES * len(text) for text in texts)
    return CHARACTER_BYTES * len(block.text) + FACT_BYTES * len(block.facts) + notes


def _is_rebuilt(known: Conversation, beginning: Injection) -> bool:
    """Whether another process has begun the conversation anew, also where it did so because it knew nothing of this:
    then its prompt has none of the blocks that stood here."""
    is_later = beginning.at > known.at + SAME_S
    return is_later or (known.top, known.system) != (beginning.block, beginning.system)


class Conversations:
    """``record`` takes every change, for the other processes and for the time after a restart."""

    def __init__(self, record: Callable[[Injection], None] = lambda injection: None) -> None:
        self.conversations_max = 20_000
        self._record = record
        self._size = 0
        self._by_key: dict[bytes, Conversation] = {}
        self._recent: dict[bytes, Conversation] = {}  # by their own keys, the one used last at the end
        self._beginnings: dict[bytes, tuple[bytes, int, Beginning]] = {}
        self._names = 0

    def __len__(self) -> int:
        return len(self._recent)

    # --- blocks ---

    def resume(self, thread: Thread, now: float) -> Conversation | None:
        """The conversation that this request goes on with, now the one used last. Where it is known only by a shared
        prefix, a fork with the same top is begun. None where nothing is shared: a new one is to be begun."""
        own = self._recent.get(thread.key)
        if own is not None:
            self._use(own, now)
            return own
        keys = (thread.key, *thread.shared)
        key = next((key for key in keys if key in self._by_key), None)
        if key is None:
            return None
        near = self._by_key[key]
        fork = self.begin(thread, near.top, near.system, now)
        if key not in thread.of_system:
            # Both openings begin alike, so what stands before the one has to stand before the other.
            fork.passed = near.passed
            fork.asked |= near.asked
            place = thread.place_of(Spot(thread.opening, is_end=False))
            block, _ = near.blocks.get(place, (NOTHING, now))
            if block:
                self.put(fork, place, block, now)
            for message, (kept, _) in near.blocks.items():
                if kept.notes and not kept.text:
                    self.put(fork, message, kept, now)
        return fork

    def begin(self, thread: Thread, top: Block, system: str | None, now: float) -> Conversation:
        """Begins a conversation, or rebuilds it: only ``top`` stands in it."""
        conversation = Conversation(thread.key, tuple(thread.all_keys), top, system, now)
        self._add(conversation)
        self._record_top(conversation)
        return conversation

    def put(self, conversation: Conversation, place: bytes, block: Block, now: float) -> None:
        """Puts the block there; an empty one removes what stood there."""
        self._put(conversation, place, block, now)
        self._record(Injection(conversation.key, (), place, block, None, now))

    def all(self) -> list[Conversation]:
        return list(self._recent.values())

    def keep_notes(self, key: bytes, place: bytes, notes: tuple[ShownNote, ...], now: float) -> None:
        """Keeps what belongs to a message of a conversation, for any process; nothing where there is no such one."""
        known = self._recent.get(key)
        if known is not None and notes != known.notes_at(place):
            self.put(known, place, Block(notes=notes), now)

    def remember(self, injection: Injection) -> None:
        """Takes over a change that was recorded, unless something later is known."""
        known = self._recent.get(injection.conversation)
        # Two processes may have begun the conversation at once; and this one hears of its own changes, too.
        if known is not None and known.at > injection.at:
            return
        if injection.place:
            if known is not None:
                self._put(known, injection.place, injection.block, injection.at)
        elif known is None or _is_rebuilt(known, injection):
            top, system, at = injection.block, injection.system, injection.at
            rebuilt = Conversation(injection.conversation, injection.keys, top, system, at)
            for place, (block, put_at) in known.blocks.items() if known is not None else ():
                if put_at > at:
                    rebuilt.put(place, block, put_at)
            self._add(rebuilt)

    # --- bounds ---

    def _put(self, conversation: Conversation, place: bytes, block: Block, at: float) -> None:
        self._size -= conversation.size
        conversation.put(place, block, at)
        self._size += conversation.size
        self._make_room()

    def _add(self, conversation: Conversation) -> None:
        if (old := self._recent.pop(conversation.key, None)) is not None:
            self._forget(old)
            conversation.asked |= old.asked
        self._recent[conversation.key] = conversation
        self._size += conversation.size
        for key in conversation.keys:
            self._by_key[key] = conversation
        self._make_room()

    def _make_room(self) -> None:
        """The conversations that were used longest ago go."""
        # The newest stays however large it is: its request is under way.
        while len(self._recent) > self.conversations_max or (self._size > SIZE_MAX and len(self._recent) > 1):
            self._forget(self._recent.pop(next(iter(self._recent))))

    def _forget(self, conversation: Conversation) -> None:
        self._size -= conversation.size
        for key in conversation.keys:
            # A later conversation may have taken over a key that both begin with.
            if self._by_key.get(key) is conversation:
                del self._by_key[key]

    def _use(self, conversation: Conversation, now: float) -> None:
        self._recent.pop(conversation.key, None)
        self._recent[conversation.key] = conversation
        # A process that starts loads only what is of the last day: what is in use must not grow that old.
        if now - conversation.at > HOUR:
            conversation.at = now
            self._record_top(conversation)
            for place, (block, _) in conversation.blocks.items():
                self._record(Injection(conversation.key, (), place, block, None, now))

    def _record_top(self, conversation: Conversation) -> None:
        top, system = conversation.top, conversation.system
        self._record(Injection(conversation.key, conversation.keys, b"", top, system, conversation.at))

    # --- mentions ---

    def mentions(
        self, cache: Cache, thread: Thread, readings: Sequence[MaybeReading], quoted: Collection[int] = ()
    ) -> Mentions:
        """What the messages name. Of a conversation that goes on only what is new is looked at. ``quoted``: the places
        of those that their role has not said."""
        # Clients rebuild the last message from turn to turn, so it is never kept with the beginning.
        last = len(readings) - 1
        link, index, beginning = self._beginnings.pop(thread.key, (b"", 0, Beginning()))
        self._names -= len(beginning)
        # The client may have gone back, or on from an earlier message.
        if index >= last or thread.links[index] != link:
            beginning = Beginning()
        beginning.take(cache, readings[:last])
        if last:
            self._keep(thread.key, thread.links[last - 1], last - 1, beginning)
        return beginning.extend_with(cache, readings[:last], readings[last:], quoted)

    def _keep(self, key: bytes, link: bytes, index: int, beginning: Beginning) -> None:
        self._beginnings[key] = (link, index, beginning)
        self._names += len(beginning)
        while self._names > NAMES_MAX:
            _, _, oldest = self._beginnings.pop(next(iter(self._beginnings)))
            self._names -= len(oldest)
