"""Bodies of every kind and size cross unchanged, in both directions, and do not pile up on the way."""

import hashlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from proxy.formats import error_body
from tests.served.server import Served
from tests.served.wire import (
    HEAD_END,
    LAST_CHUNK,
    OK,
    STREAM,
    Message,
    RawUpstream,
    Wire,
    ask,
    chunked,
    pieces,
    post,
    says,
)

MIB = 1024 * 1024
LIMIT = 64 * MIB
BLOB = 150 * MIB  # much more than what may stay
STEADY = 48 * MIB  # buffers of sockets, and what the allocator keeps
PATHS = ["/api/chat", "/api/generate", "/v1/chat/completions", "/api/embed"]


# --- JSON, and what is none ---


@pytest.mark.parametrize(
    "body",
    [
        b'{"model":"m","prompt":"hi","seed":12345678901234567890123,"x":1.50,"y":-0.0,"z":1E400}',
        b'{"model":"m","prompt":"hi","options":{"a":NaN,"b":-Infinity}}',
        b'{"model":"m","model":"n","prompt":"a","prompt":"b"}',
        b' {\n\t"prompt" : "\\u0068\\/\\ud83d\\ude00" , "model":"m" }\r\n ',
        b'{"model":"m","prompt":"\\ud800 alone"}',
        b'\xef\xbb\xbf{"model":"m","prompt":"hi"}',
        b'{"model":"m","prompt":"\xff\xfe"}',
        b'{"model":"m","prompt":"\x01"}',
        b'{"model":"m","messages":[{"role":"user","content":null},{"role":1},5,null]}',
        b'{"model":"m","messages":"none"}',
        b'{"model":"m","messages":[]}',
        b'[{"model":"m"}]',
        b'{"model":"m"} {"model":"n"}',
        b'{"model": ',
        b"",
        b"null",
        b"[" * 5000,
        bytes(range(256)),
    ],
)
def test_a_body_with_nothing_to_add_arrives_as_it_was_sent(port: int, model: RawUpstream, body: bytes) -> None:
    for path in PATHS:
        assert ask(port, post(path, body)).status == 200

    assert [asked.body for asked in model.asked] == [body] * len(PATHS)


def test_what_is_added_leaves_all_else_in_place(raw_server: Served, port: int, model: RawUpstream) -> None:
    raw_server.teach("bandersnatch -isa beast")
    said = {
        "zeta": [1, 1.5, -0.0, 1e22, 18446744073709551615, -9223372036854775808, None, True],
        "model": "m",
        "messages": [
            {"content": "S €😀\x7f\u2028", "role": "system", "unknown": {"b": 1, "a": 2}},
            {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"n": 9007199254740993}}}]},
            {"role": "user", "content": "the bandersnatch", "images": ["aGk="]},
        ],
        "options": {"num_ctx": 4096, "temperature": 0.7},
        "alpha": {"": "empty"},
    }

    ask(port, post("/api/chat", json.dumps(said).encode()))

    arrived = json.loads(model.asked[-1].body)
    text, gap, block = arrived["messages"][-1]["content"].partition("\n\n")
    assert ("bandersnatch: [type] beast" in block, gap, text) == (True, "\n\n", "the bandersnatch")
    arrived["messages"][-1]["content"] = text
    assert json.dumps(arrived) == json.dumps(said)


@pytest.mark.parametrize("path", PATHS)
def test_a_compressed_body_passes(port: int, model: RawUpstream, path: str) -> None:
    body = bytes.fromhex("1f8b08000000000000ff") + b"whatever"

    ask(port, post(path, body, "Content-Encoding: gzip", "Content-Type: application/json"))

    assert (model.asked[-1].body, model.asked[-1].get(b"content-encoding")) == (body, b"gzip")


# --- framing ---


@pytest.mark.parametrize("path", PATHS)
def test_a_chunked_body_arrives_whole(port: int, model: RawUpstream, path: str) -> None:
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    for parts in ([b'{"model"', b":", b'"m"}'], [], list(pieces(200_000, 4096))):
        with Wire(port, head + chunked(*parts) + b"0\r\nX-Trailer: 1\r\n\r\n") as wire:
            assert wire.answer().status == 200

        assert model.asked[-1].body == b"".join(parts)
        assert len(model.asked[-1].all(b"content-length") + model.asked[-1].all(b"transfer-encoding")) == 1


