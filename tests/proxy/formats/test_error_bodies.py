"""Whose shape an error has follows from the path."""

import pytest

from proxy.formats import error_body

NATIVE = {"error": "it is away"}


def openai(kind: str) -> object:
    return {"error": {"message": "it is away", "type": kind, "param": None, "code": None}}


def anthropic(kind: str) -> object:
    return {"type": "error", "error": {"type": kind, "message": "it is away"}}


@pytest.mark.parametrize(
    ("path", "status", "shape"),
    [
        ("/api/chat", 502, NATIVE),
        ("/api/v1/messages", 401, NATIVE),
        ("/iknowthat", 404, NATIVE),
        ("/v1", 404, NATIVE),
        ("", 400, NATIVE),
        ("/v1/chat/completions", 502, openai("api_error")),
        ("/v1/responses", 401, openai("authentication_error")),
        ("/v1/models/llama3", 404, openai("not_found_error")),
        ("/v1/audio/transcriptions", 413, openai("invalid_request_error")),
        ("/v1/message", 400, openai("invalid_request_error")),
        ("/v1/messages", 508, anthropic("api_error")),
        ("/v1/messages", 413, anthropic("request_too_large")),
        ("/v1/messages", 503, anthropic("overloaded_error")),
        ("/v1/messages/count_tokens", 403, anthropic("permission_error")),
    ],
)
def test_an_error_has_the_shape_of_its_path(path: str, status: int, shape: object) -> None:
    assert error_body(path, status, "it is away") == shape
