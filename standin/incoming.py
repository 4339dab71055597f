"""Requests as they arrived, for the handlers and for ``GET /standin/requests``."""

import base64
import hashlib
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from standin.wire import Json, Refusal

Receive = Callable[[], Awaitable[Mapping[str, Any]]]

KEPT_REQUESTS = 1000
KEPT_BODY_BYTES = 1024 * 1024  # per request, enough for a prompt of 200,000 tokens
KEPT_TOTAL_BYTES = 64 * 1024 * 1024  # for all requests, so that memory stays bounded in long runs


class ClientLeft(Exception):
    """The client closed the connection before its request was complete."""


@dataclass(slots=True)
class Request:
    """A request. ``body`` may be truncated (see ``read``); ``size`` and ``digest`` are always those of the whole
    body."""

    method: str
    path: str
    raw_path: str
    query: str
    headers: list[tuple[str, str]]
    body: bytearray = field(default_factory=bytearray)
    size: int = 0
    disconnected: bool | None = None
    _sha256: Any = field(default_factory=hashlib.sha256)

    @classmethod
    def from_scope(cls, scope: Mapping[str, Any]) -> "Request":
        return cls(
            method=scope["method"],
            path=scope["path"],
            raw_path=scope["raw_path"].decode("latin-1"),
            query=scope["query_string"].decode("latin-1"),
            headers=[(name.decode("latin-1"), value.decode("latin-1")) for name, value in scope["headers"]],
        )

    @property
    def digest(self) -> str:
        return f"sha256:{self._sha256.hexdigest()}"

    async def read(self, receive: Receive, *, limit: int | None = None) -> None:
        """Read the body to its end and keep its first ``limit`` bytes (None: all). Raises ClientLeft."""
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientLeft
            self._take(message.get("body", b""), limit)
            if not message.get("more_body"):
                return

    def _take(self, part: bytes, limit: int | None) -> None:
        self.size += len(part)
        self._sha256.update(part)
        self.body += part if limit is None else part[: max(0, limit - len(self.body))]

    def json(self) -> Json:
        """Return the body, which must be a JSON object. Raises Refusal."""
        try:
            asked = orjson.loads(self.body)
        except orjson.JSONDecodeError as error:
            raise Refusal(400, str(error)) from error
        if not isinstance(asked, dict):
            raise Refusal(400, "the body is no JSON object")
        return asked

    def as_json(self) -> Json:
        return {
            "method": self.method,
            "path": self.raw_path,
            "query": self.query,
            "headers": self.headers,
            "body_text": self.body.decode(errors="replace"),
            "body_base64": base64.b64encode(self.body).decode(),
            "body_bytes": self.size,
            "body_digest": self.digest,
            "disconnected": self.disconnected,
        }


class RequestLog:
    """The last requests, oldest first; bounded in number and bytes."""

    def __init__(self) -> None:
        self._requests: deque[Request] = deque(maxlen=KEPT_REQUESTS)

    def open(self, request: Request) -> None:
        """Add the request when its first byte arrives, so that a test can watch an upload grow."""
        self._requests.append(request)

    def close(self, request: Request, *, disconnected: bool) -> None:
        """Store how the request ended, and drop what exceeds the bounds."""
        request.disconnected = disconnected
        del request.body[KEPT_BODY_BYTES:]
        while sum(len(kept.body) for kept in self._requests) > KEPT_TOTAL_BYTES:
            self._requests.popleft()

    def clear(self) -> None:
        self._requests.clear()

    def as_json(self, last: int) -> Json:
        return {"requests": [request.as_json() for request in list(self._requests)[-last:]]}
