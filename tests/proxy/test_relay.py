"""An answer on its way to the client, seen by an observer and not."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from aiohttp import ClientPayloadError

from proxy.formats import FORMATS
from proxy.formats.streams import AnswerListener, Delta, WholeReader
from proxy.loops.tail import Tail, TailLoop
from proxy.prompts.answer_watch import AnswerWatch
from proxy.upstream.asgi_types import Event
from proxy.upstream.client import Upstream
from proxy.upstream.relay import AnswerObserver, relay
from standin.speech import Chunk
from tests.proxy.formats.answers.shapes import SHAPES, streamed

LOOP = TailLoop("same, ", 9)
PATH = pytest.mark.parametrize("path", SHAPES)


class Chunks:
    """An upstream's answer; ``left`` is what nobody has read."""

    def __init__(self, *chunks: bytes, breaks_off: bool = False) -> None:
        self.status, self.headers = 200, [(b"content-type", b"application/x-ndjson")]
        self.left = list(chunks)
        self.is_closed = False
        self._breaks_off = breaks_off

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while self.left and not self.is_closed:
            yield self.left.pop(0)
        if self._breaks_off:
            raise ClientPayloadError("broke off")

    async def aclose(self) -> None:
        self.is_closed = True


class Observer:
    """Passes on what ``does`` makes of a chunk."""

    def __init__(self, does: Callable[[bytes], tuple[bytes, bool]]) -> None:
        self.seen: list[bytes] = []
        self.is_finished = False
        self._does = does

    def pass_on(self, chunk: bytes) -> tuple[bytes, bool]:
        self.seen.append(chunk)
        return self._does(chunk)

    def finish(self) -> None:
        self.is_finished = True


def ends_at(last: bytes) -> Observer:
    return Observer(lambda chunk: (b"the end", True) if chunk == last else (chunk, False))


def relayed(answer: Any, observer: AnswerObserver | None = None) -> list[Event]:
    """All that was sent."""
    sent: list[Event] = []

    async def send(event: Event) -> None:
        sent.append(event)

    asyncio.run(relay(answer, send, observer=observer))
    return sent


def bodies(sent: list[Event]) -> list[bytes]:
    return [event["body"] for event in sent[1:]]


# --- without an observer ---


def test_chunks_go_out_as_they_come() -> None:
    sent = relayed(Chunks(b"a", b"bc"))

    assert [event.get("more_body") for event in sent] == [None, True, True, False]
    assert bodies(sent) == [b"a", b"bc", b""]


def test_where_the_upstream_breaks_off_the_last_message_is_missing() -> None:
    sent = relayed(Chunks(b"a", breaks_off=True))

    assert bodies(sent) == [b"a"]
    assert sent[-1]["more_body"] is True


# --- with one ---


def test_an_observer_that_lets_pass_changes_nothing() -> None:
    observer = ends_at(b"never")

    assert relayed(Chunks(b"a", b"bc"), observer) == relayed(Chunks(b"a", b"bc"))
    assert (observer.seen, observer.is_finished) == ([b"a", b"bc"], True)


def test_where_it_ends_the_answer_the_upstream_is_stopped() -> None:
    stream, observer = Chunks(b"a", b"b", b"c", b"d"), ends_at(b"b")

    sent = relayed(stream, observer)

    assert bodies(sent) == [b"a", b"the end", b""]
    assert sent[-1]["more_body"] is False
    assert (stream.is_closed, stream.left, observer.is_finished) == (True, [b"c", b"d"], True)


def test_a_break_is_still_a_break() -> None:
    observer = ends_at(b"never")

    sent = relayed(Chunks(b"a", breaks_off=True), observer)

    assert sent[-1] == {"type": "http.response.body", "body": b"a", "more_body": True}
    assert not observer.is_finished


# --- what reads it ---


def heard_by(listener_count: int) -> tuple[list[list[tuple[Delta, bool]]], list[AnswerListener]]:
    """What each listener hears, and the listeners."""
    heard: list[list[tuple[Delta, bool]]] = [[] for _ in range(listener_count)]
    return heard, [lambda delta, is_over, each=each: each.append((delta, is_over)) for each in heard]


@PATH
def test_each_listener_hears_what_the_model_writes_and_that_it_is_over(path: str) -> None:
    whole = streamed(path, [Chunk("one "), Chunk("two")], is_ended=True)
    heard, listeners = heard_by(2)

    relayed(Chunks(*whole.splitlines(keepends=True)), AnswerWatch(FORMATS[path].reader(), listeners))

    spoken = [(Delta("one ", "one "), False), (Delta("two", "two"), False), (Delta(), True)]
    assert heard == [spoken, spoken]


def test_a_line_is_read_once_however_many_listen(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = FORMATS["/api/chat"].reader()
    read: list[bytes] = []
    monkeypatch.setattr(reader, "_read", lambda frame: read.append(frame) or Delta("x", "x"))
    _, listeners = heard_by(3)

    relayed(Chunks(b"1\n2", b"\n3\n"), AnswerWatch(reader, listeners, Tail()))

    assert read == [b"1", b"2", b"3", b""]


def test_after_an_error_the_rest_goes_by_unread(caplog: pytest.LogCaptureFixture) -> None:
    whole = streamed("/api/chat", [Chunk("one"), Chunk("two"), Chunk("three")], is_ended=True)
    heard, listeners = heard_by(1)

    def fail(delta: Delta, is_over: bool) -> None:
        if delta.text == "two":
            raise ValueError

    with caplog.at_level(logging.ERROR, "proxy.prompts"):
        sent = relayed(
            Chunks(*whole.splitlines(keepends=True)), AnswerWatch(WIRE.reader(), [fail, *listeners], TailThatRepeats(3))
        )

    assert b"".join(bodies(sent)) == whole
    assert heard == [[(Delta("one", "one"), False)]]
    assert [record.message for record in caplog.records] == ["answer.unread"]


def test_an_answer_that_is_no_stream_is_read_at_its_end() -> None:
    heard, listeners = heard_by(1)

    relayed(Chunks(b'{"message": {"thinking": "Hm. ",', b' "content": "Yes."}}'), AnswerWatch(WholeReader(), listeners))

    assert heard == [[(Delta("Hm. Yes.", "Yes."), True)]]


# --- its tail ---


WIRE = FORMATS["/api/chat"]


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
    sent = relayed(stream, AnswerWatch(FORMATS[path].reader(), [], tail, loops.append))
    return b"".join(bodies(sent)), stream, loops


def said_by(path: str, body: bytes) -> str:
    """The text of a whole answer."""
    reader = FORMATS[path].reader()
    text = reader.feed(body).text
    assert (reader.unfinished, reader.ending()) == (0, b"")
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
        answer = await upstream.open("POST", "/api/generate", [], b"{}")
        tail: Any = TailThatRepeats(1)
        await relay(answer, send, observer=AnswerWatch(FORMATS["/api/generate"].reader(), [], tail))
        await asyncio.wait_for(has_left.wait(), 2)  # before anybody closes the answer
        await answer.aclose()
        await upstream.aclose()
        server.close()

    asyncio.run(run())

    assert said_by("/api/generate", b"".join(bodies(sent))) == "the same "
