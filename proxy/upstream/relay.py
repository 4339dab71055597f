"""Relays an upstream's answer to the client: bytes as they come, closed however it ends."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any, Protocol

import aiohttp
import httpx
import orjson
from django.http import HttpResponseBase

from memory import bounds
from proxy.domain.formats import error_body
from proxy.domain.formats.streams import END
from proxy.domain.headers import Headers, filter_for_client
from proxy.errors import BodyTooLarge, ProxyError
from proxy.upstream.asgi_types import Event, Receive, Send, body, start

logger = logging.getLogger(__name__)


class ClientGone(Exception):
    """The client closed its connection before the request was complete."""


class StreamGuard(Protocol):
    """Watches a stream while it passes."""

    def pass_on(self, chunk: bytes) -> tuple[bytes, bool]:
        """Return the bytes for the client in place of this chunk, and True if the answer ends with them."""


class GuardedStream(AsyncIterator[bytes]):
    """The stream as its guard passes it on."""

    def __init__(self, stream: httpx.AsyncByteStream, guard: StreamGuard) -> None:
        self._stream = stream
        self._chunks = aiter(stream)
        self._pass_on = guard.pass_on
        self._has_ended = False

    async def __anext__(self) -> bytes:
        if self._has_ended:
            raise StopAsyncIteration
        chunk = await anext(self._chunks)
        try:
            chunk, self._has_ended = self._pass_on(chunk)
        except Exception:
            # The answer matters more than its guard: the rest passes unguarded.
            logger.exception("guard.failed")
            self._pass_on = lambda chunk: (chunk, False)
        if self._has_ended:
            await self._stream.aclose()  # stops the model
        return chunk


class Relay(HttpResponseBase):
    """The upstream's open answer as a Django response, with ``more_headers`` of Festinger's own.

    The owner calls ``aclose``, which stops the upstream if it has not finished. ``guard`` watches a streamed answer;
    ``listener``, which must not raise, gets each chunk, and a line feed at the end.
    """

    streaming = True

    def __init__(
        self,
        answer: httpx.Response,
        *,
        more_headers: Headers | None = None,
        guard: StreamGuard | None = None,
        listener: Callable[[bytes], None] | None = None,
    ) -> None:
        super().__init__(status=answer.status_code)
        self._answer = answer
        self._more_headers = more_headers or []
        # An answer of known length is no stream, and an error need not be ended.
        is_stream = answer.status_code == 200 and "content-length" not in answer.headers
        self._guard = guard if is_stream else None
        self._listener = listener if answer.status_code == 200 else None

    async def send_to(self, send: Send) -> None:
        headers = filter_for_client(self._answer.headers.raw, self.status_code) + self._more_headers
        await send(start(self.status_code, headers))
        try:
            async for chunk in self._chunks():
                await send(body(chunk, more=True))
        except (httpx.TransportError, aiohttp.ClientError) as error:
            # Without the last message the server cuts the connection, as the upstream would for a direct client.
            logger.warning("upstream.broke_off", extra={"error": str(error)[:200]})
            return
        await send(body(b"", more=False))

    async def aclose(self) -> None:
        await self._stream.aclose()

    def _chunks(self) -> AsyncIterator[bytes]:
        chunks = aiter(self._stream) if self._guard is None else GuardedStream(self._stream, self._guard)
        return chunks if self._listener is None else _tell(chunks, self._listener)

    @property
    def _stream(self) -> httpx.AsyncByteStream:
        assert isinstance(self._answer.stream, httpx.AsyncByteStream)
        return self._answer.stream


async def _tell(chunks: AsyncIterator[bytes], listener: Callable[[bytes], None]) -> AsyncIterator[bytes]:
    async for chunk in chunks:
        listener(chunk)
        yield chunk
    listener(END)


BODY = bounds.define("body_bytes", "request bodies larger than limits.max_body_bytes, refused")


def limit_body(
    receive: Receive, limit: int, *, bound: bounds.Bound = BODY, about: str = "limits.max_body_bytes"
) -> Receive:
    """Wrap ``receive`` to raise BodyTooLarge once the bodies exceed ``limit`` bytes. ``about`` names the setting of the
    limit."""
    # Counted as they come: Content-Length may be missing or wrong.
    size = 0

    async def count() -> Event:
        nonlocal size
        message = await receive()
        size += len(message.get("body", b""))
        if size > limit:
            bound.count_bite(limit=limit)
            raise BodyTooLarge(f"the request body is larger than {limit} bytes ({about})")
        return message

    return count


async def until_client_leaves(work: Coroutine[Any, Any, None], receive: Receive) -> None:
    """Run ``work``, and cancel it when the client closes its connection.

    The request's body must have been read: the next thing to receive is the disconnect.
    """
    current = asyncio.current_task()
    assert current is not None
    has_left = False

    async def watch() -> None:
        nonlocal has_left
        await receive()
        has_left = True
        current.cancel()

    watching = asyncio.ensure_future(watch())
    try:
        await work
    except asyncio.CancelledError:
        if not has_left:
            raise  # the server stops
        # This cancellation was our own: without uncancel, an outer asyncio.timeout would end the wrong way.
        current.uncancel()
    finally:
        watching.cancel()


async def send_error(send: Send, path: str, error: ProxyError) -> None:
    """Send the error as Ollama would answer it at that path."""
    content = orjson.dumps(error_body(path, error.status, str(error)))
    headers = [
        (b"content-type", b"application/json; charset=utf-8"),
        (b"content-length", str(len(content)).encode()),
    ]
    await send(start(error.status, headers))
    await send(body(content, more=False))
