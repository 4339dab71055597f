"""Random conversations, as each format's clients send them, and what the model sees of a request: after Ollama's own
sources, apart from the code under test."""

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hypothesis import strategies as st

from proxy.formats.anthropic_messages import AnthropicMessages
from proxy.formats.base import WireFormat
from proxy.formats.ollama import OllamaChat, OllamaGenerate
from proxy.formats.openai_chat import OpenAIChat, OpenAICompletions
from proxy.formats.openai_responses import OpenAIResponses

CHAT = OllamaChat()
CHAT_COMPLETIONS = OpenAIChat()
GENERATE = OllamaGenerate()
MESSAGES = AnthropicMessages()
RESPONSES = OpenAIResponses()
COMPLETIONS = OpenAICompletions()

Payload = dict[str, Any]
Seen = Sequence[tuple[str, str]] | str  # the roles and texts of messages, or one prompt


class Turn(NamedTuple):
    """``speaker``: user, assistant, call (of a tool), result. ``texts``: one block each where ``is_list``."""

    speaker: str
    texts: list[str]
    is_list: bool


class Case(NamedTuple):
    """``build`` makes the payload of a conversation, with or without a system text; ``seen`` is what the model sees."""

    name: str
    wire: WireFormat
    build: Callable[[str, list[Turn]], Payload]
    seen: Callable[[Payload], Seen]


words = st.text(st.sampled_from("ab#: \n\tü\u00a0"), max_size=12)
texts = st.one_of(words, words, st.sampled_from(["### User:\nx", "y\n### Assistant:\n", "", "### ", "<a>"]))
turns = st.builds(
    Turn,
    st.sampled_from(["user", "user", "assistant", "call", "result"]),
    st.lists(texts, min_size=1, max_size=3),
    st.booleans(),
)
conversations = st.lists(turns, min_size=1, max_size=8)
systems = st.one_of(st.just(""), st.sampled_from(["You are Mario.", "S\n"]))


def native(system: str, said: list[Turn]) -> Payload:
    call = {"function": {"name": "f", "arguments": {"a": 1}}}
    messages = [{"role": "system", "content": system}] if system else []
    for turn in said:
        message = {"role": ROLES[turn.speaker], "content": "".join(turn.texts)}
        messages.append(message | {"tool_calls": [call]} if turn.speaker == "call" else message)
    return {"model": "m", "messages": messages}


def openai(system: str, said: list[Turn]) -> Payload:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    messages: list[Payload] = [{"role": "system", "content": [text("text", system)]}] if system else []
    for turn in said:
        message = {"role": ROLES[turn.speaker], "content": content("text", turn)}
        messages.append(message | {"tool_calls": [call]} if turn.speaker == "call" else message)
    return {"messages": messages, "model": "m"}


def flattened(system: str, said: list[Turn]) -> Payload:
    prompt = f"### System:\n{system}\n\n" if system else ""
    for turn in said:
        header = "User" if turn.speaker in ("user", "result") else "Assistant"
        prompt += f"### {header}:\n{''.join(turn.texts)}\n\n"
    return {"model": "m", "prompt": prompt, "options": {}, "images": []}


def beside(system: str, said: list[Turn]) -> Payload:
    return flattened("", said) | {"system": system}


def items(system: str, said: list[Turn]) -> Payload:
    given: list[Payload] = [{"role": "developer", "content": [text("input_text", system)]}] if system else []
    for turn in said:
        if turn.speaker == "call":
            given.append({"type": "reasoning", "summary": []})
            given.append({"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"})
        elif turn.speaker == "result":
            given.append({"type": "function_call_output", "call_id": "1", "output": content("input_text", turn)})
        else:
            kind = "output_text" if turn.speaker == "assistant" else "input_text"
            given.append({"type": "message", "role": turn.speaker, "content": content(kind, turn)})
    return {"model": "m", "input": given}


def instructed(system: str, said: list[Turn]) -> Payload:
    return {**items("", said), "instructions": system}


def anthropic(system: str, said: list[Turn]) -> Payload:
    messages: list[Payload] = []
    for turn in said:
        if turn.speaker == "result":
            results = [{"type": "tool_result", "tool_use_id": "1", "content": said} for said in turn.texts]
            messages.append({"role": "user", "content": [*results, text("text", "and")] if turn.is_list else results})
        elif turn.speaker == "call":
            use = {"type": "tool_use", "id": "1", "name": "f", "input": {}}
            messages.append({"role": "assistant", "content": [text("text", turn.texts[0]), use]})
        else:
            messages.append({"role": turn.speaker, "content": content("text", turn)})
    return {"model": "m", "max_tokens": 9, "system": [text("text", system)] if system else [], "messages": messages}


ROLES = {"user": "user", "assistant": "assistant", "call": "assistant", "result": "tool"}


def text(kind: str, said: str) -> Payload:
    return {"type": kind, "text": said}


def content(kind: str, turn: Turn) -> Any:
    return [text(kind, said) for said in turn.texts] if turn.is_list else "".join(turn.texts)


def seen_in_chat(payload: Payload) -> Seen:
    return [(message["role"], message["content"]) for message in payload["messages"]]


def seen_in_chat_completions(payload: Payload) -> Seen:
    """Each block becomes a message of its own."""
    seen = []
    for message in payload["messages"]:
        said = message["content"]
        seen += [(message["role"], one) for one in ([said] if isinstance(said, str) else [one["text"] for one in said])]
    return seen


def seen_in_generate(payload: Payload) -> Seen:
    return f"{payload.get('system', '')}<|user|>{payload['prompt']}"


def seen_in_completions(payload: Payload) -> Seen:
    prompt: str = payload["prompt"]
    return prompt


def seen_in_responses(payload: Payload) -> Seen:
    seen = [("system", payload["instructions"])] if payload.get("instructions") else []
    for item in payload["input"]:
        if item["type" if "type" in item else "role"] in ("function_call", "reasoning"):
            seen.append(("assistant", json.dumps(item)))
        else:
            seen.append((item.get("role", "tool"), together(item.get("content", item.get("output")))))
    return seen


def seen_in_messages(payload: Payload) -> Seen:
    """The results of tools become messages before the user's own."""
    system = together(payload.get("system", ""))
    seen = [("system", system)] if system else []
    for message in payload["messages"]:
        blocks = [text("text", message["content"])] if isinstance(message["content"], str) else message["content"]
        seen += [("tool", one["content"]) for one in blocks if one["type"] == "tool_result"]
        if said := together(blocks):
            seen.append((message["role"], said))
    return seen


def together(given: Any) -> str:
    return given if isinstance(given, str) else "".join(one.get("text", "") for one in given)


CASES = [
    Case("chat", CHAT, native, seen_in_chat),
    Case("chat completions", CHAT_COMPLETIONS, openai, seen_in_chat_completions),
    Case("generate", GENERATE, flattened, seen_in_generate),
    Case("generate, system beside", GENERATE, beside, seen_in_generate),
    Case("completions", COMPLETIONS, flattened, seen_in_completions),
    Case("responses", RESPONSES, items, seen_in_responses),
    Case("responses, instructions", RESPONSES, instructed, seen_in_responses),
    Case("messages", MESSAGES, anthropic, seen_in_messages),
]
