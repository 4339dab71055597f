"""The answers of all formats, held against those of the stand-in."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proxy.formats import FORMATS
from proxy.formats.streams import EventFrames, LineFrames
from standin.speech import Chunk
from tests.proxy.formats.answers.shapes import PIECES, SHAPES, cut_call, end_of, streamed
from tests.proxy.formats.answers.test_framing import cut

UNIQUE = "0123456789abcdef"
searching = settings(suppress_health_check=[HealthCheck.too_slow])
THINKING = [path for path in SHAPES if path != "/v1/completions"]
CALLING = ["/api/chat", "/v1/chat/completions", "/v1/responses", "/v1/messages"]
PATH = pytest.mark.parametrize("path", SHAPES)

WORDS = st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=10), min_size=1, max_size=6)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["x", "index"]), inner, max_size=3),
    max_leaves=5,
)


def parsed(path: str, body: bytes) -> list[Any]:
    """What a stream consists of; an end that is not JSON as its text."""
    frames = LineFrames() if path.startswith("/api") else EventFrames()
    found = [json.loads(frame) if frame.startswith(b"{") else frame.decode() for frame in frames.feed(body)]
    assert frames.unfinished == 0
    return found


def but_numbers(value: Any) -> Any:
    """The same with no ids, times and counts; those that come one after the other stay."""
    if isinstance(value, dict):
        counted = ("sequence_number", "index", "output_index", "content_index", "summary_index")
        free = {key: but_numbers(one) for key, one in value.items() if key not in ("id", "item_id", "created_at")}
        return {key: value[key] if key in counted else one for key, one in free.items() if key != "context"}
    if isinstance(value, list):
        return [but_numbers(one) for one in value]
    return 0 if isinstance(value, int | float) and not isinstance(value, bool) else value


PART_ENDS = frozenset(
    {
        *("response.output_text.done", "response.content_part.done", "response.reasoning_summary_text.done"),
        "response.function_call_arguments.done",
    }
)


def taken(path: str, body: bytes) -> Any:
    """What clients take from a stream: they need no end of a part of an item, whose end follows."""
    values = parsed(path, body)
    if path != "/v1/responses":
        return but_numbers(values)
    return but_numbers([{**value, "sequence_number": 0} for value in values if value["type"] not in PART_ENDS])


def call(number: int, **arguments: str) -> dict[str, Any]:
    return {"id": f"call_{number}", "function": {"index": number, "name": f"tool{number}", "arguments": arguments}}


# --- what an answer says ---


@PATH
@searching
@given(words=WORDS, places=st.lists(st.integers(0, 10_000), max_size=8))
def test_the_text_is_what_the_model_says_wherever_chunks_break(path: str, words: list[str], places: list[int]) -> None:
    reader = FORMATS[path].reader()

    texts = [
        reader.feed(chunk).text for chunk in cut(streamed(path, [Chunk(word) for word in words], is_ended=True), places)
    ]

    assert "".join(texts) == "".join(words)
    assert reader.unfinished == 0


@PATH
def test_the_text_of_a_chunk_is_known_with_the_chunk(path: str) -> None:
    reader, shape = FORMATS[path].reader(), SHAPES[path]()

    assert [reader.feed(shape.part(Chunk(word))).text for word in ("one ", "two ", "three")] == [
        "one ",
        "two ",
        "three",
    ]


@pytest.mark.parametrize("path", THINKING)
def test_thoughts_are_text(path: str) -> None:
    body = streamed(path, [Chunk(thinking="Why? "), Chunk(thinking="So. "), Chunk("Yes.")], is_ended=True)

    assert FORMATS[path].reader().feed(body) == ("Why? So. Yes.", "Yes.")


@pytest.mark.parametrize("path", CALLING)
def test_calls_are_text(path: str) -> None:
    body = streamed(path, [Chunk(tool_calls=(call(0, q="é"), call(1)))], is_ended=True)

    assert FORMATS[path].reader().feed(body) == ('tool0{"q":"é"}tool1{}', "")


@PATH
@searching
@given(chunks=st.lists(st.binary(max_size=20) | JSON.map(lambda value: json.dumps(value).encode() + b"\n\n")))
def test_bytes_of_no_answer_say_nothing(path: str, chunks: list[bytes]) -> None:
    reader = FORMATS[path].reader()

    assert [reader.feed(chunk) for chunk in chunks] == [("", "")] * len(chunks)


KINDS = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "response.created",
    "response.output_item.added",
    "response.output_item.done",
    "response.content_part.added",
    "response.content_part.done",
    "response.output_text.delta",
    "response.output_text.done",
]
FIELDS = [
    "delta",
    "item",
    "message",
    "response",
    "content_block",
    "choices",
    "tool_calls",
    "function",
    "sequence_number",
]
SHAPELESS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3) | st.sampled_from(KINDS),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*FIELDS, "text", "name", "content", "arguments"]), inner, max_size=5)
    ),
    max_leaves=12,
)
EVENTS = st.builds(
    lambda kind, fields: {"type": kind, **fields},
    st.sampled_from(KINDS),
    st.dictionaries(st.sampled_from([*FIELDS, "index", "output_index", "type"]), SHAPELESS, max_size=4),
)


@PATH
@searching
@given(values=st.lists(SHAPELESS | EVENTS, max_size=6))
def test_nothing_that_comes_raises(path: str, values: list[Any]) -> None:
    reader = FORMATS[path].reader()
    before = b"" if path.startswith("/api") else b"data: "

    for value in values:
        assert isinstance(reader.feed(before + json.dumps(value).encode() + b"\n\n").text, str)
    assert isinstance(reader.ending(), bytes)


# --- its end ---


@PATH
@searching
@given(words=WORDS)
def test_the_ending_of_an_answer_is_what_comes_when_the_model_stops(path: str, words: list[str]) -> None:
    said = [Chunk(word) for word in words]
    begun, whole = streamed(path, said), streamed(path, said, is_ended=True)
    reader = FORMATS[path].reader()
    reader.feed(begun)

    ending = reader.ending()

    assert taken(path, begun + ending) == taken(path, whole)


@pytest.mark.parametrize("path", THINKING)
@pytest.mark.parametrize("last", [Chunk(thinking="So."), Chunk("Yes.")])
def test_the_ending_within_thoughts_or_after_them_is_what_comes_when_the_model_stops(path: str, last: Chunk) -> None:
    said = [Chunk(thinking="Why? "), last]
    begun, whole = streamed(path, said), streamed(path, said, is_ended=True)
    reader = FORMATS[path].reader()
    reader.feed(begun)

    assert taken(path, begun + reader.ending()) == taken(path, whole)


@pytest.mark.parametrize("path", CALLING)
def test_the_ending_after_tool_calls_is_what_comes_when_the_model_stops(path: str) -> None:
    said = [
        Chunk("I look. ") if path != "/v1/responses" else Chunk(thinking="I look."),
        Chunk(tool_calls=(call(0, q="x"),)),
    ]
    begun, whole = streamed(path, said), streamed(path, said, is_ended=True)
    reader = FORMATS[path].reader()
    reader.feed(begun)

    assert taken(path, begun + reader.ending()) == taken(path, whole)


@PATH
@searching
@given(words=WORDS, places=st.lists(st.integers(0, 10_000), min_size=1, max_size=3))
def test_without_what_is_unfinished_an_ending_fits_everywhere(path: str, words: list[str], places: list[int]) -> None:
    *chunks, _ = cut(streamed(path, [Chunk(word) for word in words], is_ended=True), places)
    reader = FORMATS[path].reader()
    said = "".join(reader.feed(chunk).text for chunk in chunks)
    begun = b"".join(chunks)

    body = begun[: len(begun) - reader.unfinished] + reader.ending()

    whole = FORMATS[path].reader()
    assert whole.feed(body).text == said
    assert whole.ending() == b""
    numbers = [event["sequence_number"] for event in parsed(path, body) if "sequence_number" in event]
    assert numbers == list(range(len(numbers)))


@PATH
def test_an_answer_that_has_ended_is_not_ended_again(path: str) -> None:
    reader = FORMATS[path].reader()

    reader.feed(streamed(path, [Chunk("Yes.")], is_ended=True))

    assert reader.ending() == b""


ERRORS = {
    "/api/chat": b'{"error":"unexpected EOF"}\n',
    "/api/generate": b'{"error":"unexpected EOF"}\n',
    "/v1/chat/completions": b'data: {"error":{"message":"unexpected EOF"}}\n\n',
    "/v1/completions": b'data: {"error":{"message":"unexpected EOF"}}\n\n',
    "/v1/responses": b'event: error\ndata: {"type":"error","message":"unexpected EOF"}\n\n',
    "/v1/messages": b'event: error\ndata: {"type":"error","error":{"message":"unexpected EOF"}}\n\n',
}


@pytest.mark.parametrize(("path", "error"), ERRORS.items())
def test_an_answer_that_has_ended_with_an_error_is_not_ended_again(path: str, error: bytes) -> None:
    reader = FORMATS[path].reader()
    reader.feed(streamed(path, [Chunk("Yes.")]))

    assert reader.feed(error) == ("", "")
    assert reader.ending() == b""


@PATH
def test_an_end_that_has_begun_is_completed(path: str) -> None:
    """For each place between two lines or events of the end."""
    whole = streamed(path, [Chunk("one "), Chunk("two")], is_ended=True)
    frames = whole.splitlines(keepends=True) if path.startswith("/api") else whole.split(b"\n\n")[:-1]
    frames = frames if path.startswith("/api") else [frame + b"\n\n" for frame in frames]
    for count in range(1, len(frames) + 1):
        reader = FORMATS[path].reader()
        begun = b"".join(frames[:count])
        text = reader.feed(begun).text
        if text == "one two":
            assert taken(path, begun + reader.ending()) == taken(path, whole)


def end_of_cut_call(path: str) -> list[Any]:
    reader = FORMATS[path].reader()
    assert "".join(reader.feed(chunk).text for chunk in cut_call(path)) == "write" + "".join(PIECES)
    return parsed(path, reader.ending())


def test_a_chats_call_that_is_cut_was_too_long() -> None:
    finish, done = end_of_cut_call("/v1/chat/completions")

    assert (finish["choices"][0]["finish_reason"], done) == ("length", "[DONE]")


def test_a_messages_call_that_is_cut_was_too_long() -> None:
    stop, delta, last = end_of_cut_call("/v1/messages")

    assert (stop["type"], last["type"]) == ("content_block_stop", "message_stop")
    assert delta["delta"] == {"stop_reason": "max_tokens"}


def test_a_responses_call_that_is_cut_is_incomplete() -> None:
    done, last = end_of_cut_call("/v1/responses")

    assert (done["item"]["status"], last["type"]) == ("incomplete", "response.incomplete")
    assert last["response"]["incomplete_details"] == {"reason": "max_output_tokens"}
    assert [event["sequence_number"] for event in (done, last)] == [6, 7]


# --- made up ---


@PATH
@searching
@given(text=st.text(st.characters(codec="utf-8"), min_size=1))
def test_an_answer_of_our_own_is_what_the_model_would_send(path: str, text: str) -> None:
    whole = SHAPES[path]().whole(Chunk(text, end=end_of(path)))

    content_type, body = FORMATS[path].write_answer("llama3", text, is_stream=False, now=1767268800.0, unique=UNIQUE)

    assert content_type == whole.content_type
    assert but_numbers(json.loads(body)) == but_numbers(json.loads(whole.body))


@PATH
@searching
@given(text=st.text(st.characters(codec="utf-8"), min_size=1))
def test_a_streamed_answer_of_our_own_is_what_the_model_would_send(path: str, text: str) -> None:
    content_type, body = FORMATS[path].write_answer("llama3", text, is_stream=True, now=1767268800.0, unique=UNIQUE)

    assert content_type == SHAPES[path]().stream_type
    assert but_numbers(parsed(path, body)) == but_numbers(parsed(path, streamed(path, [Chunk(text)], is_ended=True)))


@PATH
@pytest.mark.parametrize("is_stream", [True, False])
def test_an_answer_of_our_own_has_the_given_times_and_ids(path: str, is_stream: bool) -> None:
    _, body = FORMATS[path].write_answer("llama3", "Yes.", is_stream=is_stream, now=1767268800.5, unique=UNIQUE)

    assert (b"2026-01-01T12:00:00.500000Z" if path.startswith("/api") else UNIQUE.encode()) in body
    assert body == FORMATS[path].write_answer("llama3", "Yes.", is_stream=is_stream, now=1767268800.5, unique=UNIQUE)[1]
