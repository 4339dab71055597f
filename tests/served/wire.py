"""Both ends of the proxy as bare sockets: a client that writes bytes, a model server that keeps what it was sent
and answers with bytes."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, Self

PATIENCE_S = 60  # on a machine that has much else to do
HEAD_END = b"\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
BACKGROUND = (b"GET /api/version", b"POST /api/show")  # what Festinger asks by itself

Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class Message:
    """A request or an answer. ``is_cut``: its connection ended before it did."""

    line: bytes
    headers: Headers
    body: bytes
    is_cut: bool

    @property
    def status(self) -> int:
        return int(self.line.split(b" ")[1])

    @property
    def target(self) -> bytes:
        return self.line.split(b" ")[1]

    def all(self, name: bytes) -> list[bytes]:
        return [value for key, value in self.headers if key.lower() == name]

    def get(self, name: bytes) -> bytes | None:
        return next(iter(self.all(name)), None)


def read_head(stream: IO[bytes]) -> tuple[bytes, Headers]:
    """The first line, and the headers. Raises EOFError where there are none."""
    line = stream.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    headers = []
    while (header := stream.readline()) not in (b"\r\n", b""):
        name, _, value = header.partition(b":")
        headers.append((name, value.strip(b" \t\r\n")))
    return line.strip(), headers


def read_body(stream: IO[bytes], headers: Headers, *, until_end: bool) -> tuple[bytes, bool]:
    """The body, and whether it was cut. ``until_end``: without a length it goes on to the connection's end."""
    framing = {name.lower(): value for name, value in headers}
    if framing.get(b"transfer-encoding") == b"chunked":
        return read_chunks(stream)
    if b"content-length" in framing:
        length = int(framing[b"content-length"])
        body = stream.read(length)
        return body, len(body) < length
    return (stream.read() if until_end else b""), False


def read_chunks(stream: IO[bytes]) -> tuple[bytes, bool]:
    body = b""
    while line := stream.readline():
        size = int(line, 16)
        chunk = stream.read(size)
        body += chunk
        if len(chunk) < size or not stream.readline():
            break
        if size == 0:
            return body, False
    return body, True


class Wire:
    """A client's connection."""

    def __init__(self, port: int, sent: bytes = b"") -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self.stream = self.socket.makefile("rb")
        self.send(sent)

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def answer(self, *, has_body: bool = True) -> Message:
        """The next answer; a reset ends it like an end."""
        line, headers = read_head(self.stream)
        if not has_body or line.split(b" ")[1] in (b"100", b"204", b"304"):
            return Message(line, headers, b"", is_cut=False)
        try:
            body, is_cut = read_body(self.stream, headers, until_end=True)
        except ConnectionError:
            body, is_cut = b"", True
        return Message(line, headers, body, is_cut)

    def is_closed(self) -> bool:
        """True once the other side has closed; waits for it."""
        with suppress(ConnectionError):
            return self.stream.read(1) == b""
        return True

    def close(self) -> None:
        self.stream.close()
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def ask(port: int, request: bytes) -> Message:
    """The answer to one request on a connection of its own."""
    with Wire(port, request) as wire:
        return wire.answer(has_body=not request.startswith(b"HEAD "))


def post(path: str, body: bytes, *headers: str) -> bytes:
    """A request's bytes."""
    lines = [f"POST {path} HTTP/1.1", "Host: localhost", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join(lines).encode() + HEAD_END + body


def chunked(*chunks: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)


LAST_CHUNK = b"0\r\n\r\n"
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n"

Script = Callable[[socket.socket, Message], None]


def says(answer: bytes) -> Script:
    return lambda connection, _: connection.sendall(answer)


def says_and_closes(answer: bytes) -> Script:
    def script(connection: socket.socket, _: Message) -> None:
        connection.sendall(answer)
        connection.shutdown(socket.SHUT_RDWR)

    return script


class RawUpstream:
    """A model server that does with each request what ``script`` says, by default answer OK. What Festinger asks by
    itself is answered with 404, and not kept."""

    def __init__(self, port: int = 0) -> None:
        self.listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self.port: int = self.listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.connections = 0
        self.clear()
        threading.Thread(target=self._accept, daemon=True).start()

    def clear(self) -> None:
        self.asked: list[Message] = []
        self.script: Script = says(OK)
        self.reads_body = True  # else the script does, from ``stream``
        self.left = threading.Event()  # set by ``watch`` when the connection under way was closed

    def watch(self, connection: socket.socket) -> None:
        """Waits until the proxy closes the connection, whatever still comes until then."""
        connection.settimeout(PATIENCE_S)
        with suppress(ConnectionError):
            while connection.recv(1024 * 1024):
                pass
        self.left.set()

    def stop(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)  # wakes who accepts
        self.listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                self.connections += 1
                threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream, suppress(EOFError, OSError, ValueError):
            while connection.fileno() != -1:
                self._answer(connection, stream)

    def _answer(self, connection: socket.socket, stream: IO[bytes]) -> None:
        line, headers = read_head(stream)
        self.stream = stream
        is_background = line.startswith(BACKGROUND)
        body, is_cut = b"", False
        if self.reads_body or is_background:
            body, is_cut = read_body(stream, headers, until_end=False)
        message = Message(line, headers, body, is_cut)
        if is_background:
            connection.sendall(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
            return
        self.asked.append(message)
        self.script(connection, message)


def pieces(total: int, size: int = 65536) -> Iterator[bytes]:
    """``total`` bytes that are not all the same."""
    block = bytes(range(256)) * (size // 256)
    for start in range(0, total, size):
        yield block[: total - start]
