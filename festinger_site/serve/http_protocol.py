"""One connection of HTTP/1: uvicorn's protocol, with bounds on what a client may send before it is identified."""

import asyncio
import json
import socket
import struct
from http import HTTPStatus
from typing import Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from memory import bounds
from proxy.upstream.asgi_types import Application, AsgiScope, Event, Receive, Send

TARGET_MAX_BYTES: Final = 16 * 1024
HEADERS_MAX_BYTES: Final = 64 * 1024
FIELDS_MAX: Final = 200
FIELD_BYTES: Final = len(b": \r\n")
HEAD_S: Final = 30.0
LINGER_S: Final = 1.0
PIPELINED_MAX: Final = 1_000  # requests that wait for the answer to an earlier one
RESET: Final = struct.pack("ii", 1, 0)  # SO_LINGER: on, for 0 s

TARGET = bounds.define("request_target", "requests whose target has over 16 KiB, refused")
HEADERS = bounds.define("request_headers", "requests with over 64 KiB or 200 fields of headers, refused")
HEAD_TIME = bounds.define("request_head_seconds", "connections on which no whole head came within 30 s, closed")
PIPELINED = bounds.define("pipelined_requests", "connections with over 1,000 requests that wait, closed")


class RequestRefused(Exception):
    """Raised within the parser, which then stops."""

    def __init__(self, status: HTTPStatus, error: str, bound: bounds.Bound | None = None) -> None:
        super().__init__(error)
        self.status = status
        self.bound = bound


