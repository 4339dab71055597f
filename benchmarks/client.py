"""The load: a kept connection that sends ready bytes and waits for the whole answer. It costs little, and the
same for every target."""

import asyncio
import re
import time
from typing import Generic, NamedTuple, Self, TypeVar, cast

HOST = "127.0.0.1"
END_OF_HEAD = b"\r\n\r\n"
CONTENT_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
OK = re.compile(rb"HTTP/1\.1 20\d ")
# Streams: the mock model writes into each line when it left; the last chunk of HTTP is empty.
SENT = re.compile(rb'"content":"(\d+)"')
END_OF_LINE = b"}\n"
END_OF_STREAM = b"\r\n0\r\n\r\n"

T = TypeVar("T")


class BenchmarkBroken(Exception):
    """What was measured is not what should have been."""


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
    """Answers must come with a Content-Length. ``head`` is that of the newest one, its status and its headers."""

    head = b""

    async def ask(self, request: bytes) -> bytes:
        """The answer's body. Raises BenchmarkBroken for one that is no success."""
        self._length = 0  # of the answer under way, head and body; 0 where the head is not complete
        answer = await self._send(request)
        check(answer)
        self.head, _, body = answer.partition(END_OF_HEAD)
        return body

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
        length = CONTENT_LENGTH.search(self._unread, 0, head_end)
        if length is None:
            self._answer.set_exception(BenchmarkBroken(f"an answer without a length: {self._unread[:200]!r}"))
            return
        self._length = head_end + len(END_OF_HEAD) + int(length[1])


class Chunk(NamedTuple):
    """When a line left the model and when it was here, in nanoseconds of the clock that all processes share."""

    sent_ns: int
    arrived_ns: int

    @property
    def delay_ms(self) -> float:
        return (self.arrived_ns - self.sent_ns) / 1e6


class Stream(Client[None]):
    """Streams of the mock model, told by ``chunks`` as they come."""

    async def ask(self, request: bytes) -> list[Chunk]:
        """The chunks, when all have come. Raises BenchmarkBroken for an answer that is no success."""
        self.chunks: list[Chunk] = []
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
            self._unread = self._unread[end:]
        if self._unread.endswith(END_OF_STREAM):
            self._answer.set_result(None)


def check(answer: bytes) -> None:
    if not OK.match(answer):
        raise BenchmarkBroken(f"an answer begins with {answer[:200]!r}")
