"""The ladder: which steps are taken when, and what is said."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.config.schema import Mitigations
from proxy.loops import mitigations as ladder
from proxy.loops.detector import Loop
from proxy.loops.outputs import is_breaker_answer

SEED = 7
PLACES = frozenset({2, 3})
LOOK = 'look({"path":"/nowhere"})'

verdicts = st.builds(
    Loop,
    kind=st.sampled_from(["same", "near", "cycle", "complaint"]),
    count=st.integers(3, 40),
    period=st.integers(1, 5),
    repeated=st.lists(st.text(max_size=400), min_size=1, max_size=5).map(tuple),
    repeats=st.frozensets(st.integers(0, 80)),
    is_json_call=st.booleans(),
    may_be_person=st.booleans(),
)
thresholds = st.sampled_from([0, 2, 3, 4, 5, 6, 7, 8])
settings = st.builds(Mitigations, note=thresholds, temperature=thresholds, truncate=thresholds, break_=thresholds)


def verdict(count: int, *repeated: str, is_json_call: bool = False, repeats: frozenset[int] = PLACES) -> Loop:
    repeated = repeated or (LOOK,)
    kind = "same" if len(repeated) == 1 else "cycle"
    return Loop(kind, count, len(repeated), repeated, repeats, is_json_call)


def steps(met: Loop, mitigations: Mitigations, *, takes_note: bool = True) -> tuple[str, ...]:
    found = ladder.mitigate(met, mitigations, takes_note=takes_note, seed=SEED)
    return () if found is None else found.steps


@pytest.mark.parametrize(
    ("count", "taken"),
    [
        (2, ()),
        (3, ("note",)),
        (4, ("note", "temperature")),
        (5, ("note", "temperature", "truncate")),
        (6, ("note", "temperature", "truncate")),
    ],
)
def test_a_step_takes_those_below_it_along(count: int, taken: tuple[str, ...]) -> None:
    assert steps(verdict(count), Mitigations()) == taken


@given(verdicts, settings, st.booleans())
def test_a_step_is_taken_from_its_threshold_on_unless_that_is_0(
    met: Loop, mitigations: Mitigations, takes_note: bool
) -> None:
    taken = steps(met, mitigations, takes_note=takes_note)

    assert ("note" in taken) == (takes_note and 0 < mitigations.note <= met.count)
    assert ("temperature" in taken) == (0 < mitigations.temperature <= met.count)
    is_program = not met.may_be_person
    assert ("truncate" in taken) == (is_program and bool(met.repeats) and 0 < mitigations.truncate <= met.count)
    assert ladder.is_broken(met, mitigations) == (is_program and 0 < mitigations.break_ <= met.count)


@given(verdicts, settings)
def test_only_what_a_step_needs_is_there(met: Loop, mitigations: Mitigations) -> None:
    found = ladder.mitigate(met, mitigations, takes_note=True, seed=SEED)

    if found is not None:
        assert bool(found.note) == ("note" in found.steps)
        assert found.without == (met.repeats if "truncate" in found.steps else frozenset())
        assert found.warmth == (mitigations.temperature_step if "temperature" in found.steps else 0)
        assert found.step == found.steps[-1]
        assert not found.answer


def test_the_note_says_what_is_forbidden_and_why() -> None:
    note = ladder.write_note(verdict(3))

    assert note.startswith("<loop_warning>\n")
    assert note.endswith("\n</loop_warning>")
    for said in (LOOK, "3 times in a row", "same result", "This exact action is forbidden now", "ask the human"):
        assert said in note


def test_the_note_about_what_a_person_is_told_speaks_of_answers() -> None:
    note = ladder.write_note(replace(verdict(3), may_be_person=True))

    assert "the same answer 3 times in a row, to the same message each time" in note
    assert "This exact answer is forbidden now" in note


def test_the_note_about_a_cycle_names_all_of_it() -> None:
    note = ladder.write_note(verdict(3, "open(a)", "close(a)"))

    assert "the same 2 actions 3 times" in note
    assert "- open(a)\n- close(a)\nEach of these exact actions is forbidden now" in note


@given(verdicts)
def test_what_the_note_quotes_stays_within_its_line(met: Loop) -> None:
    note = ladder.write_note(met)

    opening, *quoted, forbidden, closing = note.splitlines()[:1] + note.splitlines()[2:]
    assert (opening, closing) == ("<loop_warning>", "</loop_warning>")
    assert note.count("<") == 2
    assert all(line.startswith("- ") and len(line) < 4 * ladder.EXCERPT_MAX for line in quoted)
    assert len(quoted) == len(met.repeated)
    assert "forbidden" in forbidden


def test_the_breaker_says_what_was_repeated_and_what_a_person_can_do() -> None:
    answer = ladder.trip_breaker(verdict(6), 59.7).answer

    for said in ("Festinger has stopped", "6 times in a row", LOOK, "next 60 s", "new message"):
        assert said in answer


def test_an_agent_of_json_calls_is_answered_with_its_response_tool() -> None:
    """As Agent Zero reads it: the tool's name and its arguments, and nothing around the object."""
    call = json.loads(ladder.trip_breaker(verdict(6, is_json_call=True), 60).answer)

    assert (call["tool_name"], list(call["tool_args"])) == ("response", ["text"])
    assert call["tool_args"]["text"] == ladder.trip_breaker(verdict(6), 60).answer
    assert isinstance(call["thoughts"], list)


def test_two_answers_of_a_breaker_differ() -> None:
    """Agent Zero takes an answer that equals the last one for a repetition and does not act on it."""
    assert ladder.trip_breaker(verdict(6), 60).answer != ladder.trip_breaker(verdict(6), 58.6).answer


@given(verdicts, st.floats(0, 86_400))
def test_what_festinger_made_up_is_known_again(met: Loop, left_s: float) -> None:
    intervention = ladder.trip_breaker(met, left_s)

    assert is_breaker_answer(intervention.answer)
    assert intervention.step == "break"


@pytest.mark.parametrize("around", ["\n {} ", "{}\n\n"])
def test_what_festinger_made_up_is_known_with_other_white_space(around: str) -> None:
    call = json.loads(ladder.trip_breaker(verdict(6, is_json_call=True), 60).answer)

    assert is_breaker_answer(around.format(ladder.trip_breaker(verdict(6), 60).answer))
    assert is_breaker_answer(around.format(json.dumps(call, indent=2)))


@pytest.mark.parametrize(
    "said",
    ["", "It said: Festinger has stopped a loop: hm.", '{"thoughts": ["Festinger stopped me"], "tool_name": "look"}'],
)
def test_what_a_model_says_of_festinger_is_its_own(said: str) -> None:
    assert not is_breaker_answer(said)
