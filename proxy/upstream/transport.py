"""HTTP over aiohttp's connections, byte for byte.

aiohttp's own client rewrites target and headers: it decodes and encodes them, and keeps only one of repeated ones. Here
aiohttp only connects, keeps connections and parses answers.
"""

import asyncio
import re
import socket
from collections.abc import AsyncIterable, AsyncIterator
from typing import Final, NamedTuple
from weakref import WeakSet

import aiohttp
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import AddrInfoType, Connection
from aiohttp.http import HttpProcessingError, RawResponseMessage, StreamWriter
from yarl import URL

from proxy.upstream.headers import Headers
from proxy.upstream.keepalive import notice_vanished

KEEP_ALIVE_S = 60.0
HEAD_LINE_MAX_BYTES = 1024 * 1024
HEADERS_MAX = 1000
STATUSES = range(200, 600)
CONTROLS = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")  # not allowed in a header's value, RFC 9110 section 5.5
TRANSPORT_ERRORS: Final = (aiohttp.ClientError, HttpProcessingError, OSError)

Body = bytes | AsyncIterable[bytes] | None


class BadAnswer(aiohttp.ClientError):
    """The upstream's answer cannot be passed on."""


class Request(NamedTuple):
    """A request as it is written. A streamed body is sent in chunks if the headers say so."""

    method: str
    target: bytes
    headers: Headers
    content: Body


class Transport:
    """The connections to one server. ``connect_s`` covers name lookup and connecting; answers have no limit."""

    def __init__(self, address: URL, connect_s: float) -> None:
        self._address = address
        self._timeout = aiohttp.ClientTimeout(total=None, connect=connect_s)
        self._connector: aiohttp.TCPConnector | None = None  # needs a running loop
        self._used: WeakSet[ResponseHandler] = WeakSet()
        self._under_way = 0  # requests whose answers are not closed
        self._idle = asyncio.Event()
        self._idle.set()

    async def open(self, request: Request) -> "Answer":
        """Return the answer once its head has arrived, even if the request's body is still on its way. Raises one of
        TRANSPORT_ERRORS, or what reading a streamed body raised."""
        self._under_way += 1
        self._idle.clear()
        try:
            while True:
                connection, is_new = await self._connect()
                answer = Answer(self, connection, request)
                try:
                    await answer.begin()
                    return answer
                except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
                    # The upstream closed a kept connection just as it was used again, before it read the request.
                    if is_new or not answer.is_repeatable or _has_begun(error):
                        raise
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """Note that an answer was closed."""
        self._under_way -= 1
        if not self._under_way:
            self._idle.set()

    async def retire(self) -> None:
        """Close once nothing is under way; if cancelled, close at once."""
        try:
            await self._idle.wait()
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        if self._connector is not None:
            await self._connector.close()

    async def _connect(self) -> tuple[Connection, bool]:
        """Return a connection, and True if it is a new one. Raises TimeoutError without a text."""
        if self._connector is None:
            # No limit on connections: a prompt would wait for the models of other agents.
            self._connector = aiohttp.TCPConnector(
                limit=0, keepalive_timeout=KEEP_ALIVE_S, socket_factory=_open_tcp_socket
            )
            # aiohttp pools connections by the address of a request: this one is never sent, and serves for all.
            self._where = aiohttp.ClientRequest("GET", self._address, loop=asyncio.get_running_loop())
        while True:
            connection = await self._connector.connect(self._where, [], self._timeout)
            assert connection.protocol is not None
            if not connection.protocol.should_close:
                break
            # Unexpected data has arrived: it would be taken for the answer.
            connection.close()
        is_new = connection.protocol not in self._used
        self._used.add(connection.protocol)
        return connection, is_new


