"""The load: kept connections that send ready bytes and wait for the whole answer. They cost little, and the same for
every server."""

import asyncio
import http.client
import re
import time
from collections.abc import AsyncIterator, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final, Generic, NamedTuple, Self, TypeVar, cast

import orjson
import uvloop

from festinger_site.dev.scratch_instance import STOPPING, Interrupted, stop_on_signals

HOST = "127.0.0.1"
CHAT: Final = "/api/chat"
TIMEOUT_S: Final = 180
END_OF_HEAD = b"\r\n\r\n"
CONTENT_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
OK = re.compile(rb"HTTP/1\.1 20\d ")
# Streams: the mock model writes into each line when it left; the last chunk of HTTP is empty.
SENT = re.compile(rb'"content":"(\d+)"')
END_OF_LINE = b"}\n"
END_OF_STREAM = b"0\r\n\r\n"

T = TypeVar("T")


class BenchmarkBroken(Exception):
    """The measurement was not of the thing that was to be measured."""


class Client(asyncio.Protocol, Generic[T]):
    """One request at a time, answered by a T."""

    def __init__(self) -> None:
        self._unread = b""
        self._answer: asyncio.Future[T]

    @classmethod
    async def open(cls, port: int) -> Self:
        _, connection = await asyncio.get_running_loop().create_connection(cls, HOST, port)
        return connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance

    def close(self) -> None:
        self._transport.close()

    def _send(self, request: bytes) -> asyncio.Future[T]:
        self._unread = b""
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return self._answer

    def connection_lost(self, error: Exception | None) -> None:
        if hasattr(self, "_answer") and not self._answer.done():
            self._answer.set_exception(BenchmarkBroken(f"the connection was closed: {error}"))


class Connection(Client[bytes]):
    async def ask(self, request: bytes) -> bytes:
        """Return the answer's body. Raises BenchmarkBroken for one that is no success."""
        self._length = 0  # of the answer under way, head and body; 0 where it is not known
        answer = await self._send(request)
        check(answer)
        return answer.partition(END_OF_HEAD)[2]

    async def time(self, requests: Sequence[bytes]) -> list[float]:
        """Return the milliseconds of each, one after the other."""
        times = []
        for request in requests:
            started = time.perf_counter()
            await self.ask(request)
            times.append((time.perf_counter() - started) * 1000)
        return times

    def data_received(self, data: bytes) -> None:
        self._unread += data
        if not self._length:
            self._read_head()
        if self._length and len(self._unread) >= self._length:
            self._answer.set_result(self._unread)

    def _read_head(self) -> None:
        head_end = self._unread.find(END_OF_HEAD)
        if head_end < 0:
            return
        if length := CONTENT_LENGTH.search(self._unread, 0, head_end):
            self._length = head_end + len(END_OF_HEAD) + int(length[1])
        elif self._unread.endswith(END_OF_STREAM):
            self._length = len(self._unread)


class Chunk(NamedTuple):
    """When a line left the model and when it was here, in nanoseconds of the clock that all processes share."""

    sent_ns: int
    arrived_ns: int

    @property
    def delay_ms(self) -> float:
        return (self.arrived_ns - self.sent_ns) / 1e6


class Stream(Client[None]):
    """Streams of the mock model, told by ``chunks`` as they come."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = asyncio.Event()
        self.chunks: list[Chunk] = []

    async def ask(self, request: bytes) -> list[Chunk]:
        """Return the chunks when all have come. Raises BenchmarkBroken for an answer that is no success."""
        self.chunks = []
        self._head = b""
        await self._send(request)
        check(self._head)
        return self.chunks

    def data_received(self, data: bytes) -> None:
        now = time.monotonic_ns()
        self._head = self._head or data
        self._unread += data
        end = self._unread.rfind(END_OF_LINE) + len(END_OF_LINE)
        if end >= len(END_OF_LINE):
            self.chunks += [Chunk(int(sent), now) for sent in SENT.findall(self._unread, 0, end)]
            self.begun.set()
            self._unread = self._unread[end:]
        if self._unread.endswith(END_OF_STREAM):
            self._answer.set_result(None)


def check(answer: bytes) -> None:
    if not OK.match(answer):
        raise BenchmarkBroken(f"an answer begins with {answer[:200]!r}")


@asynccontextmanager
async def connected(port: int, count: int = 1) -> AsyncIterator[list[Connection]]:
    connections = [await Connection.open(port) for _ in range(count)]
    try:
        yield connections
    finally:
        for connection in connections:
            connection.close()


async def rate(connections: Sequence[Connection], requests: Sequence[bytes]) -> float:
    """Return requests a second; each connection takes the next one as soon as it has its answer."""
    waiting = iter(requests)

    async def drain(connection: Connection, waiting: Iterator[bytes]) -> None:
        for request in waiting:
            await connection.ask(request)

    started = time.perf_counter()
    await asyncio.gather(*(drain(connection, waiting) for connection in connections))
    return len(requests) / (time.perf_counter() - started)


def run(work: Coroutine[Any, Any, T]) -> T:
    """Return what the coroutine does. Raises Interrupted for a signal: uvloop hides what a signal's handler raises."""
    received: list[int] = []

    async def stoppable() -> T:
        task = asyncio.ensure_future(work)

        def stop(number: int) -> None:
            received.append(number)
            task.cancel()

        for number in STOPPING:
            asyncio.get_running_loop().add_signal_handler(number, stop, number)
        return await task

    try:
        return uvloop.run(stoppable())
    except asyncio.CancelledError:
        raise Interrupted(received[0]) from None
    finally:
        stop_on_signals()  # the loop took the handlers with it


class Line:
    """A kept connection to a port of this machine for whoever waits: an application that talks, one that teaches."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection(HOST, port, timeout=TIMEOUT_S)

    def close(self) -> None:
        self._connection.close()

    def post(
        self, path: str, body: Mapping[str, Any], headers: Mapping[str, str] | None = None
    ) -> tuple[bytes, dict[str, str]]:
        """Return the answer's body and its headers, in lower case. Raises BenchmarkBroken for one that is no
        success."""
        status, content, answered = self._ask("POST", path, orjson.dumps(body), headers or {})
        if status not in (200, 201):
            raise BenchmarkBroken(f"POST {path}: {status} {content[:200]!r}")
        return content, answered

    def put(self, path: str, text: str) -> None:
        self._ask("PUT", path, text.encode(), {})

    def get(self, path: str) -> tuple[int, bytes]:
        """Return status and body."""
        status, content, _ = self._ask("GET", path, None, {})
        return status, content

    def _ask(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]
    ) -> tuple[int, bytes, dict[str, str]]:
        try:
            self._connection.request(method, path, body, {"Content-Type": "application/json", **headers})
            answer = self._connection.getresponse()
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError):  # it stood still for too long
            self._connection.close()
            self._connection.request(method, path, body, {"Content-Type": "application/json", **headers})
            answer = self._connection.getresponse()
        return answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()}
