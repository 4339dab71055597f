"""Requests to OpenAI's ``/v1/chat/completions``: messages whose content is a string or a list of blocks, arguments of
calls as JSON in a string."""

from typing import Any

from proxy.domain.requests.answering import is_stream, model_of, warm
from proxy.domain.requests.speakers import HEARD, calls_of, role_of
from proxy.domain.requests.texts import Blocks, after, has_media, says_something, takes_text, text_of
from proxy.domain.wire import Edit, Part, Payload, Prompt

BLOCKS = Blocks("text", gap="")


class ChatCompletions:
    name = "chat_completions"

    def read(self, payload: Payload) -> Prompt | None:
        messages = payload.get("messages")
        if not isinstance(messages, list):
            return None
        parts = [part_of(message, place) for place, message in enumerate(messages)]
        if not says_something(parts):
            return None
        return Prompt(model_of(payload), parts, is_system(messages[0]), is_stream(payload, default=False))

    def apply(self, payload: Payload, prompt: Prompt, edit: Edit) -> None:
        messages: list[Any] = payload["messages"]
        for index, block in edit.tails.items():
            message = messages[prompt.parts[index].place]
            message["content"] = BLOCKS.after(message["content"], block)
        if edit.top and prompt.has_system:
            messages[0]["content"] = BLOCKS.before(messages[0]["content"], edit.top)
        if edit.without:
            messages[:] = [message for place, message in enumerate(messages) if place not in edit.without]
        if edit.top and not prompt.has_system:
            messages.insert(0, {"role": "system", "content": after(edit.modelfile_system, edit.top)})

    def warm(self, payload: Payload, by: float, seed: int) -> None:
        warm(payload, by, default=1.0)
        payload["seed"] = seed


def part_of(message: object, place: int) -> Part:
    if not isinstance(message, dict):
        return Part("user", "", place)
    role, content = role_of(message), message.get("content")
    calls = calls_of(message) if role == "assistant" else ()
    is_heard = role in HEARD
    return Part(role, text_of(content), place, is_heard and takes_text(content), calls, is_heard and has_media(content))


def is_system(message: object) -> bool:
    """Whether this first message is the system's, or the developer's, which OpenAI's models take for it."""
    return isinstance(message, dict) and role_of(message) == "system" and takes_text(message.get("content"))


CHAT_COMPLETIONS = ChatCompletions()