class Answer(AsyncIterator[bytes]):
    """One request on one connection, and its answer: status and headers, then the body in the pieces in which it comes.
    Whoever opens it closes it."""

    status: int
    headers: Headers

    def __init__(self, transport: Transport, connection: Connection, request: Request) -> None:
        assert connection.protocol is not None
        self.is_repeatable = isinstance(request.content, bytes | None)
        self._transport: Transport | None = transport
        self._connection = connection
        self._protocol = connection.protocol
        self._request = request
        self._upload: asyncio.Task[None] | None = None

    @property
    def is_stream(self) -> bool:
        """True if the length of the body is not known beforehand."""
        return not any(name.lower() == b"content-length" for name, _ in self.headers)

    async def begin(self) -> None:
        """Send the request, and receive the answer's head."""
        try:
            await self._send()
            message = await self._receive()
        except BaseException:
            self._stop()
            raise
        self.status, self.headers = message.code, list(message.raw_headers)

    async def __anext__(self) -> bytes:
        chunk = await self._content.readany()
        if not chunk:
            await self.aclose()
            raise StopAsyncIteration
        return chunk

    async def read(self) -> bytes:
        return b"".join([chunk async for chunk in self])

    async def aclose(self) -> None:
        # Keep it only if both request and answer are complete: the rest of either would be read as the next one.
        if self._content.is_eof() and (self._upload is None or self._upload.done()):
            self._connection.release()
        else:
            self._stop()
        if self._transport is not None:
            self._transport.end()
            self._transport = None

    def _stop(self) -> None:
        if self._upload is not None:
            self._upload.cancel()
        self._connection.close()

    async def _send(self) -> None:
        self._protocol.set_response_params(
            skip_payload=self._request.method == "HEAD",
            read_until_eof=True,  # without a length and without chunks, the connection's end is the answer's
            auto_decompress=False,
            max_line_size=HEAD_LINE_MAX_BYTES,
            max_field_size=HEAD_LINE_MAX_BYTES,
            max_headers=HEADERS_MAX,
        )
        transport = self._protocol.transport
        assert transport is not None
        method, target, headers, content = self._request
        line = b"%s %s HTTP/1.1" % (method.encode(), target)
        transport.write(b"\r\n".join([line, *[b"%s: %s" % header for header in headers], b"\r\n"]))
        if isinstance(content, bytes):
            transport.write(content)
        elif content is not None:
            self._upload = asyncio.create_task(self._send_stream(content))

    async def _send_stream(self, content: AsyncIterable[bytes]) -> None:
        writer = StreamWriter(self._protocol, asyncio.get_running_loop())
        if any(name == b"transfer-encoding" for name, _ in self._request.headers):
            writer.enable_chunking()
        try:
            async for chunk in content:
                await writer.write(chunk)
            await writer.write_eof()
        except OSError:
            # The upstream does not read any more. It may have answered, such as 413 in the middle of an upload: reading
            # will show that, or that it is gone.
            pass
        except Exception as error:
            # An error of the client's side, such as ClientGone, has to reach the task that waits for the answer.
            self._protocol.set_exception(error)
            self._connection.close()

    async def _receive(self) -> RawResponseMessage:
        try:
            message, self._content = await self._protocol.read()
            # Skip interim answers (RFC 9110 section 15.2). 101 is none: it changes the protocol, and is refused.
            while 100 <= message.code < 200 and message.code != 101:
                message, self._content = await self._protocol.read()
        except HttpProcessingError as error:
            raise BadAnswer(f"it does not speak HTTP: {error.message}") from error
        if message.code not in STATUSES:
            raise BadAnswer(f"it answers with a status that cannot be: {message.code}")
        if any(CONTROLS.search(value) for _, value in message.raw_headers):
            raise BadAnswer("it answers with control characters in a header")
        return message


def _has_begun(error: Exception) -> bool:
    """True if the first bytes of an answer came before the connection ended."""
    return isinstance(error, aiohttp.ServerDisconnectedError) and not isinstance(error.message, str)


def _open_tcp_socket(address: AddrInfoType) -> socket.socket:
    family, kind, protocol, _, _ = address
    tcp = socket.socket(family, kind, protocol)
    notice_vanished(tcp)
    return tcp
