"""Requests that are a list of messages, one part of the prompt each."""

from abc import ABC, abstractmethod
from typing import Any

from proxy.domain.formats.base import Edit, Part, Payload, Prompt, after
from proxy.domain.formats.requests.content_blocks import Blocks, says_something
from proxy.domain.formats.requests.options import is_stream, model_of

BLOCKS = Blocks("text", gap="")


class MessageList(ABC):
    name: str
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

    @abstractmethod
    def warm(self, payload: Payload, by: float, seed: int) -> None: ...

    @abstractmethod
    def part_of(self, message: object, place: int) -> Part: ...

    @abstractmethod
    def is_system(self, message: object) -> bool:
        """Whether a block can go before this first message's text."""
