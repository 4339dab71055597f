"""What passes through: messages with a role, as every wire format has them."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a prompt. ``role`` as the client named it: system, user, assistant, tool."""

    role: str
    text: str
