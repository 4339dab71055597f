"""Common parts of OpenAI's endpoints, as Ollama translates them (its openai/ and middleware/)."""

from standin.wire import Headers, Json, Refusal, go_json

KEPT_OPEN: Headers = (("cache-control", "no-cache"), ("connection", "keep-alive"))  # for streams of named events only
ERROR_TYPES = {400: "invalid_request_error", 404: "not_found_error"}


def error(refusal: Refusal) -> Json:
    kind = ERROR_TYPES.get(refusal.status, "api_error")
    return {"error": {"message": refusal.message, "type": kind, "param": None, "code": None}}


def tool_calls(calls: tuple[Json, ...]) -> list[Json]:
    """Return the model's calls, with their arguments as strings."""
    return [
        {
            "id": call["id"],
            "index": call["function"]["index"],
            "type": "function",
            "function": {"name": call["function"]["name"], "arguments": arguments(call)},
        }
        for call in calls
    ]


def arguments(call: Json) -> str:
    return go_json(call["function"]["arguments"]).decode()


def think(effort: str | None) -> object:
    """Convert ``effort`` to the native API's ``think``; None if it is not given."""
    return False if effort == "none" else effort or None
