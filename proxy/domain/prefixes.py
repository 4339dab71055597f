"""Tells conversations apart by digests of what their prompts begin with.

A *link* is the digest of one part and all before it. Two requests agree up to a part if its links are equal, so what
was put after that part in the one can be put there again in the other.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import count
from typing import NamedTuple

import orjson

from memory.domain.types import Message
from proxy.domain.formats.base import Part, Prompt

SIZE = 16  # bytes of a link
# Two requests that share so many characters belong together: a model would evaluate them again for about as long as for
# a block of recollections.
SHARED_MIN = 1_024
CUTS = (65_536, 16_384, 4_096, SHARED_MIN)
# Clients rebuild the tail of a message, mostly from the end of a line on. So many lines are told apart.
LINES_MAX = 16
LINES_WITHIN = 4_096


class Spot(NamedTuple):
    """Where a block stands in a prompt: before the text of a part or at its end. They sort as they follow each
    other."""

    part: int  # its index
    is_end: bool


def opening_of(roles: Iterable[str]) -> int | None:
    """The index of the first text that is not the system's."""
    # Clients rebuild the system's from turn to turn, so it does not tell a conversation.
    return next((index for index, role in enumerate(roles) if role != "system"), None)


def link_after(link: bytes, digest: bytes) -> bytes:
    return blake2b(link + digest, digest_size=SIZE).digest()


def digest_of_part(part: Part, digest: bytes) -> bytes:
    """``digest`` is of its role and text: the calls of tools count, too."""
    if not part.calls:
        return digest
    calls = [(call.name, call.arguments) for call in part.calls]
    return link_after(digest, orjson.dumps(calls, default=repr, option=orjson.OPT_NON_STR_KEYS))


def digests_of_beginnings(message: Message, ends: Sequence[int]) -> Iterator[bytes]:
    """As memory.learning.reader.digest_message has them for the beginnings of the message, up to each of ``ends``,
    ascending."""
    hashed = blake2b(digest_size=SIZE, person=message.role.encode()[:16])
    start = 0
    for end in ends:
        hashed.update(message.text[start:end].encode("utf-8", "surrogatepass"))
        start = end
        yield hashed.copy().digest()


@dataclass(frozen=True)
class Thread:
    """One request's place among the conversations."""

    prompt: Prompt
    links: Sequence[bytes]  # one for each part of the prompt
    opening: int  # index of the first part that is not the system's; of the last where there is no other
    root: bytes  # before all parts
    speaker: Sequence[str] = ()  # who tells it from the same words of others: agent, person, project

    @classmethod
    def of(cls, prompt: Prompt, digests: Sequence[bytes], speaker: Sequence[str] = ()) -> "Thread":
        """``digests`` are of each part's role and text."""
        link = root = root_of(prompt, speaker)
        links = []
        for part, digest in zip(prompt.parts, digests, strict=True):
            link = link_after(link, digest_of_part(part, digest))
            links.append(link)
        opening = opening_of(part.role for part in prompt.parts)
        return cls(prompt, links, len(links) - 1 if opening is None else opening, root, speaker)

    def place_of(self, spot: Spot) -> bytes:
        """The digest of all that comes before a block there."""
        if spot.is_end:
            return self.links[spot.part]
        # Reversed: what stands before a text is not at the end of the part before. Its own text does not count, since
        # clients rebuild the end of that, and what comes after the block would have to be evaluated again.
        return (self.links[spot.part - 1] if spot.part else self.root)[::-1]

    def spot_of(self, place: bytes) -> Spot | None:
        """Where in this request a block has that place; None where none has it."""
        if (index := self._indexes.get(place, -1)) >= 0:
            return Spot(index, is_end=True)
        before = self._indexes.get(place[::-1], len(self.links))
        return Spot(before + 1, is_end=False) if before + 1 < len(self.links) else None

    @cached_property
    def _indexes(self) -> dict[bytes, int]:
        """The parts' indexes by their links, and -1 by the root."""
        return dict(zip((self.root, *self.links), count(-1), strict=False))

    @property
    def holder(self) -> tuple[str, str] | None:
        """Whose own facts it may show; None for nobody's."""
        return (self.speaker[0], self.speaker[1]) if len(self.speaker) > 1 else None

    @property
    def key(self) -> bytes:
        """What tells the conversation: all up to its opening."""
        return self.links[self.opening]

    @property
    def shared(self) -> list[bytes]:
        """Other keys under which its conversation may be known, of the longest beginning first: those that the
        beginning is long enough for."""
        # Of a short opening at least half has to agree: its first words begin many conversations.
        least = min(SHARED_MIN - self._system_characters, len(self.prompt.parts[self.opening].text) / 2)
        return [key for end, key in self._of_opening if end >= least] + self.of_system

    @property
    def all_keys(self) -> list[bytes]:
        """Keys under which others may find the conversation."""
        return [self.key, *(key for _, key in self._of_opening), *self.of_system]

    @property
    def _system_characters(self) -> int:
        return sum(len(part.text) for part in self.prompt.parts[: self.opening])

    @cached_property
    def _of_opening(self) -> list[tuple[int, bytes]]:
        return self._within(self.opening)

    @cached_property
    def of_system(self) -> list[bytes]:
        """Those keys that say nothing of how the opening begins."""
        if self._system_characters < SHARED_MIN:
            return []
        cuts = [key for end, key in self._within(0) if end in CUTS]
        return [self.links[self.opening - 1], *cuts]

    def _within(self, index: int) -> list[tuple[int, bytes]]:
        """Where the part may have ended or may come to go on differently, with the link that it had then; the last
        first."""
        part = self.prompt.parts[index]
        before = self.links[index - 1] if index else self.root
        ends = cuts_of(part.text)
        digests = digests_of_beginnings(Message(part.role, part.text), ends)
        return [(end, link_after(before, digest)) for end, digest in zip(ends, digests, strict=True)][::-1]


def root_of(prompt: Prompt, speaker: Sequence[str]) -> bytes:
    # Another model is another conversation: nothing of what one has evaluated is of use to the other. So is another
    # speaker: who says the same as somebody else must not get the blocks that the other was given.
    named = "\0".join((prompt.model, *speaker))
    return blake2b(named.encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()


def cuts_of(text: str) -> list[int]:
    """Ends of beginnings of the text, ascending."""
    ends, end = [cut for cut in CUTS if cut < len(text)], 0
    for _ in range(LINES_MAX):
        end = text.find("\n", end, LINES_WITHIN)
        if end < 0:
            break
        ends.append(end)
        end += 1
    return sorted(set(ends) - {0})


def count_answered(messages: Sequence[Message]) -> int:
    """How many messages there are up to the model's last answer. One that the client has begun is none yet."""
    end = len(messages)
    while end and messages[end - 1].role == "assistant":
        end -= 1
    return next((index + 1 for index in range(end - 1, -1, -1) if messages[index].role == "assistant"), 0)
