"""httpx's transport over aiohttp's connections, byte for byte.

httpx-aiohttp passes a request to aiohttp's client, which rewrites target and headers: it decodes and encodes them, and
keeps only one of repeated ones. Here aiohttp only connects, keeps connections and parses answers.
"""

import asyncio
import re
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from functools import partial
from weakref import WeakSet

import aiohttp
import httpx
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import AddrInfoType, Connection
from aiohttp.http import HttpProcessingError, RawResponseMessage, StreamWriter
from httpx_aiohttp import AiohttpTransport
from httpx_aiohttp.transport import map_aiohttp_exceptions
from yarl import URL

from proxy.upstream.keepalive import notice_vanished

KEEP_ALIVE_S = 60.0
HEAD_LINE_MAX_BYTES = 1024 * 1024
HEADERS_MAX = 1000
STATUSES = range(200, 600)
CONTROLS = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")  # not allowed in a header's value, RFC 9110 section 5.5


class ExactTransport(AiohttpTransport):
    """Writes the method, ``target`` (httpx's extension of this name) and headers of a request as they are, after a
    Host.

    A streamed body is sent in chunks if the headers say so. ``connect_s`` covers name lookup and connecting; answers
    have no limit. Raises httpx.TransportError, or what reading a streamed body raised.
    """

    def __init__(self, address: URL, connect_s: float) -> None:
        # The context is not used: aiohttp has its own. Making the default one would take 30 ms.
        super().__init__(verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), client=partial(_session, connect_s))
        self._address = address
        self._where: aiohttp.ClientRequest | None = None
        self._used: WeakSet[ResponseHandler] = WeakSet()
        self._under_way = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self._begin()  # once for the request, so that retire does not close between two connections
        try:
            with map_aiohttp_exceptions():
                while True:
                    connection, is_new = await self._connect()
                    self._begin()  # and once for each connection, until it is given back or closed
                    exchange = HttpExchange(connection, request, on_end=self._end)
                    try:
                        return await exchange.answer()
                    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
                        # The upstream closed a kept connection just as it was used again, before it read the request.
                        if is_new or not exchange.is_repeatable or _has_begun(error):
                            raise
        finally:
            self._end()

    async def retire(self) -> None:
        """Close once nothing is under way; if cancelled, close at once."""
        try:
            await self._idle.wait()
        finally:
            await self.aclose()

    def _begin(self) -> None:
        self._under_way += 1
        self._idle.clear()

    def _end(self) -> None:
        self._under_way -= 1
        if not self._under_way:
            self._idle.set()

    async def _connect(self) -> tuple[Connection, bool]:
        """Return a connection, and True if it is a new one. Raises TimeoutError without a text."""
        if not isinstance(self.client, aiohttp.ClientSession):
            self.client = self.get_client()
        # aiohttp pools connections by the address of a request: this one is never sent, and serves for all.
        if self._where is None:
            self._where = aiohttp.ClientRequest("GET", self._address, loop=asyncio.get_running_loop())
        assert self.client.connector is not None
        while True:
            connection = await self.client.connector.connect(self._where, [], self.client.timeout)
            assert connection.protocol is not None
            if not connection.protocol.should_close:
                break
            # Unexpected data has arrived: it would be taken for the answer.
            connection.close()
        is_new = connection.protocol not in self._used
        self._used.add(connection.protocol)
        return connection, is_new


class HttpExchange(httpx.AsyncByteStream, AsyncIterator[bytes]):
    """One request on one connection, then, as a stream, the body of its answer. ``on_end`` is called once, when the
    connection is given back or closed."""

    def __init__(self, connection: Connection, request: httpx.Request, on_end: Callable[[], None]) -> None:
        assert connection.protocol is not None
        self._on_end: Callable[[], None] | None = on_end
        self.is_repeatable = isinstance(request.stream, httpx.ByteStream)
        self._connection = connection
        self._protocol = connection.protocol
        self._request = request
        self._upload: asyncio.Task[None] | None = None

    async def answer(self) -> httpx.Response:
        """Return the answer once its head has arrived, even if the request's body is still on its way."""
        try:
            await self._send()
            message = await self._receive()
        except BaseException:
            self._stop()
            raise
        return httpx.Response(message.code, headers=message.raw_headers, stream=self, request=self._request)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        with map_aiohttp_exceptions():
            chunk = await self._content.readany()
        if not chunk:
            await self.aclose()
            raise StopAsyncIteration
        return chunk

    async def aclose(self) -> None:
        # Keep it only if both request and answer are complete: the rest of either would be read as the next one.
        if self._content.is_eof() and (self._upload is None or self._upload.done()):
            self._connection.release()
            self._tell_end()
        else:
            self._stop()

    def _stop(self) -> None:
        if self._upload is not None:
            self._upload.cancel()
        self._connection.close()
        self._tell_end()

    def _tell_end(self) -> None:
        if self._on_end is not None:
            on_end, self._on_end = self._on_end, None
            on_end()

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
        transport.write(head(self._request))
        if self.is_repeatable:
            transport.write(await self._request.aread())
        else:
            self._upload = asyncio.create_task(self._send_stream())

    async def _send_stream(self) -> None:
        assert isinstance(self._request.stream, httpx.AsyncByteStream)
        writer = StreamWriter(self._protocol, asyncio.get_running_loop())
        if "transfer-encoding" in self._request.headers:
            writer.enable_chunking()
        try:
            async for chunk in self._request.stream:
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
            raise httpx.RemoteProtocolError(f"it does not speak HTTP: {error.message}") from error
        if message.code not in STATUSES:
            raise httpx.RemoteProtocolError(f"it answers with a status that cannot be: {message.code}")
        if any(CONTROLS.search(value) for _, value in message.raw_headers):
            raise httpx.RemoteProtocolError("it answers with control characters in a header")
        return message


def head(request: httpx.Request) -> bytes:
    line = b"%s %s HTTP/1.1" % (request.method.encode(), request.extensions["target"])
    host = b"host: " + request.url.netloc
    return b"\r\n".join([line, host, *[b"%s: %s" % header for header in request.headers.raw], b"\r\n"])


def _has_begun(error: Exception) -> bool:
    """True if the first bytes of an answer came before the connection ended."""
    return isinstance(error, aiohttp.ServerDisconnectedError) and not isinstance(error.message, str)


def _session(connect_s: float) -> aiohttp.ClientSession:
    # No limit on connections: a prompt would wait for the models of other agents. No time limit: a model may load for
    # minutes before its first byte. No cookies: those of one client must not be sent for another.
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEP_ALIVE_S, socket_factory=_tcp_socket),
        timeout=aiohttp.ClientTimeout(total=None, connect=connect_s),
        cookie_jar=aiohttp.DummyCookieJar(),
    )


def _tcp_socket(address: AddrInfoType) -> socket.socket:
    family, kind, protocol, _, _ = address
    tcp = socket.socket(family, kind, protocol)
    notice_vanished(tcp)
    return tcp
