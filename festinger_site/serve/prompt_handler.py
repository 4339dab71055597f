"""The handler for prompts, a plain ASGI function: no middleware, no threads.

They wait for the database only as long as proxy/prompts/search.py allows.
"""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Final

from memory import bounds, request_ids
from proxy import runtime
from proxy.access.scopes import build_upstream_headers
from proxy.api.passthrough import target
from proxy.errors import ProxyError, TooMuchAtOnce
from proxy.formats import FORMATS
from proxy.prompts.enricher import Outcome
from proxy.prompts.metrics import ANSWERED, count_enriched
from proxy.upstream import asgi_types
from proxy.upstream.asgi_types import AsgiScope, Event, Receive, Send
from proxy.upstream.headers import Headers
from proxy.upstream.relay import ClientGone, limit_body, relay, send_error, until_client_leaves

logger = logging.getLogger(__name__)

LARGE_BYTES: Final = 1024 * 1024
ROOM_BYTES: Final = 512 * 1024 * 1024  # for the large bodies of a process, at least
ROOM = bounds.define("bodies_at_once_bytes", "request bodies of over 1 MiB while others took 512 MiB, refused")
SWITCH: Final = b"x-festinger"
REQUEST_ID: Final = b"x-festinger-request"
LOOP_STEP: Final = b"x-festinger-loop"
WARNING: Final = b"x-festinger-warning"
# Also for a project that exists but that the sender may not name, so that strangers cannot probe for projects.
UNKNOWN_PROJECT: Final = b"unknown project"


class LargeBodyBudget:
    """Bounds the bytes of the large bodies that a process holds at once."""

    def __init__(self) -> None:
        self.taken = 0  # bytes

    @contextmanager
    def count(self, receive: Receive, room: int) -> Iterator[Receive]:
        """Wrap ``receive`` to raise TooMuchAtOnce if the body is large and exceeds ``room`` together with others'. A
        body is counted until the context ends."""
        size = 0

        async def receive_counted() -> Event:
            nonlocal size
            message = await receive()
            before, size = size, size + len(message.get("body", b""))
            if size > LARGE_BYTES:
                self.taken += size - (before if before > LARGE_BYTES else 0)
                if self.taken > room:
                    ROOM.count_hit(room=room)
                    raise TooMuchAtOnce
            return message

        try:
            yield receive_counted
        finally:
            if size > LARGE_BYTES:
                self.taken -= size


budget = LargeBodyBudget()


async def answer_prompt(scope: AsgiScope, receive: Receive, send: Send) -> None:
    """Answer a prompt; a client that leaves stops the upstream."""
    current = runtime.current()
    limit = current.settings_file.rules.limits.max_body_bytes
    with budget.count(limit_body(receive, limit), max(ROOM_BYTES, 2 * limit)) as receive_counted:
        try:
            # Before the body, so that a caller without a token cannot make this process read, or keep, 64 MiB.
            headers = build_upstream_headers(scope)
            body = await read_body(receive_counted)
        except ClientGone:
            # There is nobody to answer, and no upstream has been opened yet.
            return
        except ProxyError as error:
            await _refuse(send, scope["path"], error)
            return
        with current.pulse.answering():
            await until_client_leaves(_answer(scope, headers, body, send), receive)


async def _answer(scope: AsgiScope, headers: Headers, body: bytes, send: Send) -> None:
    """Enrich a prompt in the wire format of its path, and relay the upstream's answer."""
    path, current, started = scope["path"], runtime.current(), time.perf_counter()
    done, own_headers = await _enrich(scope, body)
    if done.answer is not None:
        await _send_made_up(send, path, done.answer, own_headers)
        return
    enriched = time.perf_counter()
    try:
        answer = await current.upstream.open("POST", target(scope), headers, done.body)
    except ProxyError as error:
        await _refuse(send, path, error, own_headers)
        return
    # Nothing may be awaited before this: a client that left in between would leave the upstream's answer open.
    try:
        ANSWERED.labels(path, answer.status).inc()
        logger.info(
            "prompt.forwarded",
            extra={
                "why": done.request,
                "wire": FORMATS[path].name,
                "status": answer.status,
                "bytes": len(body),
                "added": len(done.body) - len(body),
                "enrich_ms": round((enriched - started) * 1000, 2),
                "upstream_ms": round((time.perf_counter() - enriched) * 1000, 1),
            },
        )
        if done.plan is not None and answer.status == 200:
            current.pulse.note_use(done.plan.use)
        current.enricher.planner.prompt_search.prefetch_next_turn(done.lookup)
        observer = current.enricher.watch_answer(path, done, answer)
        await relay(answer, send, more_headers=own_headers, observer=observer)
    finally:
        await answer.aclose()


async def _enrich(scope: AsgiScope, body: bytes) -> tuple[Outcome, Headers]:
    """Return what becomes of the prompt, and the headers of Festinger's own for its answer."""
    started, current, path = time.perf_counter(), runtime.current(), scope["path"]
    done, warning = Outcome(body), b""
    if dict(scope["headers"]).get(SWITCH, b"").lower() != b"off":
        caller = await current.projects.identify_sender(scope)
        done = await current.enricher.enrich(path, body, caller)
        count_enriched(path, done, time.perf_counter() - started)
        warning = UNKNOWN_PROJECT if caller.has_no_project_access else b""
    request_ids.ensure()
    given = ((REQUEST_ID, done.request.encode()), (LOOP_STEP, done.step.encode()), (WARNING, warning))
    return done, [(name, value) for name, value in given if value]


async def _send_made_up(send: Send, path: str, answer: tuple[str, bytes], own_headers: Headers) -> None:
    # The circuit breaker has tripped. It answers with 200: Agent Zero retries what fails, and would ask once more.
    content_type, content = answer
    ANSWERED.labels(path, 200).inc()
    await send(
        asgi_types.start(200, [(b"content-type", content_type.encode()), (b"cache-control", b"no-cache"), *own_headers])
    )
    await send(asgi_types.body(content, more=False))


async def _refuse(send: Send, path: str, error: ProxyError, own_headers: Headers | None = None) -> None:
    ANSWERED.labels(path, error.status).inc()
    await send_error(send, path, error, own_headers or [])


async def read_body(receive: Receive) -> bytes:
    """Return the whole body. Raises ClientGone if the client leaves before its end."""
    content = BytesIO()  # joining a thousand chunks at the end would make all streams wait
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        content.write(message.get("body", b""))
        if not message.get("more_body", False):
            return content.getvalue()
