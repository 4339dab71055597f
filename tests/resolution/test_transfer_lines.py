"""The file of a world: what is written is read again, and what cannot be read is told by its line."""

import gzip
import io
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.models import Dimension, Episode, Memory, Source
from resolution.models import DecidedTriple
from resolution.transfer.lines import (
    LINE_MAX_BYTES,
    LINES,
    ConceptLine,
    DecidedLine,
    DimensionLine,
    EpisodeLine,
    FactLine,
    Line,
    MemoryLine,
    Miscount,
    Mistake,
    ProjectLine,
    UnreadableFile,
    format_header,
    format_line,
)
from resolution.transfer.lines import read as read_numbered

HEADER = b'{"format":"festinger","version":2}\n'
FACT = {"kind": "fact", "concept": "gnommoweb", "parent": "repo", "dimension": "type", "is_isa": True}

names = st.sampled_from(["gnommoweb", "repo", "glitch_university", "gpt-4o", "naïve", "東京", "a@b", "c+d", "x.y"])
others = st.sampled_from(["type", "form", "runs-on"])
times = st.datetimes(datetime(1000, 1, 1), datetime(9000, 1, 1), timezones=st.just(UTC))
texts = st.text(st.characters(exclude_characters="\0", exclude_categories=("Cs",)), max_size=120)
shares = st.floats(0, 1)
sources = st.sampled_from(Source)
digests = st.binary(max_size=32).map(bytes.hex)
slugs = st.sampled_from(["hogwarts", "durm-strang"])
triple = {"concept": names, "parent": st.just("thing"), "dimension": others}
lines = st.one_of(
    st.builds(
        DimensionLine, dimension=names, question=texts, is_isa=st.booleans(),
        on_collision=st.sampled_from(Dimension.OnCollision), split_from=st.none() | others,
    ),
    st.builds(ConceptLine, concept=names, is_muted=st.booleans()),
    st.builds(
        FactLine, **triple, is_isa=st.booleans(), confidence=shares, source=sources, agent=texts, said_at=times,
        last_confirmed=times,
    ),
    st.builds(
        DecidedLine, **triple, decision=st.sampled_from(DecidedTriple.Kind), moved_to=st.none() | others,
        agents=st.lists(texts), conversation=digests, decided_at=times,
    ),
    st.builds(
        ProjectLine, project=slugs, name=texts.filter(bool), description=texts, is_open=st.booleans(),
    ),
    st.builds(
        MemoryLine, project=st.none() | slugs, agent=st.just("dobby"), person=texts,
        text=st.sampled_from(["Lunch is at noon.", "The user prefers tea."]),
        category=st.sampled_from(Memory.Category), confidence=shares, slot=st.sampled_from(["", "tea"]),
        conversation=st.just("0" * 32), said_at=times, last_updated=times,
    ),
    st.builds(
        EpisodeLine, id=st.binary(min_size=32, max_size=32).map(bytes.hex), project=st.none() | slugs,
        agent=st.just("dobby"), conversation=st.just("0" * 32), role=st.sampled_from(Episode.Role),
        text=texts.filter(bool), said_at=times,
    ),
)  # fmt: skip


def write(line: Line) -> bytes:
    return format_line(line.kind, [value for key, value in line.model_dump().items() if key != "kind"])


def read(content: bytes) -> list[Any]:
    return [line for _, line in read_numbered(io.BytesIO(content))]


def mistakes(*entries: Any) -> list[str]:
    """One for each entry, in words."""
    content = HEADER + b"".join(orjson.dumps(entry) + b"\n" for entry in entries)
    found = read(content)
    assert all(isinstance(line, Mistake) for line in found), found
    return [line.reason for line in found]


@given(st.lists(lines))
def test_what_is_written_is_read_again(written: list[Line]) -> None:
    content = format_header({"facts": len(written)}) + b"".join(map(write, written))

    assert read(content) == written
    assert len(content.splitlines()) == len(written) + 1


@given(st.binary())
@example(b'{"kind":"fact","concept":[]}')
@example(b'{"kind":["fact"]}')
@example(b"[" * 5000)
def test_whatever_comes_is_a_line_or_a_mistake(content: bytes) -> None:
    for line in read(HEADER + content):
        assert isinstance(line, Mistake | Line)


def test_a_fact_written_by_hand_needs_no_more_than_its_words() -> None:
    (fact,) = read(HEADER + orjson.dumps(FACT))

    assert (fact.confidence, fact.source, fact.agent, fact.said_at) == (1.0, "operator", "", None)


