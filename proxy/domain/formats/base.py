"""What all wire formats have in common: the parts of a prompt, what can be done to them, and what an answer is.

Payloads are parsed JSON objects and are changed in place. Nothing of a format raises on a payload of another shape:
what is not understood is not touched.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

Payload = dict[str, Any]

GAP = "\n\n"  # between a text and what is put before or after it

Role = Literal["system", "user", "assistant", "tool"]


def after(text: str, block: str) -> str:
    """The text with the block at its end."""
    return text + GAP + block if text else block


@dataclass(frozen=True, slots=True)
class ToolCall:
    """``arguments`` is parsed JSON, or the text as it came where that is no JSON."""

    name: str
    arguments: Any


@dataclass(frozen=True, slots=True)
class Part:
    """One text of a prompt, in the order the model sees them. Parts of one ``place`` (a message, an item, a section)
    are taken out together. ``takes_block``: a block can be put at the end of this one: the last of its place, said by a
    user or a tool. ``has_media``: it also shows what is no text, such as a picture."""

    role: Role
    text: str
    place: int
    takes_block: bool = False
    calls: tuple[ToolCall, ...] = ()
    has_media: bool = False


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a request says, at least one part. Where it has no system text of its own (``has_system``), a block at the
    top makes one, and the Modelfile's SYSTEM has to come before the block. ``is_stream``: how the answer is asked
    for."""

    model: str
    parts: Sequence[Part]
    has_system: bool
    is_stream: bool


@dataclass(frozen=True, slots=True)
class Edit:
    """What is done to a prompt. ``top``: a block before its first text, after ``modelfile_system`` where that text has
    to be made. ``tails``: by the index of a part that takes blocks, what is put at its end, GAP between. ``without``:
    the places that are taken out; nothing else is said of them."""

    top: str = ""
    modelfile_system: str = ""
    tails: Mapping[int, str] = field(default_factory=dict)
    without: frozenset[int] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.top or self.tails or self.without)


class RequestFormat(Protocol):
    """One wire format's requests."""

    @property
    def name(self) -> str: ...

    def read(self, payload: Payload) -> Prompt | None:
        """None for a request that is never enriched: one that loads a model, completes code, or is not understood."""

    def apply(self, payload: Payload, prompt: Prompt, edit: Edit) -> None:
        """``prompt`` is what ``read`` made of this payload."""

    def warm(self, payload: Payload, by: float, seed: int) -> None:
        """Raises the temperature, from the format's default where none is given, up to what the format takes; and
        another seed where the format has one."""


class AnswerWatch(Protocol):
    """Reads one running answer as it passes."""

    def feed(self, chunk: bytes) -> str:
        """The text that this chunk of the body adds to the answer; chunks break anywhere."""

    @property
    def unfinished(self) -> int:
        """How many of the last bytes that were fed are of a line or an event whose end has not come."""

    def ending(self) -> bytes:
        """What properly ends the answer after all that was fed but the ``unfinished`` bytes: as if the model had
        stopped there. Empty where the answer has ended."""


class AnswerFormat(Protocol):
    """One wire format's answers."""

    def watch(self) -> AnswerWatch:
        """For an answer that is streamed."""

    def made_up(self, model: str, text: str, *, is_stream: bool, now: float, unique: str) -> tuple[str, bytes]:
        """Content type and body of a whole answer that says ``text``, as the model server would send it. ``now`` is in
        seconds since the epoch, ``unique`` 16 hexadecimal digits for its ids."""
