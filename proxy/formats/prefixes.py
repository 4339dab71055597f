"""Names the places of a prompt by digests of its beginnings.

A *link* is the digest of one part and all before it: the place at that part's end. Two requests agree up to a part if
its links are equal, so a block that was put after that part in one can be put there again in the other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import orjson

from memory.types import Message
from proxy.formats.base import Part, Prompt

SIZE = 16  # bytes of a link


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


def digest_words(*texts: str) -> bytes:
    """Return the digest of a text in pieces, without its white space: clients strip and rejoin it."""
    words = "".join("".join(texts).split())
    return blake2b(words.encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()


@dataclass(frozen=True, slots=True)
class PrefixDigests:
    """The digest of one prompt up to the end of each message: the places of its blocks."""

    prompt: Prompt
    links: Sequence[bytes]  # one for each part of the prompt
    speaker: Sequence[str] = ()  # tells it from the same words of others: agent, person, project
    spot: int | None = None  # the index of the part that takes a new block at its end; None if none does

    @classmethod
    def of(cls, prompt: Prompt, digests: Sequence[bytes], speaker: Sequence[str] = ()) -> "PrefixDigests":
        """Compute them; ``digests`` cover each part's role and text."""
        # Another model is another conversation: it cannot use what the first has evaluated. So is another speaker: the
        # same words of somebody else must not get the blocks of the first.
        link = blake2b("\0".join((prompt.model, *speaker)).encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()
        links = []
        for part, digest in zip(prompt.parts, digests, strict=True):
            link = link_after(link, digest_of_part(part, digest))
            links.append(link)
        return cls(prompt, links, speaker, find_spot(prompt.parts))

    @property
    def holder(self) -> tuple[str, str] | None:
        """The agent and person whose own facts it may show; None for nobody's."""
        return (self.speaker[0], self.speaker[1]) if len(self.speaker) > 1 else None

    @property
    def place(self) -> bytes:
        """The place of a new block. Only if there is a spot for it."""
        assert self.spot is not None
        return self.links[self.spot]

    def digest_answer(self, index: int) -> bytes:
        """Return the digest of the answer after a part: of its text and calls, as ``AnswerReader`` reads them."""
        return digest_words(*_list_said(self.prompt.parts, index + 1))

    def begin_answer(self) -> list[str]:
        """Return the texts of the answer that the client has begun, if it has."""
        return _list_said(self.prompt.parts, self.spot + 1) if self.spot is not None else []


def _list_said(parts: Sequence[Part], start: int) -> list[str]:
    said = []
    for part in parts[start:]:
        if part.role != "assistant":
            break
        said.append(part.text)
        for call in part.calls:
            is_text = isinstance(call.arguments, str)
            said += (call.name, call.arguments if is_text else orjson.dumps(call.arguments, default=repr).decode())
    return said


def find_spot(parts: Sequence[Part]) -> int | None:
    """Return the index of the message that the model answers; None if that takes no block."""
    # Skip an answer that the client has begun, and trailing system texts.
    index = len(parts) - 1
    while index > 0 and parts[index].role == "assistant":
        index -= 1
    while index > 0 and parts[index].role == "system":
        index -= 1
    return index if parts[index].takes_block else None


def count_answered(messages: Sequence[Message]) -> int:
    """Count the messages up to the model's last complete answer. An answer that the client has begun does not count."""
    end = len(messages)
    while end and messages[end - 1].role == "assistant":
        end -= 1
    return next((index + 1 for index in range(end - 1, -1, -1) if messages[index].role == "assistant"), 0)
