"""Everything that is no prompt and not Festinger's own: streamed to the upstream and back, both ways."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from posixpath import normpath
from typing import Any

from django.conf import settings

from proxy import runtime
from proxy.access import forwarded_headers
from proxy.asgi import Event, Receive, Scope, Send
from proxy.errors import BodyTooLarge, NotFound, ProxyError, UpstreamUnreachable
from proxy.modelfiles import CHANGING
from proxy.relay import ClientGone, Relay, bounded, send_error, until_client_leaves

UNBOUNDED = "/api/blobs/"  # model files of many gigabytes
HIDDEN = ("/debug/", "//debug/")  # two slashes at the start survive the normalisation


class IncomingBody:
    """The request's body as the upstream client reads it. ``done`` is set when nothing more will come."""

    def __init__(self, receive: Receive) -> None:
        self.done = asyncio.Event()
        self.failure: ClientGone | ProxyError | None = None  # the upstream client hides what stops it
        self._receive = receive

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while not self.done.is_set():
            message = await self._next()
            if not message.get("more_body", False):
                self.done.set()
            if chunk := message.get("body", b""):
                yield chunk

    async def _next(self) -> Event:
        try:
            message = await self._receive()
            if message["type"] != "http.request":
                raise ClientGone
        except (ClientGone, BodyTooLarge) as failure:
            self.failure = failure
            raise
        return message


async def pass_through(scope: Scope, receive: Receive, send: Send) -> None:
    is_bounded = not scope["path"].startswith(UNBOUNDED)
    incoming = IncomingBody(bounded(receive, settings.FESTINGER_MAX_BODY_BYTES) if is_bounded else receive)

    async def gone() -> Event:
        await incoming.done.wait()
        while (event := await receive())["type"] != "http.disconnect":
            pass  # a request without a body still has one empty message
        return event

    await until_client_leaves(_forward(scope, incoming, send), gone)


async def _forward(scope: Scope, incoming: IncomingBody, send: Send) -> None:
    modelfiles = runtime.current().modelfiles
    changes_models = scope["path"] in CHANGING
    if changes_models:
        modelfiles.forget()  # and once more at the end: a pull takes long
    try:
        relay = await _open(scope, incoming)
    except ClientGone:
        return
    except ProxyError as error:
        await send_error(send, error)
        return
    try:
        await relay.send_to(send)
    finally:
        await relay.aclose()
        if changes_models:
            modelfiles.forget()


async def _open(scope: Scope, incoming: IncomingBody) -> Relay:
    if normpath(scope["path"]).startswith(HIDDEN):
        raise NotFound
    current = runtime.current()
    headers = forwarded_headers(current.world, scope)
    length = dict(scope["headers"]).get(b"content-length")
    has_body = length not in (None, b"0") or b"transfer-encoding" in dict(scope["headers"])
    if length is not None and has_body:
        headers.append((b"content-length", length))
    if not has_body:
        incoming.done.set()
    content = aiter(incoming) if has_body else None
    try:
        return Relay(await current.upstream.open(scope["method"], target(scope), headers, content))
    except UpstreamUnreachable:
        if incoming.failure is not None:
            raise incoming.failure from None
        raise


def target(scope: Mapping[str, Any]) -> str:
    """Path and query as the client sent them, still encoded."""
    path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
    query = scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path
