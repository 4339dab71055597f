"""A client that leaves, stalls, dawdles or speaks an older HTTP: what the model server sees of it, and the others."""

import contextlib
import re
import socket
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.served.server import Served
from tests.served.wire import (
    HEAD_END,
    LAST_CHUNK,
    PATIENCE_S,
    STREAM,
    Message,
    RawUpstream,
    Wire,
    ask,
    chunked,
    post,
    read_head,
    says,
    says_and_closes,
)

PROMPT = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
SILENT = b'{"model":"m","messages":[{"role":"user","content":"hi"}],"stream":false}'
GET_TAGS = b"GET /api/tags HTTP/1.1\r\nHost: localhost\r\n\r\n"
LINE = b'{"response":"a"}\n'
LONG_LINE = b'{"response":"%s"}\n' % (b"a" * 16_000)


def closes(wire: Wire) -> None:
    wire.close()


def resets(wire: Wire) -> None:
    wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wire.close()


def closes_half(wire: Wire) -> None:
    wire.socket.shutdown(socket.SHUT_WR)


LEAVING = pytest.mark.parametrize("leave", [closes, resets, closes_half])
PATH = pytest.mark.parametrize("path", ["/api/chat", "/v1/chat/completions"])


# --- leaving ---


@LEAVING
@pytest.mark.parametrize("path", ["/api/chat", "/v1/chat/completions", "/api/embed"])
@pytest.mark.parametrize("body", [PROMPT, SILENT])
def test_a_client_that_leaves_before_the_status_stops_the_model(
    port: int, model: RawUpstream, leave: Callable[[Wire], None], path: str, body: bytes
) -> None:
    model.script = lambda connection, _: model.watch(connection)
    with Wire(port, post(path, body)) as wire:
        wait_until(lambda: model.asked)

        leave(wire)

        assert model.left.wait(PATIENCE_S)


