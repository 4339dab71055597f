"""Requests to OpenAI's ``/v1/responses``: instructions, and a string or a list of items of several types."""

from typing import Any

from proxy.domain.formats.base import GAP, Edit, Part, Payload, Prompt, after
from proxy.domain.formats.requests.content_blocks import Blocks, has_media, says_something, takes_text, text_of
from proxy.domain.formats.requests.options import is_stream, model_of, warm
from proxy.domain.formats.requests.roles import HEARD, call, role_of

BLOCKS = Blocks("input_text", gap=GAP)
CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})


class Responses:
    name = "responses"

    def read(self, payload: Payload) -> Prompt | None:
        instructions, given = payload.get("instructions"), payload.get("input")
        if not isinstance(instructions, str | None):
            return None
        parts = [Part("system", instructions, 0)] if instructions else []
        parts += parts_of(given, len(parts))
        if not given or not says_something(parts):
            return None
        has_system = bool(instructions) or (isinstance(given, list) and is_system(given[0]))
        return Prompt(model_of(payload), parts, has_system, is_stream(payload, default=False))

    def apply(self, payload: Payload, prompt: Prompt, edit: Edit) -> None:
        instructions = payload.get("instructions")
        first = 1 if instructions else 0
        for index, block in edit.tails.items():
            extend(payload, prompt.parts[index].place - first, block)
        items = payload["input"]
        if edit.top and prompt.has_system and not instructions:
            items[0]["content"] = BLOCKS.before(items[0]["content"], edit.top)
        elif edit.top and instructions:
            payload["instructions"] = edit.top + GAP + instructions
        elif edit.top:
            payload["instructions"] = after(edit.modelfile_system, edit.top)
        if edit.without and isinstance(items, list):
            items[:] = [item for place, item in enumerate(items, first) if place not in edit.without]

    def warm(self, payload: Payload, by: float, seed: int) -> None:
        """The format has no seed."""
        warm(payload, by, default=1.0)


def parts_of(given: object, first: int) -> list[Part]:
    if isinstance(given, str):
        return [Part("user", given, first, takes_block=True)]
    return [part_of(item, place) for place, item in enumerate(given, first)] if isinstance(given, list) else []


def part_of(item: object, place: int) -> Part:
    if not isinstance(item, dict):
        return Part("user", "", place)
    kind = kind_of(item)
    if kind == "message":
        role, content = role_of(item), item.get("content")
        is_heard = role in HEARD
        return Part(
            role,
            text_of(content),
            place,
            is_heard and takes_text(content),
            has_media=is_heard and has_media(content),
        )
    if kind in RESULTS:
        output = item.get("output")
        return Part("tool", text_of(output), place, takes_text(output), has_media=has_media(output))
    if kind in CALLS:
        return Part("assistant", "", place, calls=(call(item, CALLS[kind]),))
    return Part("assistant", "", place)  # reasoning, and what else the model brought forth


def kind_of(item: dict[str, Any]) -> str:
    """The item's type; a message may leave it out."""
    kind = item.get("type") or "message"
    return kind if isinstance(kind, str) else ""


def is_system(item: object) -> bool:
    if not isinstance(item, dict) or kind_of(item) != "message":
        return False
    return role_of(item) == "system" and takes_text(item.get("content"))


def extend(payload: Payload, number: int, block: str) -> None:
    """Puts the block at the end of the item of that number, or of the whole input where that is a string."""
    if isinstance(payload["input"], str):
        payload["input"] = after(payload["input"], block)
        return
    item = payload["input"][number]
    field = "content" if kind_of(item) == "message" else "output"
    item[field] = BLOCKS.after(item[field], block)


RESPONSES = Responses()
