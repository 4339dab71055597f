"""The same conversation as clients write it in each wire format, and what a model gets of it."""

import json
import re
from collections.abc import Callable
from typing import Any

from memory.recall.block import CLOSING, OPENING

Turn = tuple[str, str]  # role, text


def as_chat(turns: list[Turn]) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": role, "content": text} for role, text in turns]}


def as_flattened(turns: list[Turn]) -> dict[str, Any]:
    named = {"system": "System", "assistant": "Assistant"}
    sections = [f"### {named.get(role, 'User')}:\n{text}\n\n" for role, text in turns]
    return {"model": "m", "prompt": "".join(sections)}


def as_messages(turns: list[Turn]) -> dict[str, Any]:
    system = "".join(text for role, text in turns if role == "system")
    said = [{"role": "assistant" if role == "assistant" else "user", "content": text} for role, text in turns]
    messages = [message for message, (role, _) in zip(said, turns, strict=True) if role != "system"]
    return {"model": "m", "max_tokens": 9, **({"system": system} if system else {}), "messages": messages}


def as_responses(turns: list[Turn]) -> dict[str, Any]:
    said = [{"role": "assistant" if role == "assistant" else "user", "content": text} for role, text in turns]
    items = [item for item, (role, _) in zip(said, turns, strict=True) if role != "system"]
    system = "".join(text for role, text in turns if role == "system")
    return {"model": "m", **({"instructions": system} if system else {}), "input": items}


def rendered(payload: dict[str, Any]) -> str:
    """One text in the order in which a model evaluates it."""
    if "prompt" in payload:
        return str(payload.get("system", "")) + "\0" + str(payload["prompt"])
    told = payload.get("system") or payload.get("instructions") or ""
    texts = [told] if told else []
    for message in payload.get("messages") or payload["input"]:
        content = message["content"]
        texts.append(content if isinstance(content, str) else json.dumps(content))
    return "\0".join(texts)


# By name: the path, and what writes a request.
FORMATS: dict[str, tuple[str, Callable[[list[Turn]], dict[str, Any]]]] = {
    "chat": ("/api/chat", as_chat),
    "flattened": ("/api/generate", as_flattened),
    "chat_completions": ("/v1/chat/completions", as_chat),
    "messages": ("/v1/messages", as_messages),
    "responses": ("/v1/responses", as_responses),
}


def shared(one: str, other: str) -> int:
    """How many characters both begin with."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def without_blocks(model: str, client: str) -> int:
    """How far the client's text reaches into this beginning of what the model gets."""
    at = reached = 0
    while at < len(model):
        if model.startswith(OPENING, at):
            end = model.find(CLOSING, at)
            if end < 0:
                return len(client)  # it breaks off within a block: all of the client's text before it is there
            at = end + len(CLOSING)
        elif reached < len(client) and model[at] == client[reached]:
            at, reached = at + 1, reached + 1
        else:
            assert model[at] in "\n\0", "what is neither the client's nor a block's is the gap between them"
            at += 1
    return reached


def blocks_of(model: str) -> list[str]:
    """What each block of the prompt says, in their order."""
    text = model.replace("\\n", "\n")
    parts = text.split(OPENING)[1:]
    return [part.partition(CLOSING)[0] for part in parts]


def facts_in(text: str) -> dict[tuple[str, str], tuple[str, bool]]:
    """What the lines of blocks state: by concept and dimension the parent, and whether it is marked as disputed."""
    found = {}
    for line in text.splitlines():
        if head := re.match(r"([^\s:]+): (?=\[)", line):
            for dimension, mark, parent in re.findall(r"\[([^\]?]+)(\??)\] (\S+)", line[head.end() :]):
                found[head[1], dimension] = (parent, bool(mark))
    return found
