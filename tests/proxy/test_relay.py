"""An answer on its way to the client, with a guard and without."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest

from proxy.domain.formats import FORMATS
from proxy.loops.guard import TailGuard
from proxy.loops.tail import Tail, TailLoop
from proxy.upstream.asgi_types import Event
from proxy.upstream.client import Upstream
from proxy.upstream.relay import Relay, StreamGuard
from standin.speech import Chunk
from tests.proxy.domain.answers.shapes import SHAPES, streamed

STREAM = {"content-type": "application/x-ndjson"}
LENGTH = {"content-length": "6"}
LOOP = TailLoop("same, ", 9)
PATH = pytest.mark.parametrize("path", SHAPES)


class Chunks(httpx.AsyncByteStream):
    """``left`` is what nobody has read."""

    def __init__(self, *chunks: bytes, breaks_off: bool = False) -> None:
        self.left = list(chunks)
        self.is_closed = False
        self._breaks_off = breaks_off

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self.left and not self.is_closed:
            yield self.left.pop(0)
        if self._breaks_off:
            raise httpx.ReadError("broke off")

    async def aclose(self) -> None:
        self.is_closed = True


class Guard:
    """Passes on what ``does`` makes of a chunk."""

    def __init__(self, does: Callable[[bytes], tuple[bytes, bool]]) -> None:
        self.seen: list[bytes] = []
        self._does = does

    def pass_on(self, chunk: bytes) -> tuple[bytes, bool]:
        self.seen.append(chunk)
        return self._does(chunk)


def ends_at(last: bytes) -> Guard:
    return Guard(lambda chunk: (b"the end", True) if chunk == last else (chunk, False))


def relayed(
    stream: Chunks,
    guard: StreamGuard | None = None,
    *,
    status: int = 200,
    headers: dict[str, str] = STREAM,
) -> list[Event]:
    """All that was sent."""
    sent: list[Event] = []

    async def send(event: Event) -> None:
        sent.append(event)

    answer = httpx.Response(status, headers=headers, stream=stream)
    asyncio.run(Relay(answer, guard=guard).send_to(send))
    return sent


def bodies(sent: list[Event]) -> list[bytes]:
    return [event["body"] for event in sent[1:]]


# --- without a guard ---


def test_chunks_go_out_as_they_come() -> None:
    sent = relayed(Chunks(b"a", b"bc"))

    assert [event.get("more_body") for event in sent] == [None, True, True, False]
    assert bodies(sent) == [b"a", b"bc", b""]


def test_where_the_upstream_breaks_off_the_last_message_is_missing() -> None:
    sent = relayed(Chunks(b"a", breaks_off=True))

    assert bodies(sent) == [b"a"]
    assert sent[-1]["more_body"] is True


# --- with one ---


def test_a_guard_that_lets_pass_changes_nothing() -> None:
    guard = ends_at(b"never")

    assert relayed(Chunks(b"a", b"bc"), guard) == relayed(Chunks(b"a", b"bc"))
    assert guard.seen == [b"a", b"bc"]


def test_where_it_ends_the_answer_the_upstream_is_stopped() -> None:
    stream = Chunks(b"a", b"b", b"c", b"d")

    sent = relayed(stream, ends_at(b"b"))

    assert bodies(sent) == [b"a", b"the end", b""]
    assert sent[-1]["more_body"] is False
    assert (stream.is_closed, stream.left) == (True, [b"c", b"d"])


def test_a_break_is_still_a_break() -> None:
    sent = relayed(Chunks(b"a", breaks_off=True), ends_at(b"never"))

    assert sent[-1] == {"type": "http.response.body", "body": b"a", "more_body": True}


@pytest.mark.parametrize(("status", "headers"), [(200, LENGTH), (500, STREAM), (404, LENGTH)])
def test_only_a_stream_that_went_well_is_guarded(status: int, headers: dict[str, str]) -> None:
    guard = ends_at(b"abc")

    sent = relayed(Chunks(b"abc", b"def"), guard, status=status, headers=headers)

    assert bodies(sent) == [b"abc", b"def", b""]
    assert guard.seen == []


def test_after_an_error_of_the_guard_the_rest_goes_by(caplog: pytest.LogCaptureFixture) -> None:
    guard = Guard(lambda chunk: (chunk, False) if chunk == b"a" else (chunk[99].to_bytes(), True))

    with caplog.at_level(logging.ERROR, "proxy.upstream.relay"):
        sent = relayed(Chunks(b"a", b"b", b"c"), guard)

    assert bodies(sent) == [b"a", b"b", b"c", b""]
    assert guard.seen == [b"a", b"b"]
    assert [record.message for record in caplog.records] == ["guard.failed"]


# --- the tail's ---


class TailThatRepeats:
    """From the ``count``-th text on."""

    def __init__(self, count: int) -> None:
        self.said: list[str] = []
        self._count = count

    def add(self, text: str) -> TailLoop | None:
        self.said.append(text)
        return LOOP if len(self.said) >= self._count else None


def guarded(path: str, chunks: list[bytes], tail: Any) -> tuple[bytes, Chunks, list[TailLoop]]:
    """What the client gets, what is left of the upstream's answer, and the loops that were told."""
    stream, loops = Chunks(*chunks), []
    sent = relayed(stream, TailGuard(FORMATS[path].watch(), tail, loops.append))
    return b"".join(bodies(sent)), stream, loops


