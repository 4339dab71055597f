"""Statements as they are stored."""

from hypothesis import given
from hypothesis import strategies as st

from memory.graph.statement import Statement, storable

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


@given(STATEMENTS)
def test_storable_texts_are_what_postgres_takes(said: Statement) -> None:
    kept = storable(said)

    assert all("\x00" not in text for text in kept if isinstance(text, str))
    assert all(text.encode() is not None for text in kept if isinstance(text, str))
    assert len(kept.evidence) <= 500
    assert len(kept.agent) <= 120
    assert len(kept.role) <= 16
    assert storable(kept) == kept
