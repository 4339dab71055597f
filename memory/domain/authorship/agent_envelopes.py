"""Unwraps the JSON in which Agent Zero puts what a person says and what a tool returns."""

import json
import re
from typing import Final, TypedDict, cast

import orjson

_PERSON: Final = "user_message"
_TOOL: Final = ("tool_name", "tool_result")
# Roles whose text only the model or a tool wrote: an envelope in it does not make it a person's.
_NEVER_A_PERSON: Final = frozenset({"assistant", "tool"})
_NAMES_TOOLS: Final = frozenset({"assistant", "system"})
_JOINED_MAX: Final = 100  # envelopes of one text
_AGENT_NUMBER: Final = re.compile(r"Agent Number: (\d{1,6})")
_BEGINS: Final = re.compile(r"\s*\{")
_DECODER: Final = json.JSONDecoder()


class Envelope(TypedDict, total=False):
    user_message: object
    tool_name: object
    tool_result: object


def unwrap(text: str, role: str) -> tuple[str, str]:
    """Return the text inside an envelope and the role it was said in; any other text and role unchanged."""
    # Clients join consecutive messages: all envelopes of a text count, as a tool's if one of them is a tool's, because
    # a tool is believed least. Nobody has said what follows them: Agent Zero's ``[EXTRAS]``, what it remembers, rebuilt
    # each turn.
    said: list[str] = []
    roles = set()
    for envelope, whole in _open_envelopes(text):
        message = envelope.get("user_message")
        if _is_result(envelope):
            said.append(_write_result(envelope["tool_result"], whole))
            roles.add("tool")
        elif isinstance(message, str):
            said.append(message)
            roles.add(role if role in _NEVER_A_PERSON else "user")
    if not said:
        return text, role
    return "\n".join(said), "tool" if "tool" in roles else roles.pop()


def is_person_envelope(text: str) -> bool:
    """True if the text is an envelope that holds what a person said, with nothing before it."""
    first = _open_envelopes(text)[:1]
    return any(isinstance(envelope.get("user_message"), str) and not _is_result(envelope) for envelope, _ in first)


def _is_result(envelope: Envelope) -> bool:
    return all(key in envelope for key in _TOOL)


def is_delegated(text: str) -> bool:
    """True if one agent tells this to another in such an envelope: only the first, number 0, talks with a person."""
    number = _AGENT_NUMBER.search(text) if is_person_envelope(text) else None
    return number is not None and int(number[1]) > 0


def unwrap_answer(text: str) -> str:
    """Return the text of the response in a model's Agent Zero JSON; "" if it calls another tool; any other text
    unchanged."""
    if not text[:1000].lstrip().startswith("{") or '"tool_name"' not in text:
        return text
    try:
        call = orjson.loads(text)
    except orjson.JSONDecodeError:
        return text
    if not isinstance(call, dict) or "tool_args" not in call:
        return text
    given = call["tool_args"] if call.get("tool_name") == "response" else None
    said = given.get("text") if isinstance(given, dict) else None
    return said if isinstance(said, str) else ""


def shows_tools(text: str, role: str) -> bool:
    """True if a message shows that the agent works as Agent Zero does: messages of people and tools come in an
    envelope, and the system text and the model name their tools in JSON."""
    if role in _NAMES_TOOLS:
        return '"tool_name"' in text
    return _BEGINS.match(text) is not None and ('"user_message"' in text or '"tool_name"' in text)


def _write_result(result: object, envelope: str) -> str:
    """Return the result, or the whole envelope if the result is nested too deep to be written."""
    if isinstance(result, str):
        return result
    try:
        return orjson.dumps(result).decode()
    except orjson.JSONEncodeError:
        return envelope


def _open_envelopes(text: str) -> list[tuple[Envelope, str]]:
    """Return the JSON objects that the text begins with, each with its own text."""
    # Parsing is for the few messages that can be envelopes; the first character rules out most.
    if _BEGINS.match(text) is None or not (_PERSON in text or all(key in text for key in _TOOL)):
        return []
    try:
        envelope = orjson.loads(text)
    except orjson.JSONDecodeError:
        return _open_joined(text)
    return [(cast(Envelope, envelope), text)] if isinstance(envelope, dict) else []


def _open_joined(text: str) -> list[tuple[Envelope, str]]:
    found: list[tuple[Envelope, str]] = []
    at = 0
    while len(found) < _JOINED_MAX and (begins := _BEGINS.match(text, at)):
        start = begins.end() - 1
        try:
            envelope, at = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            break
        found.append((envelope, text[start:at]))
    return found
