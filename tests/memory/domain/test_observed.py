"""Statements as they are stored, and as journals of version 0.1 have them."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.domain.statement import Statement, decode, storable

ANY_TEXT = st.text(st.characters(), max_size=600)
STATEMENTS = st.builds(
    Statement,
    key=st.binary(min_size=32, max_size=32),
    subject=ANY_TEXT,
    parent=ANY_TEXT,
    dimension=ANY_TEXT,
    is_isa=st.booleans(),
    confidence=st.floats(0, 1),
    role=ANY_TEXT,
    agent=ANY_TEXT,
    at=st.floats(0, 4e9),
    evidence=ANY_TEXT,
)


def encode(observed: Statement) -> bytes:
    """A line of such a journal."""
    return orjson.dumps(observed._asdict() | {"key": observed.key.hex()})


LINE = encode(Statement(bytes(32), "dobby", "worker", "type", True, 0.8, "user", "winky", 1.0, "dobby is a worker"))


@given(STATEMENTS)
def test_what_is_storable_comes_back_from_its_line_as_it_was(said: Statement) -> None:
    kept = storable(said)

    assert decode(encode(kept) + b"\n") == kept


@given(STATEMENTS)
def test_storable_texts_are_what_postgres_takes(said: Statement) -> None:
    kept = storable(said)

    assert all("\x00" not in text for text in kept if isinstance(text, str))
    assert all(text.encode() is not None for text in kept if isinstance(text, str))
    assert len(kept.evidence) <= 500
    assert len(kept.agent) <= 120
    assert len(kept.role) <= 16
    assert storable(kept) == kept


@pytest.mark.parametrize("length", range(len(LINE)))
def test_a_torn_line_is_none(length: int) -> None:
    assert decode(LINE[:length]) is None


@pytest.mark.parametrize(
    "line",
    [
        b"[1]",
        b"null",
        LINE.replace(b'"parent"', b'"other"'),
        LINE.replace(b'"worker"', b"5"),
        LINE.replace(b"0.8", b"null"),
        LINE.replace(b"00", b"zz", 1),
        LINE.replace(b"{", b'{"more":1,', 1),
        b"\xff" + LINE,
    ],
)
def test_a_line_of_something_else_is_none(line: bytes) -> None:
    assert decode(line) is None
