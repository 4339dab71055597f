"""Requests to Ollama's ``/api/chat``: a list of messages whose content is a string."""

from proxy.domain.formats.base import Part, Payload
from proxy.domain.formats.requests.message_list import MessageList
from proxy.domain.formats.requests.options import warm_native
from proxy.domain.formats.requests.roles import HEARD, calls_of, role_of


class Chat(MessageList):
    name = "chat"
    streams_by_default = True

    def warm(self, payload: Payload, by: float, seed: int) -> None:
        warm_native(payload, by, seed)

    def part_of(self, message: object, place: int) -> Part:
        if not isinstance(message, dict):
            return Part("user", "", place)
        role, content = role_of(message), message.get("content")
        calls = calls_of(message) if role == "assistant" else ()
        has_images = role in HEARD and bool(message.get("images"))
        if not isinstance(content, str):
            return Part(role, "", place, calls=calls, has_media=has_images)
        return Part(role, content, place, role in HEARD, calls, has_images)

    def is_system(self, message: object) -> bool:
        """Whether Ollama leaves out the Modelfile's SYSTEM because of this first message; for a developer's it does
        not."""
        if not isinstance(message, dict) or not isinstance(message.get("content"), str):
            return False
        role = message.get("role")
        return isinstance(role, str) and role.lower() == "system"


CHAT = Chat()
