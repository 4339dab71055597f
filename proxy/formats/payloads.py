"""Reads and changes requests as parsed JSON: who says what in them, and how to insert a block."""

from contextlib import suppress
from itertools import pairwise
from typing import Any

import orjson

from proxy.formats.base import GAP, Edit, Part, Payload, Prompt, Role, ToolCall
from proxy.formats.json_text import Change, ListChange, MembersChange, Path, TextChange

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


def part_of(message: object, place: int) -> Part:
    """Return a message as a part."""
    if not isinstance(message, dict):
        return Part("user", "", place)
    role, content, name = role_of(message), message.get("content"), message.get("name")
    is_answered = role in ANSWERED_ROLES
    return Part(
        role,
        text_of(content),
        place,
        takes_block=is_answered and takes_text(content),
        calls=calls_of(message) if role == "assistant" else (),
        has_media=is_answered and (has_media(content) or bool(message.get("images"))),
        name=name if isinstance(name, str) else "",
    )


class MessageFormat:
    """Requests that are a list of messages, with or without a system text beside it."""

    long_field = "messages"
    system_field = ""  # for the system text beside the messages; empty if the format has none
    block_type = "text"  # of the blocks in a message's content
    streams_by_default = False

    def read(self, payload: Payload) -> Prompt | None:
        messages, system = payload.get(self.long_field), self.system_of(payload)
        if not isinstance(messages, list) or not messages or not isinstance(system, str | list | None):
            return None
        system_text = text_of(system)
        parts = [Part("system", system_text, 0)] if system_text else []
        for place, message in enumerate(messages, len(parts)):
            parts += self.parts_of(message, place)
        if not any(part.text or part.calls for part in parts):
            return None
        takes_top = bool(system_text) or self.is_system(messages[0])
        return Prompt(model_of(payload), parts, takes_top, is_stream(payload, default=self.streams_by_default))

    def write_edit(self, payload: Payload, prompt: Prompt, edit: Edit) -> list[Change]:
        messages, system = payload[self.long_field], self.system_of(payload)
        first = 1 if text_of(system) else 0  # the place of the first message
        changes = list[Change]()
        for index, block in edit.tails.items():
            path, content = self.find_content(messages, prompt.parts[index].place - first)
            changes.append(put_after(path, content, block, self.block_type))
        if edit.top:
            path, content = ((self.system_field,), system) if first else self.find_content(messages, 0)
            changes.append(put_before(path, content, edit.top, self.block_type))
        if edit.without and isinstance(messages, list):
            without = frozenset(place - first for place in edit.without)
            changes.append(ListChange((self.long_field,), without=without))
        return changes

    def system_of(self, payload: Payload) -> Any:
        return payload.get(self.system_field) if self.system_field else None

    def parts_of(self, message: object, place: int) -> list[Part]:
        return [part_of(message, place)]

    def is_system(self, message: object) -> bool:
        """True if a block can go before this first message's text."""
        # A developer message counts, too: OpenAI's models treat it as the system message.
        return isinstance(message, dict) and role_of(message) == "system" and takes_text(message.get("content"))

    def find_content(self, messages: Any, number: int) -> tuple[Path, Any]:
        """Return the content of the message with that number, and where it is in the request."""
        return (self.long_field, number, "content"), messages[number]["content"]
