"""A tap on the wire: a TCP relay in front of a server that keeps each answer's bytes."""

import socket
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Self

HEAD_END = b"\r\n\r\n"
PIECE_BYTES = 65536
POLL_S = 0.005

Headers = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Answer:
    """``asked`` is the request's method and target; ``headers`` have their names in lower case, and ``body`` is
    without the framing of chunks. ``is_complete``: False where the server broke off."""

    asked: str
    status: int
    headers: Headers
    body: bytes
    is_complete: bool


class Tap:
    """Relays to ``target`` what is sent to ``url``.

    A client may leave before the end of an answer; the tap reads on, so that what it has does not depend on when."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self._lines: list[Line] = []
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection(self._target)
                except OSError:
                    client.close()
                    raise
                line = Line(client, server)
                self._lines.append(line)  # before anything can go over it
                line.start()

    def answers(self, *, timeout_s: float = 30) -> list[Answer]:
        """The answers since the last call, in the order of their requests. Raises TimeoutError."""
        deadline = time.monotonic() + timeout_s
        while (settled := [line.answers() for line in self._lines]) and None in settled:
            if time.monotonic() > deadline:
                self._hang_up()
                raise TimeoutError(f"an answer is still under way after {timeout_s} s")
            time.sleep(POLL_S)
        found = sorted(zip([line.since for line in self._lines], settled, strict=True), key=lambda pair: pair[0])
        for line in self._lines.copy():
            line.forget()
            if line.has_ended:
                line.close()
                self._lines.remove(line)
        return [answer for _, answers in found for answer in answers or []]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)  # wakes who accepts
        self._listener.close()
        self._accepting.join()  # from now on no line is added
        self._hang_up()

    def _hang_up(self) -> None:
        for line in self._lines:
            line.close()
        self._lines.clear()


class Line:
    """One connection, and what went over it both ways."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self._client, self._server = client, server
        self._sent, self._received = bytearray(), bytearray()
        self._read = (0, 0)  # how many bytes of the two are whole messages
        self._client_left = self._server_left = False
        self.since = time.monotonic()

    def start(self) -> None:
        for pump in (self._up, self._down):
            threading.Thread(target=pump, daemon=True).start()

    @property
    def has_ended(self) -> bool:
        return self._client_left or self._server_left

    def answers(self) -> list[Answer] | None:
        """One for each request, None while one is under way."""
        sent, received, found = bytes(self._sent), bytes(self._received), []
        self._read = 0, 0
        while sent:
            asked = message(sent, until_close=False)
            if asked is None:
                return None if not self.has_ended else found
            answered = message(received, until_close=True, has_body=has_body(sent, received))
            if answered is None or not (answered.is_complete or self._server_left):
                return None if not self._server_left else found
            line, status = asked.start.rpartition(" ")[0], int(answered.start.split()[1])
            found.append(Answer(line, status, answered.headers, answered.body, answered.is_complete))
            sent, received = sent[asked.length :], received[answered.length :]
            self._read = self._read[0] + asked.length, self._read[1] + answered.length
        return found

    def forget(self) -> None:
        """What ``answers`` has found; the next request may have begun to come since."""
        del self._sent[: self._read[0]], self._received[: self._read[1]]
        self.since = time.monotonic()

    def close(self) -> None:
        for end in (self._client, self._server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def _up(self) -> None:
        with suppress(OSError):
            while piece := self._client.recv(PIECE_BYTES):
                self._sent += piece
                self._server.sendall(piece)
        self._client_left = True

    def _down(self) -> None:
        with suppress(OSError):
            while piece := self._server.recv(PIECE_BYTES):
                self._received += piece
                with suppress(OSError):  # the client has left
                    self._client.sendall(piece)
        self._server_left = True
        with suppress(OSError):
            self._client.shutdown(socket.SHUT_RDWR)


@dataclass(frozen=True, slots=True)
class HttpMessage:
    """A request or an answer at the start of some bytes, and how many of them it takes."""

    start: str
    headers: Headers
    body: bytes
    length: int
    is_complete: bool


def has_body(sent: bytes, received: bytes) -> bool:
    return not sent.startswith(b"HEAD ") and received[9:12] not in (b"204", b"304")


def message(raw: bytes, *, until_close: bool, has_body: bool = True) -> HttpMessage | None:
    """None before the end of its head, and, unless the body goes on ``until_close``, of its body."""
    head, end, rest = raw.partition(HEAD_END)
    if not end:
        return None
    start, *lines = head.decode("latin-1").split("\r\n")
    pairs = [line.partition(":") for line in lines]
    headers = [(name.lower(), value.strip()) for name, _, value in pairs]
    body, used, is_complete = body_of(dict(headers), rest, has_body=has_body, until_close=until_close)
    if not is_complete and not until_close:
        return None
    return HttpMessage(start, headers, body, len(head) + len(HEAD_END) + used, is_complete)


def body_of(headers: dict[str, str], rest: bytes, *, has_body: bool, until_close: bool) -> tuple[bytes, int, bool]:
    """The body, how many bytes it takes, whether all of it is there (RFC 9112 section 6.3)."""
    if not has_body:
        return b"", 0, True
    if headers.get("transfer-encoding") == "chunked":
        return dechunked(rest)
    if "content-length" in headers or not until_close:
        size = int(headers.get("content-length", 0))
        return rest[:size], size, len(rest) >= size
    return rest, len(rest), False


def dechunked(rest: bytes) -> tuple[bytes, int, bool]:
    body, position = b"", 0
    while (end := rest.find(b"\r\n", position)) >= 0:
        size = int(rest[position:end], 16)
        body += rest[end + 2 : end + 2 + size]
        position = end + 2 + size + 2
        if len(rest) < position:
            break
        if size == 0:
            return body, position, True
    return body, len(rest), False
