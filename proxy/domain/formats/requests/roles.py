"""Who says a text, and what tools it calls."""

from typing import Any

import orjson

from proxy.domain.formats.base import Role, ToolCall

ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
HEARD: frozenset[Role] = frozenset({"user", "tool"})  # what the model answers to


def role_of(message: dict[str, Any]) -> Role:
    """Ollama takes a role in any case; one that is not known is the user's."""
    role = message.get("role")
    return (ROLES.get(role) or ROLES.get(role.lower(), "user")) if isinstance(role, str) else "user"


def calls_of(message: dict[str, Any]) -> tuple[ToolCall, ...]:
    """The calls of an assistant's message, as Ollama's chat and OpenAI's write them."""
    calls = message.get("tool_calls")
    if not isinstance(calls, list):
        return (call(message["function_call"]),) if isinstance(message.get("function_call"), dict) else ()
    functions = [one.get("function") for one in calls if isinstance(one, dict)]
    return tuple(call(function) for function in functions if isinstance(function, dict))


def call(function: dict[str, Any], arguments: str = "arguments") -> ToolCall:
    """``arguments``: the field in which they are, an object or its JSON."""
    name = function.get("name")
    return ToolCall(name if isinstance(name, str) else "", parsed(function.get(arguments)))


def parsed(arguments: object) -> object:
    if not isinstance(arguments, str):
        return arguments
    try:
        return orjson.loads(arguments)
    except orjson.JSONDecodeError:
        return arguments
