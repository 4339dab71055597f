"""The wire formats: how requests and answers look on each route that carries prompts.

A format is a class with the methods of ``base.WireFormat``: it reads a request into a ``Prompt``, applies an ``Edit``
to it, reads the running answer, and writes an answer of its own. To add one, write the class in a module here and
enter it in FORMATS; the routes, the enrichment and the admin pages use this table. What formats share is in
``payloads`` (requests) and ``streams`` (answers).
"""

from collections.abc import Mapping
from typing import Any, Final

from proxy.formats.anthropic_messages import AnthropicMessages
from proxy.formats.base import WireFormat
from proxy.formats.ollama import OllamaChat, OllamaGenerate
from proxy.formats.openai_chat import OpenAIChat, OpenAICompletions
from proxy.formats.openai_responses import OpenAIResponses

# By path.
FORMATS: Final[Mapping[str, WireFormat]] = {
    "/api/chat": OllamaChat(),
    "/api/generate": OllamaGenerate(),
    "/v1/chat/completions": OpenAIChat(),
    "/v1/completions": OpenAICompletions(),
    "/v1/responses": OpenAIResponses(),
    "/v1/messages": AnthropicMessages(),
}

# Fields that tell the requests of one path from those of others with the same long field.
DISTINCTIVE_FIELDS: Final[Mapping[str, frozenset[str]]] = {
    "/api/chat": frozenset({"options", "keep_alive", "format", "think"}),
    "/api/generate": frozenset({"options", "keep_alive", "format", "think", "system", "context", "raw"}),
    "/v1/chat/completions": frozenset(
        {"max_tokens", "max_completion_tokens", "temperature", "response_format", "tool_choice", "stream_options", "n"}
    ),
    "/v1/completions": frozenset({"max_tokens", "temperature", "top_p", "logprobs", "echo", "n", "stop"}),
    "/v1/messages": frozenset({"max_tokens", "system", "stop_sequences", "thinking", "metadata"}),
}

OTHER_ERROR = "api_error"
# Ollama's names where it has them; the others are those that the two vendors document.
OPENAI_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "invalid_request_error",
}
ANTHROPIC_ERRORS = {**OPENAI_ERRORS, 413: "request_too_large", 503: "overloaded_error"}


def error_body(path: str, status: int, message: str) -> dict[str, Any]:
    """Return an error as the JSON object that clients of the path expect. The path need not be in FORMATS."""
    if path == "/v1/messages" or path.startswith("/v1/messages/"):
        return {"type": "error", "error": {"type": ANTHROPIC_ERRORS.get(status, OTHER_ERROR), "message": message}}
    if path.startswith("/v1/"):
        kind = OPENAI_ERRORS.get(status, OTHER_ERROR)
        return {"error": {"message": message, "type": kind, "param": None, "code": None}}
    return {"error": message}


def guess_path(payload: Mapping[str, Any]) -> str | None:
    """Guess from its fields which path a request is for; None if it is for none."""
    fitting = [path for path, wire in FORMATS.items() if wire.long_field in payload]
    return max(fitting, key=lambda path: len(DISTINCTIVE_FIELDS.get(path, frozenset()) & payload.keys()), default=None)
