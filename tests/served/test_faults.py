"""A model server that breaks off, hangs up, answers too early or goes away: what the client sees of it."""

import fcntl
import os
import socket
import struct
import sys
import termios
import threading
from select import select
from weakref import WeakSet

import pytest

from tests.served.server import Served
from tests.served.wire import (
    LAST_CHUNK,
    OK,
    PATIENCE_S,
    STREAM,
    Message,
    RawUpstream,
    Script,
    Wire,
    ask,
    chunked,
    post,
    read_head,
    says,
    says_and_closes,
)
from tests.waiting import eventually

PROMPT = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
PATHS = ["/api/chat", "/v1/chat/completions"]
GET_TAGS = b"GET /api/tags HTTP/1.1\r\nHost: localhost\r\n\r\n"
LINE = b'{"response":"a"}\n'


# --- in the answer ---


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "said",
    [
        STREAM + chunked(LINE, LINE),  # between two chunks
        STREAM + chunked(LINE, LINE) + b"ff\r\n{",  # within one
        STREAM + chunked(LINE, LINE) + b"f",  # within its length
        b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n" + LINE + LINE,
    ],
)
def test_an_answer_that_is_cut_is_cut_for_the_client_too(port: int, model: RawUpstream, path: str, said: bytes) -> None:
    model.script = says_and_closes(said)

    with Wire(port, post(path, PROMPT)) as wire:
        answer = wire.answer()
        assert wire.is_closed()

    assert (answer.status, answer.is_cut) == (200, True)
    assert answer.body.startswith(LINE + LINE)
    assert len(model.asked) == 1  # and not asked again


@pytest.mark.parametrize("path", PATHS)
def test_an_error_in_the_stream_and_an_end_without_done_pass(port: int, model: RawUpstream, path: str) -> None:
    for lines in ([LINE, b'{"error":"llama runner process has terminated"}\n'], [LINE]):
        model.script = says(STREAM + chunked(*lines) + LAST_CHUNK)

        answer = ask(port, post(path, PROMPT))

        assert (answer.status, answer.body, answer.is_cut) == (200, b"".join(lines), False)


@pytest.mark.parametrize("path", PATHS)
def test_the_status_waits_for_the_model_servers(port: int, model: RawUpstream, path: str) -> None:
    may_answer = threading.Event()

    def script(connection: socket.socket, _: Message) -> None:
        may_answer.wait()
        connection.sendall(OK.replace(b"200 OK", b"503 Busy"))

    model.script = script
    with Wire(port, post(path, PROMPT)) as wire:
        assert not select([wire.socket], [], [], 0.3)[0]  # nothing came before the model server's answer
        may_answer.set()
        assert wire.answer().status == 503


@pytest.mark.parametrize("path", PATHS)
def test_chunks_come_as_the_model_says_them(port: int, model: RawUpstream, path: str) -> None:
    may_go_on = threading.Semaphore(0)

    def script(connection: socket.socket, _: Message) -> None:
        connection.sendall(STREAM)
        for _ in range(3):
            may_go_on.acquire()
            connection.sendall(chunked(LINE))
        may_go_on.acquire()
        connection.sendall(LAST_CHUNK)

    model.script = script
    with Wire(port, post(path, PROMPT)) as wire:
        _, headers = read_head(wire.stream)
        for _ in range(3):
            may_go_on.release()
            assert wire.stream.read(len(chunked(LINE))) == chunked(LINE)
        may_go_on.release()
        assert wire.stream.read(len(LAST_CHUNK)) == LAST_CHUNK
    assert (b"transfer-encoding", b"chunked") in headers


# --- before the answer ---


def closes_what_it_kept(how: Script) -> Script:
    """Answers the first request of each connection, and does ``how`` at the next."""
    known: WeakSet[socket.socket] = WeakSet()

    def script(connection: socket.socket, message: Message) -> None:
        if connection in known:
            how(connection, message)
        else:
            known.add(connection)
            connection.sendall(OK)

    return script


def hangs_up(connection: socket.socket, _: Message) -> None:
    connection.shutdown(socket.SHUT_RDWR)


def resets(connection: socket.socket, _: Message) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    os.close(connection.detach())


REQUESTS = [
    GET_TAGS,
    post("/api/chat", PROMPT),
    post("/v1/chat/completions", PROMPT),
    post("/api/embed", b"x" * 60_000),
]