@LEAVING
@PATH
@pytest.mark.parametrize("said", [STREAM, STREAM + chunked(LINE), b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"])
def test_a_client_that_leaves_in_the_stream_stops_the_model(
    port: int, model: RawUpstream, leave: Callable[[Wire], None], path: str, said: bytes
) -> None:
    def script(connection: socket.socket, _: Message) -> None:
        connection.sendall(said)
        model.watch(connection)

    model.script = script
    with Wire(port, post(path, PROMPT)) as wire:
        assert wire.stream.readline().startswith(b"HTTP/1.1 200")

        leave(wire)

        assert model.left.wait(PATIENCE_S)


@LEAVING
def test_a_client_that_leaves_while_much_waits_for_it_stops_the_model(
    port: int, model: RawUpstream, leave: Callable[[Wire], None]
) -> None:
    def script(connection: socket.socket, _: Message) -> None:
        try:
            connection.sendall(STREAM)
            while True:
                connection.sendall(chunked(LINE * 10_000))
        except OSError:
            model.left.set()

    model.script = script
    wire = Wire(port, post("/api/chat", PROMPT))
    assert wire.stream.readline().startswith(b"HTTP/1.1 200")
    time.sleep(0.3)

    leave(wire)
    if leave is closes_half:  # it may still read
        wire.close()

    assert model.left.wait(PATIENCE_S)


@LEAVING
@pytest.mark.parametrize("framing", [b"Content-Length: 9000000", b"Transfer-Encoding: chunked"])
def test_a_client_that_leaves_while_it_sends_stops_the_upload(
    port: int, model: RawUpstream, leave: Callable[[Wire], None], framing: bytes
) -> None:
    model.reads_body = False
    model.script = lambda connection, _: model.watch(connection)
    head = b"POST /api/blobs/sha256:1 HTTP/1.1\r\nHost: localhost\r\n" + framing + HEAD_END
    with Wire(port, head + chunked(b"x" * 200_000)) as wire:
        wait_until(lambda: model.asked)

        leave(wire)

        assert model.left.wait(PATIENCE_S)


@LEAVING
@pytest.mark.parametrize("request_", [post("/api/chat", PROMPT), post("/api/embed", PROMPT), GET_TAGS])
def test_half_a_request_reaches_no_model(
    port: int, model: RawUpstream, leave: Callable[[Wire], None], request_: bytes
) -> None:
    for cut in (1, 20, len(request_) - 1):
        with Wire(port, request_[:cut]) as wire:
            leave(wire)
            time.sleep(0.05)

    path = request_.split(b" ")[1]  # an upload that the test before broke off may still be on its way
    assert [message.line for message in model.asked if path in message.line] == []


# --- slowness ---


def test_a_request_that_comes_byte_by_byte_waits_alone(port: int, model: RawUpstream) -> None:
    request = post("/api/embed", PROMPT)
    with Wire(port) as slow, Wire(port) as other:
        for byte in request[:-1]:
            slow.send(bytes([byte]))
            time.sleep(0.002)
        assert model.asked == []  # it holds none of the model server's connections

        other.send(post("/api/chat", PROMPT))
        assert other.answer().status == 200
        slow.send(request[-1:])
        assert slow.answer().status == 200
    assert [asked.body for asked in model.asked] == [PROMPT, PROMPT]


def test_readers_that_stall_do_not_disturb_other_streams(port: int, model: RawUpstream) -> None:
    ended: list[bytes] = []

    def script(connection: socket.socket, message: Message) -> None:
        connection.sendall(STREAM)
        for _ in range(20 if message.body == SILENT else 3_000):
            connection.sendall(chunked(LINE if message.body == SILENT else LONG_LINE))
        connection.sendall(LAST_CHUNK)
        ended.append(message.body)

    model.script = script
    with contextlib.ExitStack() as stack:
        for _ in range(8):
            stack.enter_context(Wire(port, post("/api/chat", PROMPT)))
        wait_until(lambda: len(model.asked) == 8)

        for _ in range(5):
            assert ask(port, post("/api/chat", SILENT)).body == LINE * 20

        wait_until(lambda: len(ended) == 5)
        assert ended == [SILENT] * 5  # the others still wait for their readers


# --- other ways to speak HTTP ---


@PATH
def test_pipelined_requests_are_answered_in_their_order(port: int, model: RawUpstream, path: str) -> None:
    model.script = lambda connection, message: says(
        b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(message.body), message.body)
    )(connection, message)
    bodies = [b'{"model":"%d"}' % number for number in range(20)]

    with Wire(port, b"".join(post(path, body) for body in bodies)) as wire:
        assert [wire.answer().body for _ in bodies] == bodies


@PATH
@pytest.mark.parametrize("version", [b"HTTP/1.0", b"HTTP/1.1"])
def test_a_client_that_wants_its_connection_closed_gets_that(
    port: int, model: RawUpstream, path: str, version: bytes
) -> None:
    request = post(path, PROMPT, "Connection: close").replace(b"HTTP/1.1", version)

    with Wire(port, request) as wire:
        answer = wire.answer()
        assert (answer.status, answer.body, answer.get(b"connection")) == (200, b"{}", b"close")
        assert wire.is_closed()


@PATH
def test_a_client_of_http_1_0_gets_a_stream_as_it_comes_and_its_end_with_the_connections(
    port: int, model: RawUpstream, path: str
) -> None:
    may_go_on = threading.Event()

    def script(connection: socket.socket, _: Message) -> None:
        connection.sendall(STREAM + chunked(LINE))
        may_go_on.wait()
        connection.sendall(chunked(LINE) + LAST_CHUNK)

    model.script = script
    with Wire(port, post(path, PROMPT).replace(b"HTTP/1.1", b"HTTP/1.0")) as wire:
        _, headers = read_head(wire.stream)
        assert wire.stream.read(len(LINE)) == LINE
        may_go_on.set()
        assert wire.stream.read() == LINE

    assert {name for name, _ in headers}.isdisjoint({b"transfer-encoding", b"content-length"})
    assert (b"connection", b"close") in headers


@PATH
def test_a_client_of_http_1_0_sees_where_a_stream_breaks_off(port: int, model: RawUpstream, path: str) -> None:
    model.script = says_and_closes(STREAM + chunked(LINE))

    assert ask(port, post(path, PROMPT).replace(b"HTTP/1.1", b"HTTP/1.0")).is_cut


@pytest.mark.parametrize(
    "garbage",
    [b"\x16\x03\x01\x02\x00\x01\x00", b"hello\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"CONNECT x:1 HTTP/1.1\r\n\r\n"],
)
def test_what_is_no_request_is_refused(port: int, model: RawUpstream, garbage: bytes) -> None:
    with Wire(port, garbage) as wire:
        assert wire.answer().status == 400
        assert wire.is_closed()
    assert model.asked == []


# --- vanished without a word ---


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="only Linux shows its timers")
def test_connections_of_both_sides_are_watched_for_a_peer_that_vanished(
    raw_server: Served, port: int, model: RawUpstream
) -> None:
    def script(connection: socket.socket, _: Message) -> None:
        connection.sendall(STREAM)
        model.watch(connection)

    model.script = script
    with Wire(port, post("/api/chat", PROMPT)) as wire:
        assert wire.stream.readline().startswith(b"HTTP/1.1 200")

        client = wire.socket.getsockname()[1]
        # What was sent is acknowledged by now, or soon: until then another timer runs.
        wait_until(lambda: is_kept_alive(local=port, remote=client))
        wait_until(lambda: is_kept_alive(local=None, remote=model.port))


def is_kept_alive(*, local: int | None, remote: int) -> bool:
    """Whether the kernel's timer for keepalive (2) runs for such a connection."""
    of = ".*" if local is None else f"{local:04X}"
    pattern = rf" [0-9A-F]{{8}}:{of} [0-9A-F]{{8}}:{remote:04X} 01 \S+ 02:"
    return re.search(pattern, Path("/proc/net/tcp").read_text()) is not None


def wait_until(is_so: Callable[[], object], timeout_s: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + timeout_s
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.005)
