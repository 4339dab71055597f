"""Requests to Anthropic's ``/v1/messages``: a system text beside the messages, results of tools inside the user's."""

from typing import Any

from proxy.domain.formats.base import GAP, Edit, Part, Payload, Prompt, Role, ToolCall, after
from proxy.domain.formats.requests.content_blocks import (
    TEXT_BLOCKS,
    Blocks,
    has_media,
    says_something,
    takes_text,
    text_of,
)
from proxy.domain.formats.requests.options import is_stream, model_of, warm
from proxy.domain.formats.requests.roles import HEARD, call, role_of

BLOCKS = Blocks("text", gap=GAP)
CALLS = ("tool_use", "server_tool_use")
OLLAMAS_DEFAULT = 0.8  # temperature; unlike with OpenAI's formats, Ollama sets none of its own here
HOTTEST = 1.0  # temperature, the most that Anthropic's API takes


class Messages:
    name = "messages"

    def read(self, payload: Payload) -> Prompt | None:
        messages, system = payload.get("messages"), payload.get("system")
        if not isinstance(messages, list) or not isinstance(system, str | list | None):
            return None
        told = text_of(system)
        parts = [Part("system", told, 0)] if told else []
        for place, message in enumerate(messages, len(parts)):
            parts += parts_of(message, place)
        if not messages or not says_something(parts):
            return None
        return Prompt(model_of(payload), parts, bool(told), is_stream(payload, default=False))

    def apply(self, payload: Payload, prompt: Prompt, edit: Edit) -> None:
        messages: list[Any] = payload["messages"]
        first = 1 if prompt.has_system else 0
        for index, block in edit.tails.items():
            message = messages[prompt.parts[index].place - first]
            message["content"] = BLOCKS.after(message["content"], block)
        if edit.without:
            messages[:] = [message for place, message in enumerate(messages, first) if place not in edit.without]
        if edit.top:
            top = edit.top if prompt.has_system else after(edit.modelfile_system, edit.top)
            payload["system"] = BLOCKS.before(payload.get("system") or "", top)

    def warm(self, payload: Payload, by: float, seed: int) -> None:
        """The format has no seed."""
        warm(payload, by, default=OLLAMAS_DEFAULT, hottest=HOTTEST)


def parts_of(message: object, place: int) -> list[Part]:
    if not isinstance(message, dict):
        return [Part("user", "", place)]
    role, content = role_of(message), message.get("content")
    if isinstance(content, list) and role == "user":
        return heard(content, place)
    if isinstance(content, list):
        return [Part(role, text_of(content), place, role in HEARD and takes_text(content), calls_of(content))]
    return [Part(role, text_of(content), place, role in HEARD and takes_text(content))]


def heard(content: list[Any], place: int) -> list[Part]:
    """The results of tools, then what the user says: in this order Ollama makes messages of them."""
    said: list[tuple[Role, object]] = [
        ("tool", block.get("content")) for block in content if type_of(block) == "tool_result"
    ]
    if not said or any(type_of(block) in TEXT_BLOCKS for block in content):
        said.append(("user", content))
    last = len(said)
    return [
        Part(
            role,
            text_of(told),
            place,
            takes_block=number == last and takes_text(content),
            has_media=has_media(told) or (number == last and has_media(content)),
        )
        for number, (role, told) in enumerate(said, 1)
    ]


def calls_of(content: list[Any]) -> tuple[ToolCall, ...]:
    return tuple(call(block, "input") for block in content if type_of(block) in CALLS)


def type_of(block: object) -> object:
    return block.get("type") if isinstance(block, dict) else None


MESSAGES = Messages()
