"""The bounds of the detector, and what it says of a loop; which conversations are loops is labelled."""

import json

import pytest

from proxy.loops import LoopDetector
from proxy.loops.detector import POLLS_MAX
from proxy.loops.turns import WINDOW
from tests.proxy.loops.histories import TASK, calls_of, look, parts_of

WARNING = ("user", json.dumps({"system_warning": "You have sent the same message again. Do something else!"}))
STEP = "Thought: so\nAction: search\nAction Input: x\nObservation: nothing\n"


def zero(tool: str = "ls", **arguments: object) -> tuple[str, str]:
    return ("assistant", json.dumps({"thoughts": ["So."], "tool_name": tool, "tool_args": arguments}))


def returned(text: str) -> tuple[str, str]:
    return ("user", json.dumps({"tool_name": "ls", "tool_result": text}))


# --- bounds ---


def test_only_the_window_is_looked_at():
    assert look(*calls_of("search", [{"q": "x"}] * 50)).count == WINDOW


def test_a_call_may_often_say_that_its_work_is_under_way_but_not_for_ever():
    pending = calls_of("status", [{"id": 1}] * POLLS_MAX, '{"state": "running"}')

    assert look(*pending[:-2]) is None
    assert look(*pending).count == 3


def test_complaints_are_compared_without_case_and_heard_at_once():
    assert look(("assistant", "Yes."), ("user", "You have SENT   the same message again.")).kind == "complaint"


# --- what is said of a loop ---


@pytest.mark.parametrize(
    ("said", "repeats"),
    [
        (calls_of("search", [{"q": "a"}, *[{"q": "x"}] * 3]), {4, 5, 6, 7}),
        (calls_of("search", [{"q": "a"}, {"q": "b"}] * 3), set(range(2, 10))),
        ([*calls_of("run", [{}]), ("system", "Go on.")] * 3, {2, 3, 5, 6}),
        ([zero(), WARNING], set()),
        # The last output was only complained about: the last result stays.
        ([zero(), returned("a.txt"), zero(), returned("a.txt"), zero(), WARNING, zero(), WARNING], {2, 3, 6, 7}),
        # A scratchpad is one place.
        ([("user", "Question: who?\n" + STEP * 4)], set()),
    ],
    ids=["a row", "a cycle", "system texts stay", "one output", "the last result stays", "a scratchpad"],
)
def test_all_but_the_last_round_can_be_taken_out(said, repeats):
    assert look(*said).repeats == repeats


def test_excerpts_are_short_lines_as_they_were_written_in_the_order_of_the_cycle():
    loop = look(*calls_of("search", [{"q": "a\n" * 500}, {"q": "B"}] * 3))

    assert loop.repeated[1] == 'search({"q":"B"})'
    assert loop.repeated[0].startswith('search({"q":"a a a')
    assert all(len(text) <= 300 and "\n" not in text for text in loop.repeated)


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        ((zero(), returned("no")), True),
        ((("assistant", "Hello!"), ("user", json.dumps({"system_warning": "You have misformatted it."}))), True),
        ((("assistant", '{"name": "ls", "arguments": {}}'), ("user", "no")), False),
        ((("assistant", "", ("ls", {})), ("tool", "no")), False),
    ],
)
def test_agent_zero_is_told_from_others(turn, expected):
    assert look(*turn * 3).is_json_call is expected


def test_what_was_read_before_is_judged_alike():
    detector = LoopDetector()
    parts = parts_of(*TASK, *calls_of("search", [{"q": "x"}] * 3))

    assert detector.find_loop(parts) == detector.find_loop(parts)
    assert detector.find_loop(parts[:-2]) is None


@pytest.mark.parametrize(
    "parts", [[], parts_of(("system", "x")), parts_of(("user", "x")), parts_of(("assistant", "x"))]
)
def test_there_may_be_nothing_to_look_at(parts):
    assert LoopDetector().find_loop(parts) is None
