"""Relays an upstream's answer to the client: bytes as they come."""

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from typing import Any, Protocol

import orjson

from memory import bounds
from proxy.errors import BodyTooLarge, ProxyError
from proxy.formats import error_body
from proxy.upstream.asgi_types import Event, Receive, Send, body, start
from proxy.upstream.headers import filter_for_client
from proxy.upstream.transport import TRANSPORT_ERRORS, Answer

logger = logging.getLogger(__name__)


class ClientGone(Exception):
    """The client closed its connection before the request was complete."""


class AnswerObserver(Protocol):
    """Sees an answer while it passes. Its methods do not raise."""

    def pass_on(self, chunk: bytes) -> tuple[bytes, bool]:
        """Return the bytes for the client in place of this chunk, and True if the answer ends with them."""

    def finish(self) -> None:
        """Note that the answer is whole."""


async def relay(
    answer: Answer,
    send: Send,
    *,
    more_headers: Sequence[tuple[bytes, bytes]] = (),
    observer: AnswerObserver | None = None,
) -> None:
    """Send the upstream's answer, with ``more_headers`` of Festinger's own. The caller closes the answer, which stops
    the upstream if it has not finished."""
    headers = [*filter_for_client(answer.headers, answer.status), *more_headers]
    await send(start(answer.status, headers))
    is_over = False
    try:
        async for chunk in answer:
            if observer is not None:
                chunk, is_over = observer.pass_on(chunk)
            if is_over:
                await answer.aclose()  # stops the model
            await send(body(chunk, more=True))
            if is_over:
                break
    except TRANSPORT_ERRORS as error:
        # Without the last message the server cuts the connection, as the upstream would for a direct client.
        logger.warning("upstream.broke_off", extra={"error": str(error)[:200]})
        return
    if observer is not None:
        observer.finish()
    await send(body(b"", more=False))


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
            bound.count_hit(limit=limit)
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


async def send_error(
    send: Send, path: str, error: ProxyError, more_headers: Sequence[tuple[bytes, bytes]] = ()
) -> None:
    """Send the error as Ollama would answer it at that path."""
    content = orjson.dumps(error_body(path, error.status, str(error)))
    headers = [
        (b"content-type", b"application/json; charset=utf-8"),
        (b"content-length", str(len(content)).encode()),
        *more_headers,
    ]
    await send(start(error.status, headers))
    await send(body(content, more=False))
