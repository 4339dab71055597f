"""When what was decided may be disputed anew."""

import pytest

from memory.graph.saliency import DAY
from memory.graph.statement import REST_S, is_reopened

THEN = 1_800_000_000.0
HERE, THERE, NOWHERE = b"1" * 16, b"2" * 16, b""


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
