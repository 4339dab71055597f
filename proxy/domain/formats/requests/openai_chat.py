"""Requests to OpenAI's ``/v1/chat/completions``: messages whose content is a string or a list of blocks, arguments of
calls as JSON in a string."""

from proxy.domain.formats.base import Part, Payload
from proxy.domain.formats.requests.content_blocks import has_media, takes_text, text_of
from proxy.domain.formats.requests.message_list import MessageList
from proxy.domain.formats.requests.options import warm
from proxy.domain.formats.requests.roles import HEARD, calls_of, role_of


class ChatCompletions(MessageList):
    name = "chat_completions"
    streams_by_default = False

    def warm(self, payload: Payload, by: float, seed: int) -> None:
        warm(payload, by, default=1.0)
        payload["seed"] = seed

    def part_of(self, message: object, place: int) -> Part:
        if not isinstance(message, dict):
            return Part("user", "", place)
        role, content = role_of(message), message.get("content")
        calls = calls_of(message) if role == "assistant" else ()
        is_heard = role in HEARD
        takes_block = is_heard and takes_text(content)
        return Part(role, text_of(content), place, takes_block, calls, is_heard and has_media(content))

    def is_system(self, message: object) -> bool:
        """Whether this first message is the system's, or the developer's, which OpenAI's models take for it."""
        return isinstance(message, dict) and role_of(message) == "system" and takes_text(message.get("content"))


CHAT_COMPLETIONS = ChatCompletions()
