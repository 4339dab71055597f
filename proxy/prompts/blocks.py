"""The bounded memory of the blocks in running conversations.

Clients resend the whole history each turn. A model need not evaluate again what begins as it did before, so a block
that was once put at a place is put there again, byte for byte, and new ones go to the end.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from memory.recall.block import NOTHING, Block, ShownNote
from proxy.formats.prefixes import PrefixDigests

RESEND_S = 600.0  # for this long, a prompt that ends at a place counts as resent, not as asked once more
VERSIONS_MAX = 8  # of the block at one place
ANSWERS_MAX = 32  # that are known to have followed one version
SIZE_MAX = 200_000_000  # bytes of all blocks, roughly; those used longest ago go
PLACE_BYTES = 500  # of a place with one version, without its block
KEY_BYTES = 60  # of a digest of an answer
CHARACTER_BYTES = 2  # of a block's text: half of the texts may have a character outside of Latin-1
NOTE_BYTES = 200  # of a note, or a value of a project, besides its text, which is not shared
FACT_BYTES = 100  # of a block's facts: a tuple each; the words are the cache's own


@dataclass(frozen=True, slots=True)
class Injection:
    """One change, for other processes: a version of the block at a place, or an answer that followed it."""

    place: bytes
    block: Block  # empty if there is no block (any more); the version keeps its own if ``answer`` is set
    at: float  # when the version was made, in seconds since the epoch; tells it from the others of its place
    answer: bytes = b""  # the digest of what the model answered


@dataclass(slots=True)
class Version:
    """The block of one conversation, or branch, at a place. Empty: a prompt ended there, and got nothing."""

    block: Block
    at: float
    answers: tuple[bytes, ...] = ()  # mostly one: a set would take more

    @classmethod
    def of(cls, block: Block, now: float) -> "Version":
        return cls(block, round(now, 6))  # as Postgres keeps times

    @property
    def size(self) -> int:
        block = self.block
        texts = [line.text for lines in (block.notes, block.states) for line in lines]
        shown = sum(NOTE_BYTES + CHARACTER_BYTES * len(text) for text in texts)
        facts = FACT_BYTES * len(block.facts)
        return PLACE_BYTES + CHARACTER_BYTES * len(block.text) + shown + facts + KEY_BYTES * len(self.answers)


class Blocks:
    """All blocks known to this process, by place. ``record`` gets every change, for the other processes and for the
    time after a restart."""

    def __init__(self, record: Callable[[Injection], None] = lambda injection: None) -> None:
        self._record = record
        self._places: dict[bytes, list[Version]] = {}  # the newest version last; the place used last at the end
        self._size = 0

    def __len__(self) -> int:
        return len(self._places)

    def find(self, prefixes: PrefixDigests, index: int) -> Version | None:
        """Return what a request has at the end of a part: the version that its answer followed, else the newest."""
        versions = self._use(prefixes.links[index])
        if len(versions) > 1 and index != prefixes.spot:
            answer = prefixes.digest_answer(index)
            return next((each for each in reversed(versions) if answer in each.answers), versions[-1])
        return versions[-1] if versions else None

    def begin(self, place: bytes, version: Version) -> None:
        """Put a new version of the block at the place."""
        self._put(place, version)
        self._record(Injection(place, version.block, version.at))

    def remove(self, place: bytes, version: Version) -> None:
        """Remove a block that is no longer current."""
        self._change(version, NOTHING)
        self._record(Injection(place, NOTHING, version.at))

    def note_answer(self, place: bytes, at: float, answer: bytes) -> None:
        """Note what the model answered to a prompt with the version that was made then."""
        if self._add_answer(place, at, answer):
            self._record(Injection(place, NOTHING, at, answer))

    def notes_at(self, place: bytes) -> tuple[ShownNote, ...]:
        versions = self._use(place)
        return versions[-1].block.notes if versions else ()

    def keep_notes(self, place: bytes, notes: tuple[ShownNote, ...], now: float) -> None:
        """Keep the notes that were found for a message, in place of those before. The place is the message's own."""
        if notes != self.notes_at(place):
            self.begin(place, Version.of(Block(notes=notes), now))

    def remember(self, injection: Injection) -> None:
        """Apply a change of another process, or an old one of this process."""
        known = self._find(injection.place, injection.at)
        if injection.answer:
            self._add_answer(injection.place, injection.at, injection.answer)
        elif known is None:
            self._put(injection.place, Version(injection.block, injection.at))
        elif not (injection.block or injection.block.notes):
            self._change(known, NOTHING)  # it was taken away; what was taken away does not come back

    def list_versions(self) -> list[Version]:
        return [version for versions in self._places.values() for version in versions]

    def _use(self, place: bytes) -> list[Version]:
        versions = self._places.pop(place, None)
        if versions is None:
            return []
        self._places[place] = versions  # dicts keep the order of insertion: now it is the last to be dropped
        return versions

    def _put(self, place: bytes, version: Version) -> None:
        versions = self._use(place)
        self._places[place] = versions
        versions.append(version)
        versions.sort(key=lambda each: each.at)
        self._size += version.size
        if len(versions) > VERSIONS_MAX:
            self._size -= versions.pop(0).size
        # The newest stays, however large it is: its request is under way.
        while len(self._places) > 1 and self._size > SIZE_MAX:
            oldest = self._places.pop(next(iter(self._places)))
            self._size -= sum(version.size for version in oldest)

    def _change(self, version: Version, block: Block) -> None:
        self._size -= version.size
        version.block = block
        self._size += version.size

    def _add_answer(self, place: bytes, at: float, answer: bytes) -> bool:
        version = self._find(place, at)
        if version is None or answer in version.answers or len(version.answers) >= ANSWERS_MAX:
            return False
        version.answers += (answer,)
        self._size += KEY_BYTES
        return True

    def _find(self, place: bytes, at: float) -> Version | None:
        return next((version for version in self._places.get(place, ()) if version.at == at), None)


def list_notes(versions: list[Version]) -> Iterator[ShownNote]:
    """Yield all notes that are shown, or are going to be."""
    for version in versions:
        yield from version.block.notes