def said_by(path: str, body: bytes) -> str:
    """The text of a whole answer."""
    watch = FORMATS[path].watch()
    text = watch.feed(body)
    assert (watch.unfinished, watch.ending()) == (0, b"")
    return text


@PATH
@pytest.mark.parametrize("size", [1, 7, 100, 350, 1000])
def test_the_answer_ends_with_what_repeats(path: str, size: int) -> None:
    whole = streamed(path, [Chunk(f"same {number} ") for number in range(200)])
    chunks = [whole[start : start + size] for start in range(0, len(whole), size)]
    tail = TailThatRepeats(4)

    body, stream, loops = guarded(path, chunks, tail)

    assert said_by(path, body) == "".join(tail.said)
    assert "".join(tail.said).startswith("same 0 same 1 same 2 same 3 ")
    assert (loops, stream.is_closed, bool(stream.left)) == ([LOOP], True, True)


@PATH
def test_an_answer_that_ends_by_itself_is_left_as_it_is(path: str) -> None:
    whole = streamed(path, [Chunk("same, "), Chunk("same.")], is_ended=True)

    body, stream, loops = guarded(path, [whole], TailThatRepeats(1))

    assert (body, loops, stream.is_closed) == (whole, [], False)


@PATH
def test_an_answer_that_does_not_repeat_is_left_as_it_is(path: str) -> None:
    said = [Chunk(f"The {number}th sentence says that {number * 7919 % 1000} is odd. ") for number in range(50)]
    whole = streamed(path, said, is_ended=True)
    chunks = [whole[start : start + 100] for start in range(0, len(whole), 100)]

    body, _, loops = guarded(path, chunks, Tail())

    assert (body, loops) == (whole, [])


@PATH
def test_one_that_never_stops_is_ended(path: str) -> None:
    said = [Chunk("Now I look into the folder "), Chunk("again, as it may have changed. ")]
    begun = streamed(path, said)
    rest = streamed(path, said * 1000)[len(begun) :]

    body, stream, loops = guarded(path, [begun, *rest.splitlines(keepends=True)], Tail())

    text = said_by(path, body)
    assert text == ("Now I look into the folder again, as it may have changed. " * 1000)[: len(text)]
    assert len(text) < 2000
    assert [("folder" in loop.repeated) for loop in loops] == [True]
    assert stream.is_closed


def test_over_a_socket_the_model_is_left_at_once() -> None:
    line = streamed("/api/generate", [Chunk("the same ")])
    sent: list[Event] = []
    has_left = asyncio.Event()

    async def model(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
        writer.write(b"%x\r\n%s\r\n" % (len(line), line))
        await reader.read()
        has_left.set()
        writer.close()

    async def send(event: Event) -> None:
        sent.append(event)

    async def run() -> None:
        server = await asyncio.start_server(model, "127.0.0.1", 0)
        upstream = Upstream(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}")
        guard = TailGuard(FORMATS["/api/generate"].watch(), TailThatRepeats(1), lambda loop: None)
        relay = Relay(await upstream.open("POST", "/api/generate", [], b"{}"), guard=guard)
        await relay.send_to(send)
        await asyncio.wait_for(has_left.wait(), 2)  # before anybody closes the relay
        await relay.aclose()
        await upstream.aclose()
        server.close()

    asyncio.run(run())

    assert said_by("/api/generate", b"".join(bodies(sent))) == "the same "
