"""The handler for prompts, which wait for the database only as long as proxy/enrichment/prompt_search.py allows."""

from collections.abc import Awaitable, Callable
from functools import cache
from io import BytesIO
from typing import cast

from django.core.handlers.asgi import ASGIHandler, ASGIRequest
from django.core.handlers.exception import convert_exception_to_response
from django.http import HttpRequest, HttpResponseBase
from django.urls import resolve

from memory import bounds
from proxy import runtime
from proxy.access.scopes import build_upstream_headers
from proxy.enrichment.prompt_metrics import ANSWERED
from proxy.errors import ProxyError, TooMuchAtOnce
from proxy.upstream.asgi_types import AsgiScope, Event, Receive, Send
from proxy.upstream.relay import ClientGone, Relay, limit_body, send_error, until_client_leaves

LARGE_BYTES = 1024 * 1024
ROOM_BYTES = 512 * 1024 * 1024  # for the large bodies of a process, at least
ROOM = bounds.define("bodies_at_once_bytes", "request bodies of over 1 MiB while others took 512 MiB, refused")

Respond = Callable[[HttpRequest], Awaitable[HttpResponseBase]]


class LeanHandler(ASGIHandler):
    """Handles prompts without middleware, signals and threads; a client that leaves stops the upstream."""

    # Django's own handler hands each request to a thread four times (signals that open and close database connections,
    # ``response.close()``, a thread pool per request). That costs more than the rest of the proxy.

    def load_middleware(self, is_async: bool = False) -> None:
        # No middleware: it is for the admin, and Django would run what is not async in threads.
        self._respond = cast(Respond, convert_exception_to_response(self._call_view))
        # Not bounded: festinger_site/asgi.py sends six paths here and no other.
        self._resolve = cache(resolve)

    async def _call_view(self, request: HttpRequest) -> HttpResponseBase:
        request.resolver_match = match = self._resolve(request.path_info)
        return await cast(Respond, match.func)(request)

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        with Share() as share:
            await self._answer_within(share, scope, receive, send)

    async def _answer_within(self, share: "Share", scope: AsgiScope, receive: Receive, send: Send) -> None:
        current = runtime.current()
        limit = current.settings_file.rules.limits.max_body_bytes
        try:
            # Before the body, so that a caller without a token cannot make this process read, or keep, 64 MiB.
            scope["upstream_headers"] = build_upstream_headers(scope)
            body = await read_body(share.count(limit_body(receive, limit), max(ROOM_BYTES, 2 * limit)))
        except ClientGone:
            # There is nobody to answer, and no upstream has been opened yet.
            return
        except ProxyError as error:
            ANSWERED.labels(scope["path"], error.status).inc()
            await send_error(send, scope["path"], error)
            return
        request = ASGIRequest(scope, BytesIO())
        # Already read: Django would copy it out of the stream.
        request._body = body
        await until_client_leaves(self._answer(request, send), receive)

    async def _answer(self, request: ASGIRequest, send: Send) -> None:
        # Nothing may be awaited between the view's return and this: a client that left in between would leave the
        # upstream's answer open.
        response = await self._respond(request)
        ANSWERED.labels(request.path, response.status_code).inc()
        if not isinstance(response, Relay):
            await self.send_response(response, send)
            return
        try:
            await response.send_to(send)
        finally:
            await response.aclose()


class Share:
    """The share of the room for large bodies that one request takes, until it is answered."""

    taken = 0  # bytes, by all requests

    def __init__(self) -> None:
        self._bytes = 0

    def __enter__(self) -> "Share":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bytes > LARGE_BYTES:
            Share.taken -= self._bytes

    def count(self, receive: Receive, room: int) -> Receive:
        """Wrap ``receive`` to raise TooMuchAtOnce if the bodies are large and exceed ``room`` together with others'."""

        async def count() -> Event:
            message = await receive()
            size = len(message.get("body", b""))
            before, self._bytes = self._bytes, self._bytes + size
            if self._bytes > LARGE_BYTES:
                Share.taken += size if before > LARGE_BYTES else self._bytes
                if Share.taken > room:
                    ROOM.count_bite(room=room)
                    raise TooMuchAtOnce
            return message

        return count


async def read_body(receive: Receive) -> bytes:
    """Return the whole body. Raises ClientGone if the client leaves before its end."""
    body = BytesIO()  # joining a thousand chunks at the end would make all streams wait
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        body.write(message.get("body", b""))
        if not message.get("more_body", False):
            return body.getvalue()