def test_blank_lines_and_the_marks_of_editors_are_no_mistakes() -> None:
    content = b"\xef\xbb\xbf" + HEADER.replace(b"\n", b"\r\n") + b"\r\n" + orjson.dumps(FACT) + b"\r\n\n"

    assert [number for number, _ in read_numbered(io.BytesIO(content))] == [3]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (gzip.compress(HEADER, mtime=0), r"compressed \(gzip\): unpack"),
        (b"PK\x03\x04....", r"compressed \(zip\)"),
        (b"hello\n", "not an export of Festinger"),
        (b"[1]\n", "not an export of Festinger"),
        (orjson.dumps(FACT), "not an export of Festinger"),
        (HEADER.decode().encode("utf-16"), "not an export of Festinger"),
        (b"x" * (2 * LINE_MAX_BYTES), "not an export of Festinger"),
        (b'{"format":"festinger","version":1}', "version 1 .* reads version 2"),
        (b'{"format":"festinger"}', "version None of"),
        (b'{"format":"festinger","version":2,"counts":{"facts":"many"}}', "not numbers"),
    ],
)
def test_what_is_no_such_file_is_told_from_the_start(content: bytes, why: str) -> None:
    with pytest.raises(UnreadableFile, match=why):
        read(content)


@pytest.mark.parametrize(("promised", "way"), [(3, "shorter than it says"), (1, "longer than it says")])
def test_a_file_that_is_cut_is_noticed(promised: int, way: str) -> None:
    content = format_header({"facts": promised}) + 2 * (orjson.dumps(FACT) + b"\n")

    *_, last = read(content)

    assert isinstance(last, Miscount)
    assert way in last.reason


def test_a_line_cut_in_the_middle__and_once_as_cut() -> None:
    content = format_header({"facts": 2}) + orjson.dumps(FACT) + b"\n" + orjson.dumps(FACT)[:40]

    assert read(content)[1:] == [Mistake(3, "is not valid JSON")]


def test_a_line_that_is_too_long_is_skipped_in_pieces() -> None:
    content = HEADER + b"x" * (3 * LINE_MAX_BYTES + 5) + b"\n" + orjson.dumps(FACT)

    found = list(read_numbered(io.BytesIO(content)))

    assert [number for number, _ in found] == [2, 3]
    assert found[0][1] == Mistake(2, "is longer than 1048576 bytes")


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"kind": "song"}, f'"kind" must be one of {", ".join(LINES)}, not "song"'),
        (
            {"concept": "Glitch University"},
            '"concept" must be a name such as glitch_university, not "Glitch University"',
        ),
        ({"concept": "<b>"}, '"concept" must be a name: letters'),
        ({"concept": "42"}, '"concept" must be a name: letters, digits and _ - . \' @ +, not "42"'),
        ({"concept": "the"}, "\"concept\" must name something: 'the' is a function word"),
        ({"dimension": "with"}, "\"dimension\" must name something: 'with' is a function word"),
        ({"parent": 7}, '"parent" must be a valid string, not 7'),
        ({"parent": "gnommoweb"}, "gnommoweb cannot be its own parent"),
        ({"dimension": "repo"}, "repo cannot be its own dimension"),
        ({"dimension": "gnommoweb"}, "gnommoweb cannot be its own dimension"),
        ({"is_isa": 1}, '"is_isa" must be a valid boolean, not 1'),
        ({"confidence": 1.5}, '"confidence" must be less than or equal to 1, not 1.5'),
        ({"confidence": True}, '"confidence" must be a valid number, not true'),
        ({"source": "gossip"}, "\"source\" must be 'cloud_llm', 'inferred', 'festinger', 'gutask' or 'operator', not"),
        ({"agent": "x" * 121}, '"agent" must have at most 120 characters, not "xxx'),
        ({"agent": "a\0b"}, '"agent" must not contain the character U+0000'),
        ({"said_at": "2026-01-31T09:30:00"}, '"said_at" must have timezone info, not "2026-01-31T09:30:00"'),
        ({"said_at": "0001-01-01T00:00:00+14:00"}, '"said_at" must be a time such as'),
        ({"said_at": 1767225600}, '"said_at" must be a valid datetime, not 1767225600'),
        ({"confidense": 1}, '"confidense" is not a key of a fact'),
    ],
)
def test_a_field_that_is_wrong_is_named_with_what_it_takes(changes: dict[str, Any], why: str) -> None:
    (told,) = mistakes(FACT | changes)

    assert told.startswith(why)


def test_what_is_missing_or_no_object_is_told() -> None:
    assert mistakes({"kind": "fact"}, [1], {}) == [
        '"concept" is missing',
        "is not a JSON object",
        f'"kind" must be one of {", ".join(LINES)}, not null',
    ]
