"""Lines and server-sent events, out of chunks that break anywhere."""

from collections.abc import Callable, Iterable
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proxy.formats import streams
from proxy.formats.streams import EventFrames, Frames, LineFrames, parse_object, write_json

TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=20)
BODY = st.lists(st.sampled_from([b"\n", b"\r\n", b"\r", b"data:", b"data: x", b"event: y", b":", "ö€".encode()]))
searching = settings(suppress_health_check=[HealthCheck.too_slow])
FRAMES = pytest.mark.parametrize("frames", [LineFrames, EventFrames])


def fed(frames: Frames, chunks: Iterable[bytes]) -> list[bytes]:
    return [frame for chunk in chunks for frame in frames.feed(chunk)]


def cut(body: bytes, places: list[int]) -> list[bytes]:
    bounds = [0, *sorted(place % (len(body) + 1) for place in places), len(body)]
    return [body[start:end] for start, end in pairwise(bounds)]


@FRAMES
@searching
@given(BODY, st.lists(st.integers(0, 1000)))
def test_where_chunks_break_makes_no_difference(
    frames: Callable[[], Frames], pieces: list[bytes], places: list[int]
) -> None:
    body = b"".join(pieces)
    whole, in_pieces = frames(), frames()

    assert fed(in_pieces, cut(body, places)) == fed(whole, [body])
    assert in_pieces.unfinished == whole.unfinished


@searching
@given(st.lists(TEXT))
def test_lines_are_what_stands_before_line_feeds(texts: list[str]) -> None:
    body = "".join(f"{text}\n" for text in texts).encode()

    assert fed(LineFrames(), [body]) == [text.encode() for text in texts]


@searching
@given(st.lists(TEXT.map(str.strip).filter(bool)), st.sampled_from(["\n", "\r\n"]))
def test_events_give_their_data(texts: list[str], line_end: str) -> None:
    body = "".join(f"event: e{line_end}data: {text}{line_end}{line_end}" for text in texts).encode()

    assert fed(EventFrames(), [body[start : start + 1] for start in range(len(body))]) == [
        text.encode() for text in texts
    ]


@pytest.mark.parametrize(
    ("body", "data"),
    [
        (b"data: 1\ndata: 2\n\n", [b"1\n2"]),
        (b"data:1\n\n\n\ndata:\n\n", [b"1", b""]),
        (b": a comment\nid: 7\nretry: 9\n\n", []),
        (b"data: never ended\n", []),
    ],
)
def test_events_of_other_kinds(body: bytes, data: list[bytes]) -> None:
    assert fed(EventFrames(), [body]) == data


@pytest.mark.parametrize(
    ("frames", "body", "unfinished"),
    [
        (LineFrames, b"ab\n", b""),
        (LineFrames, b"ab\ncd", b"cd"),
        (EventFrames, b"data: a\n\n", b""),
        (EventFrames, b"data: a\r\n\r\n", b""),
        (EventFrames, b"data: a\n\nevent: b\ndata: c\n", b"event: b\ndata: c\n"),
        (EventFrames, b"data: a\n\nevent: b\r\ndat", b"event: b\r\ndat"),
    ],
)
def test_what_is_unfinished_is_known_by_its_length(
    frames: Callable[[], Frames], body: bytes, unfinished: bytes
) -> None:
    reading = frames()

    fed(reading, cut(body, [1, 4, 9]))

    assert body.endswith(unfinished)
    assert reading.unfinished == len(unfinished)


@FRAMES
def test_each_byte_of_a_long_line_is_put_aside_once(
    frames: Callable[[], Frames], monkeypatch: pytest.MonkeyPatch
) -> None:
    body = b"data: " + b"x" * 500_000 + b"\n\n"
    kept: list[int] = []
    keep = LineFrames._keep
    monkeypatch.setattr(LineFrames, "_keep", lambda self, piece: (kept.append(len(piece)), keep(self, piece)))

    found = fed(frames(), [body[start : start + 100] for start in range(0, len(body), 100)])

    assert found[0].removeprefix(b"data: ") == b"x" * 500_000
    assert sum(kept) <= len(body)  # some 2,500 times as many, were the line put together anew for each chunk


@FRAMES
def test_a_line_without_end_is_not_kept(frames: Callable[[], Frames], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "LINE_MAX_BYTES", 1000)
    reading = frames()

    assert fed(reading, [b"x" * 300] * 10 + [b"\n\ndata: after\n\n"]) == []
    assert reading.unfinished < 1000


def test_an_event_without_end_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "LINE_MAX_BYTES", 1000)

    assert fed(EventFrames(), [b"data: x\n"] * 1000 + [b"\ndata: after\n\n"]) == [b"after"]


@pytest.mark.parametrize("text", [b"", b"[1]", b'"x"', b"{", b"\xff", b'{"a": "\\ud800"}', b"[" * 5000, b"[DONE]"])
def test_what_is_no_object_is_an_empty_one(text: bytes) -> None:
    assert parse_object(text) == {}


def test_json_is_written_as_go_writes_it() -> None:
    assert (
        write_json({"a": "<é>&\u2028", "b": [None, 1.5]})
        == '{"a":"\\u003cé\\u003e\\u0026\\u2028","b":[null,1.5]}'.encode()
    )
