"""Ollama's own wire formats: where the texts of ``/api/chat`` and ``/api/generate`` are, where a block goes.

Payloads are parsed JSON objects and are changed in place. Nothing here raises on a payload of another shape:
what is not understood is not enriched.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from memory.domain.messages import Message

Payload = dict[str, Any]
GAP = "\n\n"

# How LiteLLM flattens a conversation into one prompt: "### System:\n...\n\n### User:\n...\n\n".
SECTION = re.compile(r"^### (System|User|Assistant):\n", re.MULTILINE)
SYSTEM_HEADER = "### System:\n"
FLATTENED_HEADERS = (SYSTEM_HEADER, "### User:\n", "### Assistant:\n")


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a request says. Without ``has_system``, a block at the top would replace the Modelfile's SYSTEM."""

    model: str
    messages: list[Message]
    has_system: bool


@dataclass(frozen=True, slots=True)
class WireFormat:
    """``read`` returns None for a request that is never enriched. ``place`` puts a block into the payload;
    its third argument is the Modelfile's SYSTEM, None where it is not known (yet): then the block goes to the
    tail. ``place`` returns False where it found no place."""

    name: str
    read: Callable[[Payload], Prompt | None]
    place: Callable[[Payload, str, str | None], bool]


def read_chat(payload: Payload) -> Prompt | None:
    messages = payload.get("messages")
    if not isinstance(messages, list) or not messages:
        return None  # loads or unloads the model
    texts = [
        Message(message["role"], message["content"])
        for message in messages
        if isinstance(message, dict)
        and isinstance(message.get("role"), str)
        and isinstance(message.get("content"), str)
    ]
    return Prompt(_model(payload), texts, has_system=_is_system(messages[0])) if texts else None


def place_in_chat(payload: Payload, block: str, modelfile_system: str | None) -> bool:
    messages = payload["messages"]
    if _is_system(messages[0]):
        messages[0]["content"] = block + GAP + messages[0]["content"]
        return True
    if modelfile_system is not None:
        messages.insert(0, {"role": "system", "content": _after(modelfile_system, block)})
        return True
    last = messages[-1]
    if not isinstance(last, dict) or last.get("role") not in ("user", "tool"):
        return False
    if not isinstance(last.get("content"), str):
        return False
    last["content"] += GAP + block
    return True


def read_generate(payload: Payload) -> Prompt | None:
    prompt = payload.get("prompt")
    if not isinstance(prompt, str) or not prompt:
        return None  # loads or unloads the model
    if payload.get("raw") or payload.get("suffix") or payload.get("template"):
        return None
    system = payload.get("system")
    texts = [Message("system", system)] if isinstance(system, str) and system else []
    has_system = bool(texts) or prompt.startswith(SYSTEM_HEADER)
    return Prompt(_model(payload), texts + sections(prompt), has_system)


def place_in_generate(payload: Payload, block: str, modelfile_system: str | None) -> bool:
    prompt, system = payload["prompt"], payload.get("system")
    if isinstance(system, str) and system:
        payload["system"] = block + GAP + system
    elif prompt.startswith(SYSTEM_HEADER):
        payload["prompt"] = SYSTEM_HEADER + block + GAP + prompt.removeprefix(SYSTEM_HEADER)
    elif modelfile_system is not None:
        payload["system"] = _after(modelfile_system, block)
    elif sections(prompt)[-1].role == "assistant":
        return False
    else:
        said = prompt.rstrip()
        payload["prompt"] = said + GAP + block + prompt[len(said) :]
    return True


def sections(prompt: str) -> list[Message]:
    """The messages of a flattened prompt; any other prompt is one message of the user."""
    if not prompt.startswith(FLATTENED_HEADERS):
        return [Message("user", prompt)]
    parts = SECTION.split(prompt)[1:]
    return [Message(role.lower(), text.strip()) for role, text in zip(parts[::2], parts[1::2], strict=True)]


def _is_system(message: object) -> bool:
    return isinstance(message, dict) and message.get("role") == "system" and isinstance(message.get("content"), str)


def _after(system: str, block: str) -> str:
    return system + GAP + block if system else block


def _model(payload: Payload) -> str:
    model = payload.get("model")
    return model if isinstance(model, str) else ""


CHAT = WireFormat("chat", read_chat, place_in_chat)
GENERATE = WireFormat("generate", read_generate, place_in_generate)
