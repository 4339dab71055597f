"""How statements are stored, and when one reopens what was decided."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.graph.saliency import DAY
from memory.graph.statement import REST_S, Statement, is_reopened, storable

THEN = 1_800_000_000.0
HERE, THERE, NOWHERE = b"1" * 16, b"2" * 16, b""
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


@pytest.mark.parametrize(
    ("agent", "conversation", "later", "expected"),
    [
        ("dobby", HERE, 0.0, False),
        ("dobby", HERE, 365 * DAY, False),
        ("dobby", THERE, 0.0, False),
        ("dobby", THERE, 7 * DAY, False),
        ("dobby", THERE, 7 * DAY + 1, True),
        ("dobby", NOWHERE, DAY, False),
        ("dobby", NOWHERE, 8 * DAY, True),
        ("kreacher", HERE, 0.0, True),
        ("kreacher", THERE, -DAY, True),
        ("kreacher@10.0.0.7", THERE, DAY, False),
        ("kreacher@10.0.0.7", HERE, 8 * DAY, True),
        ("kreacher@10.0.0.9", HERE, 8 * DAY, False),
        ("kreacher@10.0.0.9", THERE, 8 * DAY, True),
        ("", THERE, DAY, False),
    ],
)
def test_another_agent_with_a_token_reopens_it_others_after_a_week(
    agent: str, conversation: bytes, later: float, expected: bool
) -> None:
    assert (
        is_reopened(["winky", "dobby", "anonymous@10.0.0.9"], HERE, THEN, agent, conversation, THEN + later) is expected
    )


def test_what_was_decided_outside_of_a_conversation_is_reopened_after_a_week_too() -> None:
    assert not is_reopened(["dobby"], NOWHERE, THEN, "dobby", NOWHERE, THEN + REST_S)
    assert is_reopened(["dobby"], NOWHERE, THEN, "dobby", NOWHERE, THEN + REST_S + 1)
