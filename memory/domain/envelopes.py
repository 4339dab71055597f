"""The JSON in which Agent Zero wraps what a person says and what a tool returns."""

from typing import Final, TypedDict, cast

import orjson

_PERSON: Final = "user_message"
_TOOL: Final = ("tool_name", "tool_result")
# Roles whose text nobody but the model or a tool wrote: a wrapping in it does not make it a person's.
_NEVER_A_PERSON: Final = frozenset({"assistant", "tool"})


class Envelope(TypedDict, total=False):
    user_message: object
    tool_name: object
    tool_result: object


def unwrap(text: str, role: str) -> tuple[str, str]:
    """The text inside an envelope and the role it was said in; anything else as it is."""
    envelope = _open(text)
    said = envelope.get("user_message")
    if isinstance(said, str):
        return said, role if role in _NEVER_A_PERSON else "user"
    if "tool_name" in envelope and "tool_result" in envelope:
        return _as_text(envelope["tool_result"], text), "tool"
    return text, role


def _as_text(result: object, envelope: str) -> str:
    """The result; the whole envelope where the result is nested deeper than can be written."""
    if isinstance(result, str):
        return result
    try:
        return orjson.dumps(result).decode()
    except orjson.JSONEncodeError:
        return envelope


def _open(text: str) -> Envelope:
    # Parsing is for the few messages that can be one; most are settled by their first character.
    if not text[:1000].lstrip().startswith("{") or not (_PERSON in text or all(key in text for key in _TOOL)):
        return {}
    try:
        envelope = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {}
    return cast(Envelope, envelope) if isinstance(envelope, dict) else {}
