"""Reads and changes requests as parsed JSON: who says what in them, and how to insert a block."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from typing import Any

import orjson

from proxy.domain.formats.base import GAP, Edit, Part, Payload, Prompt, Role, ToolCall
from proxy.domain.json_text import Change, ListChange, MembersChange, Path, TextChange

TEXT_BLOCKS = ("text", "input_text", "output_text")  # no set: the type of an odd block need not be hashable
HOTTEST = 2.0  # temperature, the most that OpenAI's API takes; above it models only babble

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
}
ANSWERED_ROLES: frozenset[Role] = frozenset({"user", "tool"})  # what the model answers to


# --- how the answer is asked for ---


def model_of(payload: Payload) -> str:
    model = payload.get("model")
    return model if isinstance(model, str) else ""


def is_stream(payload: Payload, *, default: bool) -> bool:
    stream = payload.get("stream")
    return stream if isinstance(stream, bool) else default


class SamplingBesidePrompt:
    """A format whose sampling options are beside the prompt, not in an object of their own."""

    default_temperature = 1.0  # Ollama's default for OpenAI's formats
    hottest = HOTTEST
    has_seed = True

    def raise_temperature(self, payload: Payload, by: float, seed: int) -> list[Change]:
        raised = raise_temperature(payload, by, default=self.default_temperature, hottest=self.hottest)
        members = raised | ({"seed": seed} if self.has_seed else {})
        return [MembersChange((), members)] if members else []


def raise_temperature(options: Payload, by: float, *, default: float, hottest: float = HOTTEST) -> Payload:
    """Return the raised temperature as an option, never over ``hottest``; no option if it is hotter already, or is no
    number."""
    temperature = options.get("temperature")
    if temperature is None:
        temperature = default
    # True is an int for Python.
    if isinstance(temperature, bool) or not isinstance(temperature, int | float):
        return {}
    return {"temperature": round(min(temperature + by, hottest), 6)} if by > 0 and temperature < hottest else {}


# --- who says a text, and what tools it calls ---


def role_of(message: dict[str, Any]) -> Role:
    # Ollama accepts a role in upper or lower case. An unknown one (ipython, observation, documents) does not tell who
    # is speaking, and counts as a tool's, because tools' results are trusted least.
    role = message.get("role")
    if "tool_call_id" in message:
        return "tool"
    return (ROLES.get(role) or ROLES.get(role.lower(), "tool")) if isinstance(role, str) else "tool"


def name_of(message: dict[str, Any]) -> str:
    name = message.get("name")
    return name if isinstance(name, str) else ""


def calls_of(message: dict[str, Any]) -> tuple[ToolCall, ...]:
    """Return the calls of an assistant's message, as Ollama's chat and OpenAI's formats write them."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return (read_call(message["function_call"]),) if isinstance(message.get("function_call"), dict) else ()
    functions = [one.get("function") for one in calls if isinstance(one, dict)]
    return tuple(read_call(function) for function in functions if isinstance(function, dict))


def read_call(function: dict[str, Any], field: str = "arguments") -> ToolCall:
    """Read a call; ``field`` is the key of its arguments, an object or its JSON."""
    name, arguments = function.get("name"), function.get(field)
    if isinstance(arguments, str):
        # Models also write arguments that are not JSON.
        with suppress(orjson.JSONDecodeError):
            arguments = orjson.loads(arguments)
    return ToolCall(name if isinstance(name, str) else "", arguments)


# --- a text: a string, or a list of typed blocks of which some are texts ---


def text_of(content: object) -> str:
    """Return the text of the content, empty if it has none."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    # Skip what is no block: a client may send a hundred thousand numbers.
    texts = [text for block in content if isinstance(block, dict) and (text := block_text(block))]
    if len(texts) < 2:
        return texts[0] if texts else ""
    pieces = [texts[0]]
    # At least a line break between them: else the last word of one block and the first of the next would become one.
    for before, following in pairwise(texts):
        if not before.endswith("\n") and not following.startswith("\n"):
            pieces.append("\n")
        pieces.append(following)
    return "".join(pieces)


def block_text(block: object) -> str:
    if not isinstance(block, dict) or block.get("type") not in TEXT_BLOCKS:
        return ""
    text = block.get("text")
    return text if isinstance(text, str) else ""


def has_media(content: object) -> bool:
    """True if a user's or a tool's content also has blocks that are not text: pictures, sounds, files."""
    return isinstance(content, list) and any(
        isinstance(block, dict) and block.get("type") not in (*TEXT_BLOCKS, "tool_result") for block in content
    )


def takes_text(content: object) -> bool:
    """True if a text can be put before or after the content."""
    if isinstance(content, list):
        return bool(content) and all(isinstance(block, dict) for block in content)
    return isinstance(content, str)


def says_something(parts: Sequence[Part]) -> bool:
    return any(part.text or part.calls for part in parts)


def put_before(path: Path, content: Any, block: str, kind: str = "text") -> Change:
    """Return the change that puts the block at the beginning of the content at this path: a string, or a list of blocks
    of that kind."""
    if isinstance(content, str):
        return TextChange(path, block + GAP if content else block, start=0)
    return ListChange(path, {"type": kind, "text": block + GAP}, is_first=True)


def put_after(path: Path, content: Any, block: str, kind: str = "text") -> Change:
    """Return the change that puts the block at the end of the content."""
    if isinstance(content, str):
        return TextChange(path, GAP + block if content else block)
    has_text = any(block_text(one) for one in content)
    return ListChange(path, {"type": kind, "text": GAP + block if has_text else block})


class MessageList(ABC):
    """Requests that are a list of messages; each message is one part of the prompt."""

    long_field = "messages"
    streams_by_default: bool

    def read(self, payload: Payload) -> Prompt | None:
        messages = payload.get("messages")
        if not isinstance(messages, list):
            return None
        parts = [self.part_of(message, place) for place, message in enumerate(messages)]
        if not says_something(parts):
            return None
        stream = is_stream(payload, default=self.streams_by_default)
        return Prompt(model_of(payload), parts, self.is_system(messages[0]), stream)

    def write_edit(self, payload: Payload, prompt: Prompt, edit: Edit) -> list[Change]:
        messages, changes = payload["messages"], list[Change]()
        for index, block in edit.tails.items():
            place = prompt.parts[index].place
            changes.append(put_after(("messages", place, "content"), messages[place]["content"], block))
        if edit.top:
            changes.append(put_before(("messages", 0, "content"), messages[0]["content"], edit.top))
        if edit.without:
            changes.append(ListChange(("messages",), without=edit.without))
        return changes

    @abstractmethod
    def part_of(self, message: object, place: int) -> Part: ...

    @abstractmethod
    def is_system(self, message: object) -> bool:
        """True if a block can go before this first message's text."""
