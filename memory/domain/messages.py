"""What passes through: messages with a role, as every wire format has them."""

from typing import NamedTuple


class Message(NamedTuple):
    """One message of a prompt. ``role`` as the client named it: system, user, assistant, tool."""

    role: str
    text: str