class ExactProtocol(HttpToolsProtocol):
    """Keeps the request's target in the scope as it was sent, declines protocol upgrades, and bounds the head."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._is_in_head = False
        self._is_in_message = False
        self._is_refused = False  # nothing more is read
        self._head_timer: asyncio.TimerHandle | None = None
        self._unfinished_bytes = 0  # of a head, in chunks after its first
        self._header_bytes = 0
        self._heads = 0  # heads that have begun

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._set_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_head_timer()
        super().connection_lost(exc)
        self.pipeline.clear()  # its requests refer to the protocol: only the garbage collector would free them

    # --- what the parser finds ---

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._is_in_head = self._is_in_message = True
        self._header_bytes = self._unfinished_bytes = 0
        self._heads += 1
        self._unset_keepalive_if_required()  # not before: blank lines are no request
        if self._head_timer is None:
            self._set_head_timer()
        # uvicorn goes on reading while the application waits for a disconnect.
        if len(self.pipeline) >= PIPELINED_MAX:
            raise RequestRefused(HTTPStatus.TOO_MANY_REQUESTS, "Too many requests wait on this connection.", PIPELINED)

    def on_url(self, url: bytes) -> None:
        super().on_url(url)
        if len(self.url) > TARGET_MAX_BYTES:
            error = f"The target of the request has over {TARGET_MAX_BYTES:,} bytes."
            raise RequestRefused(HTTPStatus.REQUEST_URI_TOO_LONG, error, TARGET)
        # ASGI splits the target, which loses the difference between ``/x?`` and ``/x``.
        self.scope["target"] = self.url  # type: ignore[typeddict-unknown-key]

    def on_header(self, name: bytes, value: bytes) -> None:
        super().on_header(name, value)
        self._header_bytes += len(name) + len(value) + FIELD_BYTES
        if self._header_bytes > HEADERS_MAX_BYTES or len(self.headers) > FIELDS_MAX:
            refuse_headers()

    # httptools calls these two before it raises HttpParserUpgrade. The request is then parsed again, without the offer:
    # the application must not be called for both.

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self._cancel_head_timer()
        self._unset_keepalive_if_required()  # set meanwhile, if the head had begun before the answer to the last ended
        if not self.parser.should_upgrade():
            super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._is_in_message = False
        if not self.parser.should_upgrade():
            super().on_message_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Application) -> None:  # type: ignore[override]
        if cycle.scope["http_version"] == "1.0":
            app = end_by_closing(app, cycle)
        super()._start_asgi_task(cycle, app)  # type: ignore[arg-type]

    # --- what the client sends ---

    def data_received(self, data: bytes) -> None:
        # Replaces uvicorn's method, which drops the body of a request that offers an upgrade.
        if self._is_refused:
            return
        heads = self._heads
        try:
            self._feed(data)
            # httptools keeps a field until it ends. The part of it in a head's first chunk is not known.
            if self._is_in_head and self._heads == heads:
                self._unfinished_bytes += len(data)
                if self._unfinished_bytes > TARGET_MAX_BYTES + HEADERS_MAX_BYTES:
                    refuse_headers()
        except RequestRefused as refusal:
            if refusal.bound is not None:
                refusal.bound.count_hit()
            self._refuse(refusal.status, str(refusal))
        except httptools.HttpParserError:
            self.logger.warning("Invalid HTTP request received.")
            self._refuse(HTTPStatus.BAD_REQUEST, "Invalid HTTP request received.")

    def _feed(self, data: bytes) -> None:
        """Raises RequestRefused and HttpParserError."""
        rest = memoryview(data)
        while rest:
            try:
                self.parser.feed_data(rest)
                return
            except httptools.HttpParserUpgrade as offer:
                # Java's HTTP client offers h2c with each request, and httptools takes what follows the head for h2c.
                rest = rest[offer.args[0] :]
                self._decline_upgrade()
            except httptools.HttpParserCallbackError as error:
                if isinstance(error.__context__, RequestRefused):
                    raise error.__context__ from None
                raise

    def _decline_upgrade(self) -> None:
        """Parse the head of the same request again, without the offer."""
        kept = [header for header in self.headers if header[0] != b"upgrade"]
        if len(kept) == len(self.headers):  # CONNECT
            raise RequestRefused(HTTPStatus.BAD_REQUEST, "This is not a proxy to elsewhere.")
        line = b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())
        # A parser that has reported an upgrade accepts no more data.
        self.parser = httptools.HttpRequestParser(self)
        self.parser.feed_data(b"\r\n".join([line, *[b"%s: %s" % header for header in kept], b"\r\n"]))

    # --- how long it takes ---

    def _set_head_timer(self) -> None:
        self._head_timer = self.loop.call_later(HEAD_S, self._end_wait)

    def _cancel_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _end_wait(self) -> None:
        self._head_timer = None
        if self._is_answering():
            self._set_head_timer()  # reading may be paused until the answer is sent: not the client's fault
            return
        HEAD_TIME.count_hit()
        if self._is_in_head:
            self._refuse(HTTPStatus.REQUEST_TIMEOUT, "The head of the request did not come in time.")
        else:
            self.transport.close()

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _refuse(self, status: HTTPStatus, error: str) -> None:
        """Answer with the error, and close; nothing more is read."""
        self._is_refused = True
        self._cancel_head_timer()
        is_in_body = self._is_in_message and not self._is_in_head
        if self._is_answering() and not is_in_body:
            # Earlier requests are answered first; the last of them now ends the connection.
            self.cycle.keep_alive = False
            return
        if is_in_body and (self.pipeline or self.cycle.response_started):
            self.transport.close()  # the answer has begun, or would have to wait
            return
        if self.transport.is_closing():
            return
        content = json.dumps({"error": error}).encode()
        head = b"content-type: application/json; charset=utf-8\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[status] + head % len(content) + content)
        # If it were closed while data still arrives, the connection would be reset, and the client would not see why.
        self.transport.write_eof()
        self.loop.call_later(LINGER_S, self.transport.close)


def refuse_headers() -> None:
    error = f"The headers of the request have over {HEADERS_MAX_BYTES:,} bytes or {FIELDS_MAX} fields."
    raise RequestRefused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, error, HEADERS)


def end_by_closing(app: Application, cycle: RequestResponseCycle) -> Application:
    """Wrap the application for a client of HTTP/1.0, which does not know chunks: an answer of unknown length ends with
    its connection (RFC 9112 section 6.3). If the answer breaks off, the connection is reset, or the answer would look
    whole."""

    async def answer(scope: AsgiScope, receive: Receive, send: Send) -> None:
        is_unframed = False

        async def send_unframed(message: Event) -> None:
            nonlocal is_unframed
            if message["type"] == "http.response.start":
                is_unframed = all(name.lower() != b"content-length" for name, _ in message["headers"])
                cycle.chunked_encoding = False if is_unframed else None
            elif is_unframed:
                cycle.expected_content_length = len(message.get("body", b""))  # any length is expected
            await send(message)

        try:
            await app(scope, receive, send_unframed)
        finally:
            if is_unframed and not cycle.response_complete and not cycle.disconnected:
                tcp: socket.socket = cycle.transport.get_extra_info("socket")
                tcp.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                cycle.transport.abort()

    return answer
