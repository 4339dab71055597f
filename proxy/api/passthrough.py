"""Streams every request that is neither a prompt nor Festinger's own to the upstream, and its answer back."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Mapping
from posixpath import normpath
from typing import Any

from proxy import runtime
from proxy.access.scopes import build_upstream_headers, require_for_models
from proxy.errors import NotFound, ProxyError
from proxy.upstream.asgi_types import AsgiScope, Event, Receive, Send
from proxy.upstream.relay import ClientGone, limit_body, relay, send_error, until_client_leaves
from proxy.upstream.transport import Answer

UNBOUNDED = "/api/blobs/"  # model files of many gigabytes
# The profiler of Go servers. All other routes are forwarded, so that new ones of Ollama's work without a change here.
HIDDEN = ("/debug/", "//debug/")  # two slashes at the start survive the normalisation
# Routes that change the models for everybody. Uploading a blob is the first half of creating a model.
OF_MODELS = frozenset({"/api/create", "/api/pull", "/api/copy", "/api/delete", "/api/push"})
READING = frozenset({"GET", "HEAD", "OPTIONS"})
SMALL_BYTES = 64 * 1024


class IncomingBody:
    """The request's body as the upstream client reads it. ``done`` is set when nothing more will come."""

    def __init__(self, receive: Receive) -> None:
        self.done = asyncio.Event()
        self._receive = receive
        self._read: deque[bytes] = deque()

    async def content(self) -> "bytes | IncomingBody":
        """Return a small body whole, so that it can be sent again on another connection; a large one as a stream.

        Raises ClientGone and BodyTooLarge.
        """
        size = 0
        while not self.done.is_set():
            self._read.append(await self._next())
            size += len(self._read[-1])
            if size > SMALL_BYTES:
                return self
        return b"".join(self._read)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self._read:
            yield self._read.popleft()
        while not self.done.is_set():
            yield await self._next()

    async def _next(self) -> bytes:
        message = await self._receive()
        if not message.get("more_body", False):
            self.done.set()
        # Half a model file must not look like a whole one: break off the upload to the upstream, too.
        if message["type"] != "http.request":
            raise ClientGone
        chunk: bytes = message.get("body", b"")
        return chunk


async def pass_through(scope: AsgiScope, receive: Receive, send: Send) -> None:
    is_bounded = not scope["path"].startswith(UNBOUNDED)
    limit = runtime.current().settings_file.rules.limits.max_body_bytes
    incoming = IncomingBody(limit_body(receive, limit) if is_bounded else receive)

    async def wait_until_gone() -> Event:
        await incoming.done.wait()
        # A request without a body still has one empty message before the disconnect.
        while (event := await receive())["type"] != "http.disconnect":
            pass
        return event

    await until_client_leaves(_forward(scope, incoming, send), wait_until_gone)


async def _forward(scope: AsgiScope, incoming: IncomingBody, send: Send) -> None:
    try:
        answer = await _open(scope, incoming)
    except ClientGone:
        return
    except ProxyError as error:
        await send_error(send, scope["path"], error)
        return
    try:
        await relay(answer, send)
    finally:
        await answer.aclose()


async def _open(scope: AsgiScope, incoming: IncomingBody) -> Answer:
    if normpath(scope["path"]).startswith(HIDDEN):
        raise NotFound
    current = runtime.current()
    headers = build_upstream_headers(scope)
    if changes_models(scope):
        require_for_models(scope["caller"])
    given = dict(scope["headers"])
    # Without either header there is no body (RFC 9112 section 6.3): do not wait for one, and send none.
    if b"content-length" not in given and b"transfer-encoding" not in given:
        incoming.done.set()
        content = None
    else:
        content = await incoming.content()
    # Keep the length of a stream if it is known: the upstream gets the request that it would have got directly.
    if content is incoming and b"content-length" in given:
        headers.append((b"content-length", given[b"content-length"]))
    return await current.upstream.open(scope["method"], target(scope), headers, content)


def changes_models(scope: AsgiScope) -> bool:
    # The path is forwarded as it came; normalise it the way servers may.
    path = normpath("/" + scope["path"].lstrip("/"))
    return scope["method"] not in READING and (path in OF_MODELS or path.startswith(UNBOUNDED))


def target(scope: Mapping[str, Any]) -> str:
    """Return path and query as the client sent them, still encoded."""
    sent: bytes = scope.get("target", b"")  # festinger_site/serve/http_protocol.py leaves it there
    if sent.startswith(b"/"):
        return sent.decode("latin-1")
    path = (scope.get("raw_path") or scope["path"].encode()).decode("latin-1")
    query = scope["query_string"].decode("latin-1")
    return f"{path}?{query}" if query else path
