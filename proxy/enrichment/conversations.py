"""The bounded memory of running conversations: which blocks are where in their prompts.

Clients resend the whole history each turn. A model need not evaluate again what begins as it did before, so a block
that was once put into a prompt is put there again, byte for byte, and new blocks go to the end.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

from memory.cache.state import Cache
from memory.domain.recall.notes import ShownNote
from memory.domain.recall.rendering import NOTHING, Block
from memory.recall.mentions import Beginning, MaybeReading, Mentions
from proxy.domain.prefixes import Spot, Thread

HOUR = 3600.0
SAME_S = 0.001  # times this close are the same: Postgres rounds them
BLOCKS_MAX = 200  # blocks of one conversation, over all its forks; those used longest ago go
SIZE_MAX = 200_000_000  # bytes of all conversations, roughly; the oldest go
KEY_BYTES = 200  # a digest and its places in dicts
CHARACTER_BYTES = 2  # of a block's text: half of the texts may have a character outside of Latin-1
NOTE_BYTES = 200  # of a note, or a value of a project, besides its text, which is not shared
FACT_BYTES = 100  # of a block's facts: a tuple each; the words are the cache's own
NAMES_MAX = 300_000  # names and messages remembered of running conversations: some 30 MB


@dataclass(frozen=True, slots=True)
class Injection:
    """One change of a conversation's blocks. ``at`` is in seconds since the epoch."""

    conversation: bytes  # its key
    keys: tuple[bytes, ...]  # all keys of a new one
    place: bytes  # the digest of everything before the block, empty for the top
    block: Block  # empty if there is no block (any more)
    system: str | None  # the Modelfile's SYSTEM that had to come before the block
    at: float


@dataclass(slots=True)
class Conversation:
    """The blocks that were injected into one conversation, over all its forks. Times are seconds since the epoch."""

    key: bytes
    keys: tuple[bytes, ...]  # all keys under which it is found
    top: Block  # before the first text of all its prompts
    system: str | None  # the Modelfile's SYSTEM that had to come before it
    at: float  # when it began, or was last written to the log as a whole
    # Blocks by place, with the time when they were put there. A block without text holds the notes that belong to a
    # user's message, wherever they are shown, under the key of that message.
    blocks: dict[bytes, tuple[Block, float]] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)  # the questions asked, including those in blocks that are gone
    size: int = 0  # bytes, roughly
    # The places in its last prompt that may get a block only once: what follows them has been evaluated.
    passed: frozenset[bytes] = frozenset()

    def __post_init__(self) -> None:
        self.asked.update(self.top.questions)
        self.size = KEY_BYTES * len(self.keys) + _size_of(self.top) + CHARACTER_BYTES * len(self.system or "")

    def put(self, place: bytes, block: Block, at: float) -> None:
        """Put the block at the place; an empty block removes the one there."""
        # A change of another process may arrive late, when a newer one is already known.
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
        """Yield all notes that it shows, or is going to show."""
        yield from self.top.notes
        for block, _ in self.blocks.values():
            yield from block.notes

    def notes_at(self, place: bytes) -> tuple[ShownNote, ...]:
        return self.blocks[place][0].notes if place in self.blocks else ()

    def use_blocks(self, thread: Thread) -> dict[Spot, Block]:
        """Return the blocks below the top that have their place in this request, in order, and make them the last to be
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
    """True if another process has begun the conversation anew, even because it did not know this one: its prompt then
    has none of the blocks known here."""
    is_later = beginning.at > known.at + SAME_S
    return is_later or (known.top, known.system) != (beginning.block, beginning.system)


class Conversations:
    """All conversations known to this process. ``record`` gets every change, for the other processes and for the time
    after a restart."""

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
        """Return the conversation that this request continues, and mark it as used.

        If it is known only by a shared prefix, a fork with the same top is begun. None if nothing is shared: the caller
        has to begin a new one.
        """
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
            # Both openings begin alike, so a block before the one has to be before the other, too.
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
        """Begin a conversation, or rebuild it: ``top`` is its only block."""
        conversation = Conversation(thread.key, tuple(thread.all_keys), top, system, now)
        self._add(conversation)
        self._record_top(conversation)
        return conversation

    def put(self, conversation: Conversation, place: bytes, block: Block, now: float) -> None:
        """Put the block at the place; an empty one removes the block there."""
        self._put(conversation, place, block, now)
        self._record(Injection(conversation.key, (), place, block, None, now))

    def all(self) -> list[Conversation]:
        return list(self._recent.values())

    def keep_notes(self, key: bytes, place: bytes, notes: tuple[ShownNote, ...], now: float) -> None:
        """Store the notes that belong to a message of a conversation, for any process; do nothing if the conversation
        is unknown."""
        known = self._recent.get(key)
        if known is not None and notes != known.notes_at(place):
            self.put(known, place, Block(notes=notes), now)

    def remember(self, injection: Injection) -> None:
        """Apply a recorded change, unless a later one is known."""
        known = self._recent.get(injection.conversation)
        # Two processes may have begun the conversation at once; and this one gets its own changes, too.
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
        """Drop the conversations that were used longest ago."""
        # The newest stays, however large it is: its request is under way.
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
        # A process that starts loads only the last day: conversations in use must not grow that old.
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
        """Return the tokens that the messages name. In a conversation that continues, only new messages are read.
        ``quoted`` are the indexes of those that their role has not said."""
        # Clients rebuild the last message from turn to turn, so it is never kept as part of the beginning.
        last = len(readings) - 1
        link, index, beginning = self._beginnings.pop(thread.key, (b"", 0, Beginning()))
        self._names -= len(beginning)
        # The client may have gone back, or continued from an earlier message.
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