@pytest.mark.parametrize("path", ["/api/chat", "/api/embed", "/api/blobs/sha256:0"])
def test_a_client_that_asks_first_is_told_to_continue(port: int, model: RawUpstream, path: str) -> None:
    request = post(path, b"x" * 200_000, "Expect: 100-continue")
    head, _, body = request.partition(HEAD_END)

    with Wire(port, head + HEAD_END) as wire:
        assert wire.answer().status == 100
        wire.send(body)
        assert wire.answer().status == 200

    assert (model.asked[-1].body, model.asked[-1].get(b"expect")) == (body, None)


@pytest.mark.parametrize(
    "framing",
    [
        "Content-Length: 4\r\nTransfer-Encoding: chunked",
        "Content-Length: 4\r\nContent-Length: 5",
        "Content-Length: -4",
        "Content-Length: 4x",
        "Transfer-Encoding: chunked, identity",
    ],
)
def test_a_body_with_two_ends_goes_no_further(port: int, model: RawUpstream, framing: str) -> None:
    request = f"POST /api/embed HTTP/1.1\r\nHost: localhost\r\n{framing}\r\n\r\n".encode()

    assert ask(port, request + b"0\r\n\r\n").status == 400
    assert model.asked == []


# --- sizes ---


@pytest.mark.parametrize("path", ["/api/chat", "/v1/chat/completions"])
def test_a_body_of_the_limit_passes_and_one_byte_more_is_refused(port: int, model: RawUpstream, path: str) -> None:
    body = b"x" * LIMIT
    with Wire(port, post(path, body)) as wire:
        assert wire.answer().status == 200
        assert model.asked.pop().body == body

        wire.send(post(path, body + b"x"))
        refused = wire.answer()
        wire.send(post(path, b"{}"))
        assert wire.answer().status == 200

    assert refused.status == 413
    told = f"the request body is larger than {LIMIT} bytes (limits.max_body_bytes)"
    assert json.loads(refused.body) == error_body(path, 413, told)
    assert [asked.body for asked in model.asked if not asked.is_cut] == [b"{}"]


def test_very_long_lines_come_back_as_they_are(port: int, model: RawUpstream) -> None:
    line = b'{"response":"","context":[' + b"128255," * 700_000 + b'0],"done":true}\n'
    model.script = says(STREAM + chunked(b'{"response":"a"}\n', line, line) + LAST_CHUNK)

    answer = ask(port, post("/api/generate", b'{"model":"m","prompt":"hi"}'))

    assert answer.body == b'{"response":"a"}\n' + line + line


@contextmanager
def steady_memory(server: Served) -> Iterator[None]:
    """Looks all the while at what the server process takes."""
    process = psutil.Process(server.process.pid)
    before, done, seen = process.memory_info().rss, threading.Event(), [0]

    def look() -> None:
        while not done.wait(0.02):
            seen.append(process.memory_info().rss)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
    assert max(seen) - before < STEADY


def test_a_blob_goes_up_and_does_not_pile_up_on_the_way(raw_server: Served, port: int, model: RawUpstream) -> None:
    sent, arrived = hashlib.sha256(), hashlib.sha256()
    model.reads_body = False

    def script(connection: socket.socket, message: Message) -> None:
        time.sleep(0.5)  # the client is faster: what it sends must wait with it
        left = int(message.get(b"content-length") or 0)
        while left:
            arrived.update(data := model.stream.read(min(left, MIB)))
            left -= len(data)
        connection.sendall(OK.replace(b"200 OK", b"201 Created"))

    def blob() -> Iterator[bytes]:
        for piece in pieces(BLOB):
            sent.update(piece)
            yield piece

    model.script = script
    with steady_memory(raw_server):
        headers = {"Content-Length": str(BLOB)}
        answer = raw_server.client.post("/api/blobs/sha256:1", content=blob(), headers=headers)

    assert (answer.status_code, arrived.digest()) == (201, sent.digest())


@pytest.mark.parametrize("framing", [b"content-length: %d" % BLOB, b"x: until it is closed"])
def test_a_blob_comes_down_to_a_slow_reader_and_others_do_not_wait(
    raw_server: Served, model: RawUpstream, framing: bytes
) -> None:
    sent, arrived = hashlib.sha256(), hashlib.sha256()

    def script(connection: socket.socket, _: Message) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n%s\r\n\r\n" % framing)
        for piece in pieces(BLOB):
            sent.update(piece)
            connection.sendall(piece)
        connection.shutdown(socket.SHUT_RDWR)

    model.script = script
    with steady_memory(raw_server), raw_server.client.stream("GET", "/file") as answer:
        time.sleep(0.5)
        assert raw_server.client.get("/gutask").status_code == 200
        for chunk in answer.iter_raw():
            arrived.update(chunk)

    assert arrived.digest() == sent.digest()
