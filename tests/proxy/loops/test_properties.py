import json
from datetime import UTC, datetime, timedelta
from itertools import cycle
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxy.formats.base import Part, ToolCall
from proxy.loops import LoopDetector
from proxy.loops.turns import WINDOW
from tests.proxy.loops import hostile
from tests.proxy.loops.histories import TASK, look, parts_of, texts_of
from tests.steps import count_steps

# --- against a plain reading of the rules ---

OUTPUTS, RESULTS = ("alpha", "beta", "gamma"), ("one", "two")
SYMBOLS = st.tuples(st.sampled_from(OUTPUTS), st.sampled_from(RESULTS))
CYCLES = st.builds(
    lambda head, cycle, times: head + cycle * times,
    st.lists(SYMBOLS, max_size=4),
    st.lists(SYMBOLS, min_size=1, max_size=5),
    st.integers(1, 6),
)
HISTORIES = st.lists(SYMBOLS, max_size=24) | CYCLES
THOUGHTS = st.text(max_size=30)


def expected(history):
    """What the rules say of outputs and their results, by going through all of them."""
    history = history[-WINDOW:]
    row = next((length for length in range(len(history)) if history[-1 - length] != history[-1]), len(history))
    if row >= 3:
        return ("same", row, 1)
    for period in range(2, 6):
        cycle = history[-period:]
        times = 0
        while len(history) >= (times + 1) * period and history[len(history) - (times + 1) * period :][:period] == cycle:
            times += 1
        if times >= 3 and len({output for output, _ in cycle}) > 1:
            return ("cycle", times, period)
    return None


def told(verdict):
    return verdict and (verdict.kind, verdict.count, verdict.period)


@given(HISTORIES)
def test_rows_and_cycles_are_those_that_are_there(history):
    turns = [(("assistant", "", (output, {})), ("tool", result)) for output, result in history]

    assert told(look(*(said for turn in turns for said in turn))) == expected(history)


@given(HISTORIES)
def test_so_are_those_of_answers_to_a_person_who_repeats_the_same_words(history):
    turns = [(("assistant", f"I looked for {output} there"), ("user", said)) for output, said in history]

    verdict = look(*(said for turn in turns for said in turn))

    assert told(verdict) == expected(history)
    assert verdict is None or verdict.may_be_person


@given(HISTORIES, st.lists(THOUGHTS, min_size=1, max_size=9))
def test_thoughts_change_nothing(history, thoughts):
    turns = [
        (
            ("assistant", json.dumps({"thoughts": [thought], "tool_name": output, "tool_args": {"x": 1}})),
            ("user", json.dumps({"tool_name": output, "tool_result": result})),
        )
        for (output, result), thought in zip(history, cycle(thoughts), strict=False)
    ]

    assert told(look(*(said for turn in turns for said in turn))) == expected(history)


@given(HISTORIES, st.randoms())
def test_ids_and_times_change_nothing(history, random):
    turns = []
    for output, result in history:
        name = UUID(int=random.getrandbits(128))
        moment = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=random.randrange(10**7))
        arguments = {"x": 1, "trace_id": str(name), "at": f"{moment:%Y-%m-%dT%H:%M}:07Z"}
        turns.append(("assistant", "", (output, arguments)))
        turns.append(("tool", f"{moment:%Y-%m-%dT%H:%M:%S}Z ERROR {result} in request {name}"))

    assert told(look(*turns)) == expected(history)


# --- on anything ---

TEXTS = st.one_of(
    st.sampled_from(
        [
            "",
            "Yes.",
            "Yes, again.",
            '{"tool_name": "x", "tool_args": {}}',
            '{"user_message": "x"}',
            '{"system_warning": "You have sent the same message again"}',
            "Action: x\nAction Input: y",
            "Observation: z",
            "Please continue with the task until all of it is done.",
            "\nThought: a\nAction: b\nAction Input: c\nObservation: d" * 3,
            "[EXTRAS]",
            "Festinger has stopped a loop: ",
        ]
    ),
    st.text(max_size=40),
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)
CALLS = st.lists(st.builds(ToolCall, st.sampled_from(["x", "y", ""]) | st.text(max_size=9), JSON), max_size=2)


@st.composite
def any_parts(draw):
    """Of any roles in any order; a message may be of several parts."""
    parts, place = [], 0
    for _ in range(draw(st.integers(0, 14))):
        role = draw(st.sampled_from(["system", "user", "assistant", "assistant", "tool"]))
        calls = tuple(draw(CALLS)) if role == "assistant" else ()
        parts.append(Part(role, draw(TEXTS), place, calls=calls))
        place += draw(st.integers(0, 3)) > 0
    return parts


@given(any_parts())
@example([Part("assistant", "", 0, calls=(ToolCall("x", float("nan")),))] * 3)
def test_nothing_raises_and_only_what_came_after_the_human_can_go(parts):
    verdict = LoopDetector().find_loop(parts)

    if verdict is None:
        return
    assert verdict.count >= 3
    assert len(verdict.repeated) == verdict.period
    human = next((index for index, part in enumerate(parts) if part.role == "user"), None)
    before = (
        {part.place for part in parts[: human + 1]} if parts[0].role != "assistant" and human is not None else set()
    )
    assert verdict.repeats.isdisjoint(before)
    assert verdict.repeats.isdisjoint(part.place for part in parts if part.role == "system")
    assert verdict.repeats <= {part.place for part in parts}


@given(any_parts(), any_parts())
def test_what_was_read_for_others_changes_nothing(parts, others):
    detector = LoopDetector()
    detector.find_loop(others)

    assert detector.find_loop(parts) == LoopDetector().find_loop(parts)


@given(any_parts())
def test_a_new_human_message_resets(parts):
    place = parts[-1].place + 1 if parts else 0

    assert LoopDetector().find_loop([*parts, Part("user", '{"user_message": "Hello"}', place)]) is None


# --- on what was made to take long; how the time itself grows is measured by ``make bench`` ---

SHORT, LONG = 20_000, 200_000  # characters; up to 8 KB a tail is looked through again at each step


def test_ten_times_the_text_takes_about_ten_times_the_steps():
    hostile.look_for_loops("A first text, for what is made once.")

    shorts, longs = hostile.texts(SHORT), hostile.texts(LONG)
    for name in hostile.PIECES:
        of_short = count_steps(hostile.look_for_loops, shorts[name])
        assert count_steps(hostile.look_for_loops, longs[name]) < 20 * of_short, name  # 100 times were it quadratic


def test_hostile_texts_of_100_kb_are_read():
    for text in (*hostile.texts(100_000).values(), *hostile.NESTED.values()):
        hostile.look_for_loops(text)


@pytest.mark.parametrize("role", ["assistant", "user", "tool", "system"])
def test_ten_times_the_history_takes_at_most_about_ten_times_the_steps(role):
    def steps_with(number_of_parts):
        said = ((role, f"text {number}") for number in range(number_of_parts))
        parts = parts_of(*TASK, ("assistant", "Yes."), *said)
        return count_steps(LoopDetector().find_loop, parts)

    assert steps_with(10_000) < 15 * steps_with(1_000)


def test_a_resent_history_is_not_read_again():
    calls = [json.dumps({"tool_name": "read", "tool_args": {"file": number}}) for number in range(WINDOW)]
    parts = parts_of(*TASK, *texts_of(calls))
    detector = LoopDetector()

    first, second = (count_steps(detector.find_loop, parts) for _ in range(2))

    assert second < first / 2
