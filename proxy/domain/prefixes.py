"""Tells conversations apart by digests of the beginnings of their prompts.

A *link* is the digest of one part and all before it. Two requests agree up to a part if its links are equal, so a block
that was put after that part in one can be put there again in the other.
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
# Two requests that share this many characters belong together: evaluating them again would take a model about as long
# as evaluating a block.
SHARED_MIN = 1_024
CUTS = (65_536, 16_384, 4_096, SHARED_MIN)
# Clients rebuild the tail of a message, mostly from the end of a line on. This many lines are told apart.
LINES_MAX = 16
LINES_WITHIN = 4_096


class Spot(NamedTuple):
    """The position of a block in a prompt: before the text of a part or at its end. Spots sort in the order of the
    prompt."""

    part: int  # its index
    is_end: bool


def opening_of(roles: Iterable[str]) -> int | None:
    """Return the index of the first text that is not a system text."""
    # Clients rebuild the system text from turn to turn, so it does not identify a conversation.
    return next((index for index, role in enumerate(roles) if role != "system"), None)


def link_after(link: bytes, digest: bytes) -> bytes:
    return blake2b(link + digest, digest_size=SIZE).digest()


def digest_of_part(part: Part, digest: bytes) -> bytes:
    """Return the digest of a part with its tool calls; ``digest`` covers its role and text."""
    if not part.calls:
        return digest
    calls = [(call.name, call.arguments) for call in part.calls]
    return link_after(digest, orjson.dumps(calls, default=repr, option=orjson.OPT_NON_STR_KEYS))


def digests_of_beginnings(message: Message, ends: Sequence[int]) -> Iterator[bytes]:
    """Yield the digests of the message's beginnings up to each of ``ends``, ascending; the same as those of
    memory.learning.reader.digest_message."""
    hashed = blake2b(digest_size=SIZE, person=message.role.encode()[:16])
    start = 0
    for end in ends:
        hashed.update(message.text[start:end].encode("utf-8", "surrogatepass"))
        start = end
        yield hashed.copy().digest()


@dataclass(frozen=True)
class Thread:
    """The position of one request among the conversations."""

    prompt: Prompt
    links: Sequence[bytes]  # one for each part of the prompt
    opening: int  # index of the first part that is no system text; of the last if there is no other
    root: bytes  # the link before all parts
    speaker: Sequence[str] = ()  # tells it from the same words of others: agent, person, project

    @classmethod
    def of(cls, prompt: Prompt, digests: Sequence[bytes], speaker: Sequence[str] = ()) -> "Thread":
        """Build the thread; ``digests`` cover each part's role and text."""
        link = root = root_of(prompt, speaker)
        links = []
        for part, digest in zip(prompt.parts, digests, strict=True):
            link = link_after(link, digest_of_part(part, digest))
            links.append(link)
        opening = opening_of(part.role for part in prompt.parts)
        return cls(prompt, links, len(links) - 1 if opening is None else opening, root, speaker)

    def place_of(self, spot: Spot) -> bytes:
        """Return the digest of everything before a block at this spot."""
        if spot.is_end:
            return self.links[spot.part]
        # Reversed, to tell it from the end of the part before. The part's own text does not count: clients rebuild its
        # end, and everything after the block would have to be evaluated again.
        return (self.links[spot.part - 1] if spot.part else self.root)[::-1]

    def spot_of(self, place: bytes) -> Spot | None:
        """Return the spot in this request that has the place; None if none has it."""
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
        """The agent and person whose own facts it may show; None for nobody's."""
        return (self.speaker[0], self.speaker[1]) if len(self.speaker) > 1 else None

    @property
    def key(self) -> bytes:
        """The key of the conversation: the link of its opening."""
        return self.links[self.opening]

    @property
    def shared(self) -> list[bytes]:
        """Other keys under which its conversation may be known, the longest beginning first; only those of a sufficient
        length."""
        # At least half of a short opening has to agree: its first words begin many conversations.
        least = min(SHARED_MIN - self._system_characters, len(self.prompt.parts[self.opening].text) / 2)
        return [key for end, key in self._of_opening if end >= least] + self.of_system

    @property
    def all_keys(self) -> list[bytes]:
        """All keys under which others may find the conversation."""
        return [self.key, *(key for _, key in self._of_opening), *self.of_system]

    @property
    def _system_characters(self) -> int:
        return sum(len(part.text) for part in self.prompt.parts[: self.opening])

    @cached_property
    def _of_opening(self) -> list[tuple[int, bytes]]:
        return self._within(self.opening)

    @cached_property
    def of_system(self) -> list[bytes]:
        """The keys that do not depend on how the opening begins."""
        if self._system_characters < SHARED_MIN:
            return []
        cuts = [key for end, key in self._within(0) if end in CUTS]
        return [self.links[self.opening - 1], *cuts]

    def _within(self, index: int) -> list[tuple[int, bytes]]:
        """Return the positions at which the part may have ended or may later continue differently, each with its link;
        the last first."""
        part = self.prompt.parts[index]
        before = self.links[index - 1] if index else self.root
        ends = cuts_of(part.text)
        digests = digests_of_beginnings(Message(part.role, part.text), ends)
        return [(end, link_after(before, digest)) for end, digest in zip(ends, digests, strict=True)][::-1]


def root_of(prompt: Prompt, speaker: Sequence[str]) -> bytes:
    # Another model is another conversation: it cannot use what the first has evaluated. So is another speaker: the same
    # words of somebody else must not get the blocks of the first.
    named = "\0".join((prompt.model, *speaker))
    return blake2b(named.encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()


def cuts_of(text: str) -> list[int]:
    """Return the ends of beginnings of the text, ascending."""
    ends, end = [cut for cut in CUTS if cut < len(text)], 0
    for _ in range(LINES_MAX):
        end = text.find("\n", end, LINES_WITHIN)
        if end < 0:
            break
        ends.append(end)
        end += 1
    return sorted(set(ends) - {0})


def count_answered(messages: Sequence[Message]) -> int:
    """Count the messages up to the model's last complete answer. An answer that the client has begun does not count."""
    end = len(messages)
    while end and messages[end - 1].role == "assistant":
        end -= 1
    return next((index + 1 for index in range(end - 1, -1, -1) if messages[index].role == "assistant"), 0)
