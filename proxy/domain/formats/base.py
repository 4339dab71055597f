"""What every wire format is made of: a prompt and its parts, an edit of it, and the methods of a format.

Payloads are parsed JSON objects and are changed in place. No format raises on a payload of another shape: what it does
not understand it leaves alone.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from proxy.domain.formats.streams import AnswerWatch

Payload = dict[str, Any]

GAP = "\n\n"  # between a text and what is put before or after it

Role = Literal["system", "user", "assistant", "tool"]


def join_texts(first: str, second: str) -> str:
    """Both texts with GAP between; only the second where the first is empty."""
    return first + GAP + second if first else second


@dataclass(frozen=True, slots=True)
class ToolCall:
    """``arguments`` is parsed JSON, or the text as it came where that is no JSON."""

    name: str
    arguments: Any


class Part(NamedTuple):
    """One text of a prompt, in the order the model sees them."""

    role: Role
    text: str
    place: int  # of its message, item or section; parts of one place are taken out together
    takes_block: bool = False  # at its end: it is the last of its place, said by a user or a tool
    calls: tuple[ToolCall, ...] = ()
    has_media: bool = False  # it also shows something that is no text, such as a picture
    takes_head: bool = True  # where it takes a block at its end, it also does before its text
    name: str = ""  # of who says it, where the request tells one user from another


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a request says: at least one part."""

    model: str
    parts: Sequence[Part]
    # Without a system text of its own, a block at the top makes one; the Modelfile's SYSTEM has to go before the block,
    # because Ollama then leaves it out.
    has_system: bool
    is_stream: bool  # how the answer is asked for


@dataclass(frozen=True, slots=True)
class Edit:
    """What is done to a prompt."""

    top: str = ""  # a block before its first text
    modelfile_system: str = ""  # goes before the block where the first text has to be made
    tails: Mapping[int, str] = field(default_factory=dict)  # by index of a part that takes blocks: put at its end
    without: frozenset[int] = frozenset()  # the places that are taken out; no tail and no head is for one of them
    heads: Mapping[int, str] = field(default_factory=dict)  # by index of such a part: put before its text

    def __bool__(self) -> bool:
        return bool(self.top or self.tails or self.heads or self.without)


class WireFormat(Protocol):
    """The requests and answers of one route."""

    @property
    def name(self) -> str:
        """As events and the admin pages keep it."""

    @property
    def long_field(self) -> str:
        """The field of a request that has what was said, and grows with the conversation."""

    def read(self, payload: Payload) -> Prompt | None:
        """None for a request that is never enriched: one that loads a model, completes code, or is not understood."""

    def apply(self, payload: Payload, prompt: Prompt, edit: Edit) -> None:
        """Changes the payload; ``prompt`` is what ``read`` made of it."""

    def raise_temperature(self, payload: Payload, by: float, seed: int) -> None:
        """From the format's default where none is given, up to what the format takes; sets the seed, too, where the
        format has one."""

    @property
    def watch(self) -> Callable[[], AnswerWatch]:
        """Makes the reader of one answer that is streamed."""

    def write_answer(self, model: str, text: str, *, is_stream: bool, now: float, unique: str) -> tuple[str, bytes]:
        """Content type and body of a whole answer that says ``text``, as the model server would send it. ``now`` is in
        seconds since the epoch, ``unique`` 16 hexadecimal digits for its ids."""
