"""ASGI's types, as loose as in Django's stubs, and the two messages of an answer."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from proxy.upstream.headers import Headers

AsgiScope = dict[str, Any]
Event = Mapping[str, Any]
Receive = Callable[[], Awaitable[Event]]
Send = Callable[[Event], Awaitable[None]]
Application = Callable[[AsgiScope, Receive, Send], Awaitable[None]]


def start(status: int, headers: Headers) -> Event:
    return {"type": "http.response.start", "status": status, "headers": headers}


def body(chunk: bytes, *, more: bool) -> Event:
    return {"type": "http.response.body", "body": chunk, "more_body": more}
