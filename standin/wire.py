"""Answers and their bytes as Ollama writes them: Go's JSON, gin's replies, NDJSON lines."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import orjson

Json = dict[str, Any]

# A constant time, so that two answers to one request are equal to the byte.
NOW = "2026-01-01T12:00:00.123456789Z"
UNIX_NOW = 1_767_268_800

JSON_TYPE = "application/json; charset=utf-8"
TRANSLATED_TYPE = "application/json"  # of OpenAI's and Anthropic's APIs; without a charset, unlike gin's own
NDJSON_TYPE = "application/x-ndjson"
SSE_TYPE = "text/event-stream"

Headers = tuple[tuple[str, str], ...]

# encoding/json escapes these in every string, to make its output safe inside HTML.
HTML_ESCAPES = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


class StandInError(Exception):
    """Raised to do something else than answer.

    StandInError
    ├── Refusal        a status and a message
    └── ConnectionCut  an end in the middle
    """


class Refusal(StandInError):
    """Answered with this status and message in the API's own shape or, once a stream has begun, as its last part."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class ConnectionCut(StandInError):
    """Closes the connection after ``torn``, the first half of the bytes to be sent. ``content_type`` is for an answer
    that has not begun."""

    def __init__(self, torn: bytes, content_type: str = "") -> None:
        super().__init__("connection cut")
        self.torn = torn
        self.content_type = content_type


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer that is sent as a whole."""

    body: bytes = b""
    status: int = 200
    content_type: str = ""
    headers: Headers = ()


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer in parts. Status and headers wait for the first part, unless ``headers_first``."""

    parts: AsyncIterator[bytes]
    content_type: str = NDJSON_TYPE
    headers: Headers = ()
    headers_first: bool = False


def go_json(value: object) -> bytes:
    """Return compact JSON, byte for byte what Go's ``json.Marshal`` writes for the same strings and whole numbers."""
    encoded = orjson.dumps(value)
    for plain, escaped in HTML_ESCAPES:
        encoded = encoded.replace(plain, escaped)
    return encoded


def line(value: object) -> bytes:
    return go_json(value) + b"\n"


def data(value: object) -> bytes:
    """Format a server-sent event without a name."""
    return b"data: " + go_json(value) + b"\n\n"


def event(name: str, value: object) -> bytes:
    """Format a server-sent event."""
    return b"event: " + name.encode() + b"\n" + data(value)


def json_reply(value: object, *, status: int = 200) -> Reply:
    return Reply(go_json(value), status, JSON_TYPE)


def translated_reply(value: object, *, status: int = 200) -> Reply:
    return Reply(line(value), status, TRANSLATED_TYPE)


def text_reply(text: str, *, status: int = 200, content_type: str = "text/plain") -> Reply:
    return Reply(text.encode(), status, content_type)
