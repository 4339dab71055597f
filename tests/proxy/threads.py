"""Threads of prompts that are written down as who says what."""

from collections.abc import Sequence

from memory.learning.reader import digest_message
from memory.types import Message
from proxy.formats.base import Part, Prompt, Role
from proxy.formats.prefixes import PrefixDigests

Said = tuple[Role, str]


def thread(*said: Said, model: str = "m") -> PrefixDigests:
    """Each message at a place of its own; blocks can be put after those that are heard."""
    return thread_of([Part(role, text, at, role in ("user", "tool")) for at, (role, text) in enumerate(said)], model)


def thread_of(parts: Sequence[Part], model: str = "m") -> PrefixDigests:
    prompt = Prompt(model, parts, parts[0].role == "system", is_stream=False)
    return PrefixDigests.of(prompt, [digest_message(Message(part.role, part.text)) for part in parts])
