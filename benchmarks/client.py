"""The load: a kept connection that sends ready bytes and waits for the whole answer. It costs little, and the
same for every target."""

import asyncio
import re
from typing import Self, cast

HOST = "127.0.0.1"
END_OF_HEAD = b"\r\n\r\n"
CONTENT_LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
OK = re.compile(rb"HTTP/1\.1 20\d ")


class BenchmarkBroken(Exception):
    """What was measured is not what should have been."""


class Connection(asyncio.Protocol):
    """One request at a time. Answers must come with a Content-Length."""

    def __init__(self) -> None:
        self._unread = b""
        self._length = 0  # of the answer under way, head and body; 0 where the head is not complete
        self._answer: asyncio.Future[bytes]

    @classmethod
    async def open(cls, port: int) -> Self:
        _, connection = await asyncio.get_running_loop().create_connection(cls, HOST, port)
        return connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is none by inheritance

    def close(self) -> None:
        self._transport.close()

    async def ask(self, request: bytes) -> bytes:
        """The answer's body. Raises BenchmarkBroken for one that is no success."""
        self._unread, self._length = b"", 0
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        answer = await self._answer
        if not OK.match(answer):
            raise BenchmarkBroken(f"an answer begins with {answer[:200]!r}")
        return answer.partition(END_OF_HEAD)[2]

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

    def connection_lost(self, error: Exception | None) -> None:
        if hasattr(self, "_answer") and not self._answer.done():
            self._answer.set_exception(BenchmarkBroken(f"the connection was closed: {error}"))
