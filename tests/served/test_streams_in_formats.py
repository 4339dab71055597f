"""Streams that go wrong, in each wire format: for the libraries people use they end through Festinger as they do
directly, and each byte passes."""

import gc
import json
from collections.abc import Iterator
from typing import Any

import pytest

from standin.speech import Chunk
from tests.conformance.sides import UUID, drained
from tests.proxy.formats.answers.shapes import streamed
from tests.served.server import Served
from tests.served.speakers import SPEAKERS, Speaker
from tests.served.wire import LAST_CHUNK, RawUpstream, ask, chunked, post, says, says_and_closes
from tests.standin import StandIn

pytestmark = [
    pytest.mark.usefixtures("collected_between_tests"),
    pytest.mark.filterwarnings("ignore:Items? '.*' on TypedDict class:UserWarning"),  # Pydantic's, on LiteLLM's types
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),  # LiteLLM leaves its sockets to the collector
]

SPEAKER = pytest.mark.parametrize("speaker", SPEAKERS.values(), ids=SPEAKERS.keys())
OWN = ("id", "created")  # made by LiteLLM, new each time


@pytest.fixture(scope="module", autouse=True)
def _collected() -> Iterator[None]:
    yield
    gc.collect()  # while LiteLLM's warnings are still let pass


def outcome(speaker: Speaker, url: str, model: str) -> list[Any]:
    """All that the library gave, and the error that ended it."""
    found = drained(speaker.stream(url, model))
    shown = [without_own(one) if isinstance(one, dict) else one for one in found]
    return json.loads(UUID.sub("UUID", json.dumps(shown, default=str)).replace(url, "URL"))


def without_own(chunk: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in chunk.items() if key not in OWN}


# --- what the model does ---


@SPEAKER
@pytest.mark.parametrize("model", ["llama3", "cut", "fail-mid", "no-done"])
def test_a_stream_ends_as_it_does_directly(server: Served, ollama: StandIn, speaker: Speaker, model: str) -> None:
    directly = outcome(speaker, ollama.url, model)

    assert directly
    assert outcome(speaker, server.url, model) == directly
    assert [request.path for request in ollama.requests() if request.path != "/api/show"] == [speaker.path] * 2


@SPEAKER
def test_a_library_that_leaves_stops_the_model_as_it_does_directly(
    server: Served, ollama: StandIn, speaker: Speaker
) -> None:
    for url in (ollama.url, server.url):
        stream = speaker.stream(url, "hang")
        next(stream)
        stream.close()

    left = [request.disconnected for request in ollama.settled() if request.path == speaker.path]
    assert left == [True, True]


# --- what no model says ---

NDJSON = b"application/x-ndjson"
SSE = b"text/event-stream"
LINES: dict[str, bytes] = {
    "no JSON": b'{"response": "x\n',
    "a list": b"[1, 2]\n",
    "a string": b'"x"\n',
    "null": b"null\n",
    "an empty object": b"{}\n",
    "fields of other types": b'{"model": 1, "message": "x", "response": [], "done": "no"}\n',
    "nothing": b"\n\n\n",
    "no UTF-8": b'{"response": "\xff\xfe"}\n',
    "an error that is no text": b'{"error": {"message": "out of memory"}}\n',
    "carriage returns": b'{"model": "m", "message": {"role": "assistant", "content": "x"}, "response": "x"}\r\n',
    "an end too early": b'{"model": "m", "message": {"role": "assistant"}, "response": "", "done": true}\n',
    "two objects": b'{"response": "x", "done": false}{"response": "y", "done": false}\n',
}
PATH = pytest.mark.parametrize("path", sorted({speaker.path for speaker in SPEAKERS.values()}))
SAID = {"messages": [{"role": "user", "content": "hello"}], "prompt": "hello", "input": "hello"}
PROMPT = json.dumps(SAID | {"model": "m", "stream": True, "max_tokens": 9}).encode()
EVENTS: dict[str, bytes] = {
    "no JSON": b'data: {"choices": [\n\n',
    "a list": b"data: [1, 2]\n\n",
    "null": b"data: null\n\n",
    "an empty object": b"data: {}\n\n",
    "fields of other types": b'data: {"type": 1, "choices": {"delta": 2}, "model": []}\n\n',
    "nothing": b"\n\n\n\n",
    "no data": b"event: ping\n\n",
    "no UTF-8": b'data: {"id": "\xff\xfe"}\n\n',
    "a comment": b": still there\n\n",
    "another event": b'event: news\ndata: {"type": "news"}\n\n',
    "carriage returns": b'event: ping\r\ndata: {"type": "ping"}\r\n\r\n',
    "an error": b'data: {"error": {"message": "out of memory", "type": "api_error", "code": null}}\n\n',
    "an error event": b'event: error\ndata: {"type": "error", "error": {"type": "api_error", "message": "full"}}\n\n',
    "an end too early": b"data: [DONE]\n\n",
    "a line that is no field": b"<html>504</html>\n\n",
}


def answer(path: str, *chunks: bytes) -> bytes:
    content_type = NDJSON if path.startswith("/api") else SSE
    head = b"HTTP/1.1 200 OK\r\ncontent-type: " + content_type + b"\r\ntransfer-encoding: chunked\r\n\r\n"
    return head + chunked(*chunks)


def begun_and_ended(path: str) -> tuple[bytes, bytes]:
    """A good stream in two halves, between two words."""
    whole = streamed(path, [Chunk("Häuser, "), Chunk("Häuser.")], is_ended=True)
    begun = streamed(path, [Chunk("Häuser, ")])
    return begun, whole[len(begun) :]


@PATH
def test_what_no_model_says_passes_as_it_came(port: int, model: RawUpstream, path: str) -> None:
    begun, ended = begun_and_ended(path)
    oddities = LINES if path.startswith("/api") else EVENTS

    for oddity, odd in oddities.items():
        model.script = says(answer(path, begun, odd, ended) + LAST_CHUNK)
        assert (oddity, ask(port, post(path, PROMPT)).body) == (oddity, begun + odd + ended)


@PATH
def test_an_end_in_the_middle_of_a_letter_passes_as_it_came(port: int, model: RawUpstream, path: str) -> None:
    begun, ended = begun_and_ended(path)
    inside = ended[: ended.index("ä".encode()) + 1]

    for last in (LAST_CHUNK, b""):
        model.script = says_and_closes(answer(path, begun, inside) + last)
        passed = ask(port, post(path, PROMPT))
        assert (passed.body, passed.is_cut) == (begun + inside, not last)


@PATH
def test_a_stream_that_comes_byte_by_byte_passes_as_it_came(port: int, model: RawUpstream, path: str) -> None:
    whole = b"".join(begun_and_ended(path))
    model.script = says(answer(path, *(bytes([byte]) for byte in whole)) + LAST_CHUNK)

    assert ask(port, post(path, PROMPT)).body == whole
