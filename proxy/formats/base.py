"""The types that every wire format uses: a prompt and its parts, an edit of it, and the methods of a format.

Payloads are parsed JSON objects, which are only read: a request is changed in its own bytes, so that all else in it
stays as its client wrote it. No format raises on a payload of another shape: it leaves alone what it does not
understand.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol

from proxy.formats.json_text import Change
from proxy.formats.streams import AnswerReader

Payload = dict[str, Any]

GAP = "\n\n"  # between a text and what is put before or after it
PARTS_MAX = 5_000  # of a prompt that is read

Role = Literal["system", "user", "assistant", "tool"]


def join_texts(first: str, second: str) -> str:
    """Join both texts with GAP; return only the second if the first is empty."""
    return first + GAP + second if first else second


@dataclass(frozen=True, slots=True)
class ToolCall:
    """``arguments`` is parsed JSON, or the original text if that is no JSON."""

    name: str
    arguments: Any


class Part(NamedTuple):
    """One text of a prompt, in the order in which the model sees them."""

    role: Role
    text: str
    place: int  # of its message, item or section; parts of one place are removed together
    takes_block: bool = False  # at its end: it is the last of its place, said by a user or a tool
    calls: tuple[ToolCall, ...] = ()
    has_media: bool = False  # it also has content that is not text, such as a picture
    name: str = ""  # the speaker's name, if the request tells one user from another


@dataclass(frozen=True, slots=True)
class Prompt:
    """The content of a request: at least one part."""

    model: str
    parts: Sequence[Part]
    takes_top: bool  # a block before its first text: that is a system text, or plain text that the model continues
    is_stream: bool  # the request asks for a streamed answer


@dataclass(frozen=True, slots=True)
class Edit:
    """A change to a prompt."""

    top: str = ""  # a block before its first text
    tails: Mapping[int, str] = field(default_factory=dict)  # blocks for the end of a part, by its index
    without: frozenset[int] = frozenset()  # the places to remove; no tail is for one of them

    def __bool__(self) -> bool:
        return bool(self.top or self.tails or self.without)


class WireFormat(Protocol):
    """The requests and answers of one route."""

    @property
    def name(self) -> str:
        """The name under which events and the admin pages keep the format."""

    @property
    def long_field(self) -> str:
        """The field of a request that holds the conversation, and grows with it."""

    def read(self, payload: Payload) -> Prompt | None:
        """Return None for a request that is never enriched: one that loads a model, completes code, or is not
        understood."""

    def write_edit(self, payload: Payload, prompt: Prompt, edit: Edit) -> list[Change]:
        """Return the changes to the request that make the edit; ``prompt`` is what ``read`` made of it."""

    def raise_temperature(self, payload: Payload, by: float, seed: int) -> list[Change]:
        """Return the changes that raise the temperature, from the format's default if none is set, up to the format's
        maximum, and set the seed if the format has one."""

    @property
    def reader(self) -> Callable[[], AnswerReader]:
        """The factory of the reader for one streamed answer."""

    def write_answer(self, model: str, text: str, *, is_stream: bool, now: float, unique: str) -> tuple[str, bytes]:
        """Return content type and body of a whole answer that says ``text``, as the model server would send it. ``now``
        is in seconds since the epoch; ``unique`` is 16 hexadecimal digits for its ids."""
