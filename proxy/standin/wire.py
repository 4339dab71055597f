"""Answers, and their bytes as Ollama writes them: Go's JSON, gin's replies, NDJSON lines."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import orjson

Json = dict[str, Any]

JSON_TYPE = "application/json; charset=utf-8"
NDJSON_TYPE = "application/x-ndjson"

# encoding/json escapes these in every string, so that its output may stand inside HTML.
HTML_ESCAPES = (
    (b"<", b"\\u003c"),
    (b">", b"\\u003e"),
    (b"&", b"\\u0026"),
    ("\u2028".encode(), b"\\u2028"),
    ("\u2029".encode(), b"\\u2029"),
)


class StandInError(Exception):
    """Something the stand-in does instead of answering.

    StandInError
    ├── Refusal        a status and a message
    └── ConnectionCut  an end in the middle
    """


class Refusal(StandInError):
    """Answered with this status and ``{"error": message}``; a last line of that kind once a stream runs."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


class ConnectionCut(StandInError):
    """The connection closes here, after ``torn``: the first half of the bytes that were due."""

    def __init__(self, torn: bytes) -> None:
        super().__init__("connection cut")
        self.torn = torn


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer known as a whole."""

    body: bytes = b""
    status: int = 200
    content_type: str = ""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer in parts. Status and headers wait for the first one, unless ``headers_first``."""

    parts: AsyncIterator[bytes]
    headers_first: bool = False


def go_json(value: object) -> bytes:
    """Compact JSON, byte for byte what Go's ``json.Marshal`` makes of the same strings and whole numbers."""
    encoded = orjson.dumps(value)
    for plain, escaped in HTML_ESCAPES:
        encoded = encoded.replace(plain, escaped)
    return encoded


def line(value: object) -> bytes:
    return go_json(value) + b"\n"


def json_reply(value: object, *, status: int = 200) -> Reply:
    return Reply(go_json(value), status, JSON_TYPE)


def text_reply(text: str, *, status: int = 200, content_type: str = "text/plain") -> Reply:
    return Reply(text.encode(), status, content_type)


def refused(refusal: Refusal) -> Reply:
    return json_reply({"error": refusal.message}, status=refusal.status)
