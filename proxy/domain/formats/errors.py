"""Errors as the API of a path tells them: Ollama's own, OpenAI's, or Anthropic's."""

from typing import Any

OPENAI = "/v1/"
ANTHROPIC = "/v1/messages"  # and what is below it
OTHER = "api_error"
# As far as Ollama names them, it does so like this; the others are the names that the two vendors document.
OPENAI_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "invalid_request_error",
}
ANTHROPIC_TYPES = {**OPENAI_TYPES, 413: "request_too_large", 503: "overloaded_error"}


def error_body(path: str, status: int, message: str) -> dict[str, Any]:
    """The JSON object with which clients of that path expect an error."""
    if path == ANTHROPIC or path.startswith(ANTHROPIC + "/"):
        return {"type": "error", "error": {"type": ANTHROPIC_TYPES.get(status, OTHER), "message": message}}
    if path.startswith(OPENAI):
        kind = OPENAI_TYPES.get(status, OTHER)
        return {"error": {"message": message, "type": kind, "param": None, "code": None}}
    return {"error": message}