@pytest.mark.parametrize("how", [hangs_up, resets])
@pytest.mark.parametrize("request_", REQUESTS, ids=["tags", "chat", "completions", "embed"])
def test_a_kept_connection_that_was_closed_meanwhile_is_no_error(
    port: int, model: RawUpstream, request_: bytes, how: Script
) -> None:
    ask(port, GET_TAGS)
    model.clear()
    model.script = closes_what_it_kept(how)
    with Wire(port) as wire:
        for _ in range(4):
            wire.send(request_)
            assert wire.answer().status == 200


@pytest.mark.parametrize("request_", REQUESTS, ids=["tags", "chat", "completions", "embed"])
def test_what_a_new_connection_does_not_answer_is_not_asked_again(
    raw_server: Served, port: int, model: RawUpstream, request_: bytes
) -> None:
    model.script = says_and_closes(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 0\r\n\r\n")
    for _ in range(20):  # no kept connection is left
        ask(port, GET_TAGS)
    model.clear()
    model.script = hangs_up

    answer = ask(port, request_)

    assert (answer.status, len(model.asked)) == (502, 1)
    assert b"Server disconnected" in answer.body


@pytest.mark.parametrize("request_", REQUESTS[:3], ids=["tags", "chat", "completions"])
def test_what_comes_between_two_answers_is_taken_for_none(port: int, model: RawUpstream, request_: bytes) -> None:
    late = b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n"
    has_answer, has_more = threading.Semaphore(0), threading.Semaphore(0)

    def script(connection: socket.socket, _: Message) -> None:
        connection.sendall(OK)
        has_answer.acquire()
        connection.sendall(late)
        assert eventually(lambda: has_arrived(connection), within_s=PATIENCE_S)
        has_more.release()

    model.script = script
    for _ in range(3):
        assert ask(port, request_).status == 200
        has_answer.release()
        assert has_more.acquire(timeout=PATIENCE_S)


def has_arrived(connection: socket.socket) -> bool:
    """True if the system of the other side has all that was sent; elsewhere than on Linux, that it was sent."""
    if sys.platform != "linux":
        return True
    unacknowledged = fcntl.ioctl(connection, termios.TIOCOUTQ, struct.pack("i", 0))
    return struct.unpack("i", unacknowledged) == (0,)


def test_after_the_first_byte_of_an_answer_it_is_not_asked_again(port: int, model: RawUpstream) -> None:
    model.script = closes_what_it_kept(says_and_closes(b"HTTP/1.1 200"))
    ask(port, GET_TAGS)

    assert ask(port, post("/api/chat", PROMPT)).status == 502


def test_a_large_body_on_its_way_is_not_sent_twice(port: int, model: RawUpstream) -> None:
    model.script = closes_what_it_kept(hangs_up)
    ask(port, GET_TAGS)
    model.asked.clear()

    answer = ask(port, post("/api/blobs/sha256:1", b"x" * 1_000_000))

    assert (answer.status, len(model.asked)) == (502, 1)


def test_an_answer_before_the_end_of_the_request_arrives_at_once(port: int, model: RawUpstream) -> None:
    def script(connection: socket.socket, _: Message) -> None:
        connection.sendall(b"HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nno")
        model.watch(connection)

    model.reads_body = False
    model.script = script
    request = post("/api/blobs/sha256:1", b"x" * 5_000_000)
    with Wire(port, request[:1_000_000]) as wire:
        answer = wire.answer()
        assert (answer.status, answer.body) == (413, b"no")
        assert model.left.wait(PATIENCE_S)  # the rest does not go up

        model.clear()
        wire.send(request[1_000_000:])
        wire.send(GET_TAGS)
        assert wire.answer().status == 200
    assert [asked.line for asked in model.asked] == [b"GET /api/tags HTTP/1.1"]


# --- gone for a while ---


def test_a_model_server_that_restarts_is_found_again_at_once(database: str) -> None:
    first = RawUpstream()
    served = Served(upstream=first.url, database=database).wait_ready()
    with Wire(served.port) as wire:
        for _ in range(3):
            wire.send(post("/api/chat", PROMPT))
            assert wire.answer().status == 200
        first.stop()
        first.script = hangs_up
        again = RawUpstream(first.port)
        for path in ("/api/chat", "/v1/chat/completions", "/api/embed"):
            wire.send(post(path, PROMPT))
            assert wire.answer().status == 200
        assert len(again.asked) == 3

        again.stop()
        again.script = hangs_up
        wire.send(post("/api/chat", PROMPT))
        assert wire.answer().status == 502
        later = RawUpstream(first.port)
        wire.send(post("/api/chat", PROMPT))
        assert wire.answer().status == 200
    later.stop()
    served.stop()
