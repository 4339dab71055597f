"""Requests to Ollama's ``/api/chat``: a list of messages whose content is a string."""

from typing import Any

from proxy.domain.requests.answering import is_stream, model_of, warm_native
from proxy.domain.requests.speakers import HEARD, calls_of, role_of
from proxy.domain.requests.texts import after, says_something
from proxy.domain.wire import GAP, Edit, Part, Payload, Prompt


class Chat:
    name = "chat"

    def read(self, payload: Payload) -> Prompt | None:
        messages = payload.get("messages")
        if not isinstance(messages, list):
            return None
        parts = [part_of(message, place) for place, message in enumerate(messages)]
        if not says_something(parts):
            return None
        return Prompt(model_of(payload), parts, is_system(messages[0]), is_stream(payload, default=True))

    def apply(self, payload: Payload, prompt: Prompt, edit: Edit) -> None:
        messages: list[Any] = payload["messages"]
        for index, block in edit.tails.items():
            message = messages[prompt.parts[index].place]
            message["content"] = after(message["content"], block)
        if edit.top and prompt.has_system:
            said = messages[0]["content"]
            messages[0]["content"] = edit.top + GAP + said if said else edit.top
        if edit.without:
            messages[:] = [message for place, message in enumerate(messages) if place not in edit.without]
        if edit.top and not prompt.has_system:
            messages.insert(0, {"role": "system", "content": after(edit.modelfile_system, edit.top)})

    def warm(self, payload: Payload, by: float, seed: int) -> None:
        warm_native(payload, by, seed)


def part_of(message: object, place: int) -> Part:
    if not isinstance(message, dict):
        return Part("user", "", place)
    role, content = role_of(message), message.get("content")
    calls = calls_of(message) if role == "assistant" else ()
    has_images = role in HEARD and bool(message.get("images"))
    if not isinstance(content, str):
        return Part(role, "", place, calls=calls, has_media=has_images)
    return Part(role, content, place, role in HEARD, calls, has_images)


def is_system(message: object) -> bool:
    """Whether Ollama leaves out the Modelfile's SYSTEM because of this first message; for a developer's it does not."""
    if not isinstance(message, dict) or not isinstance(message.get("content"), str):
        return False
    role = message.get("role")
    return isinstance(role, str) and role.lower() == "system"


CHAT = Chat()
