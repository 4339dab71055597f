import json

import pytest

from proxy.domain.config_schema import Detector
from proxy.domain.formats.base import Part
from proxy.domain.loops import LoopDetector
from tests.proxy.domain.loops.histories import TASK, calls_of, look, parts_of, texts_of

WARNING = (
    "user",
    json.dumps({"system_warning": "You have sent the same message again. You have to do something else!"}),
)
AUTOMATIC = "Please continue with the task until all of it has been done."


def zero(tool: str = "ls", **arguments: object) -> tuple[str, str]:
    return ("assistant", json.dumps({"thoughts": ["So."], "tool_name": tool, "tool_args": arguments}))


def returned(text: str) -> tuple[str, str]:
    return ("user", json.dumps({"tool_name": "ls", "tool_result": text}))


def person(text: str) -> tuple[str, str]:
    return ("user", json.dumps({"user_message": text}))


# --- how often ---


@pytest.mark.parametrize("times", [3, 4, 7])
def test_the_same_call_with_the_same_result_is_counted(times):
    verdict = look(*calls_of("search", [{"q": "x"}] * times))

    assert (verdict.kind, verdict.count, verdict.period) == ("same", times, 1)


@pytest.mark.parametrize("times", [0, 1, 2])
def test_up_to_twice_is_no_loop(times):
    assert look(*calls_of("search", [{"q": "x"}] * times)) is None


def test_only_the_window_is_looked_at():
    assert look(*calls_of("search", [{"q": "x"}] * 50), window=10).count == 10


def test_what_came_before_the_row_does_not_matter():
    verdict = look(*calls_of("search", [{"q": "a"}, {"q": "b"}, {"q": "x"}, {"q": "x"}, {"q": "x"}]))

    assert verdict.count == 3


@pytest.mark.parametrize("period", [2, 3, 4, 5])
def test_a_cycle_is_found_from_three_times_round_on(period):
    cycle = [{"q": number} for number in range(period)]

    assert look(*calls_of("search", cycle * 3)[:-2]) is None
    verdict = look(*calls_of("search", cycle * 3))
    assert (verdict.kind, verdict.count, verdict.period) == ("cycle", 3, period)
    assert look(*calls_of("search", cycle * 4)).count == 4


def test_a_cycle_of_six_is_none():
    assert look(*calls_of("search", [{"q": number} for number in range(6)] * 4)) is None


def test_a_call_whose_result_flips_is_no_cycle():
    turns = [(("assistant", "", ("state", {})), ("tool", state)) for state in ("up", "down") * 3]

    assert look(*(said for turn in turns for said in turn)) is None


# --- results ---


def test_another_result_is_something_new():
    turns = [(("assistant", "", ("tail", {})), ("tool", f"line {number}")) for number in range(5)]

    assert look(*(said for turn in turns for said in turn)) is None


def test_white_space_in_a_result_is_nothing_new():
    calls = [("assistant", "", ("ls", {}))]

    assert look(*calls, ("tool", "a\nb"), *calls, ("tool", "a  b\n"), *calls, ("tool", "a b")).count == 3


def test_times_are_something_new_unless_in_an_error():
    call = ("assistant", "", ("get", {}))
    times = [f"2026-01-02T10:00:0{second}Z" for second in range(3)]

    assert look(*(said for time in times for said in (call, ("tool", f"{time} 200 OK")))) is None
    assert look(*(said for time in times for said in (call, ("tool", f"{time} 500 Error")))).count == 3


def test_an_output_that_nothing_follows_yet_counts():
    assert look(*calls_of("search", [{"q": "x"}] * 3)[:-1]).count == 3


def test_an_empty_result_is_a_result():
    assert look(*calls_of("touch", [{"path": "x"}] * 3, "")).count == 3


def test_work_under_way_is_given_time():
    pending = [{"id": 1}] * 30

    assert look(*calls_of("status", pending[:19], '{"state": "running"}')) is None
    assert look(*calls_of("status", pending[:20], '{"state": "running"}')).count == 3
    assert look(*calls_of("status", pending[:22], '{"state": "running"}')).count == 5
    assert look(*calls_of("status", pending[:4], '{"state": "running"}'), patience=3).count == 4


def test_a_step_that_is_taken_again_is_given_time_unless_it_fails():
    assert look(*calls_of("scroll", [{"by": 1}] * 5, "ok")) is None
    assert look(*calls_of("computer", [{"action": "key", "text": "Down"}] * 5, "ok")) is None
    assert look(*calls_of("scroll", [{"by": 1}] * 5, "error: no such window")).count == 5


def test_waiting_within_a_cycle_is_given_time():
    cycle = [*calls_of("sleep", [{"s": 9}], ""), *calls_of("status", [{}], "queued")]

    assert look(*cycle * 4) is None


# --- complaints ---


def test_a_complaint_is_a_loop_at_once():
    verdict = look(zero(), WARNING)

    assert (verdict.kind, verdict.count, verdict.repeats) == ("complaint", 3, frozenset())


def test_a_complaint_counts_as_the_same_result():
    verdict = look(zero(), returned("a.txt"), *(zero(), WARNING) * 4)

    assert (verdict.kind, verdict.count) == ("complaint", 5)


def test_a_complaint_that_helped_is_over():
    assert look(zero(), returned("a.txt"), zero(), WARNING, zero("cat"), returned("...")) is None


def test_complaints_are_configured_and_compared_without_case():
    said = (("assistant", "Yes."), ("user", "STOP   repeating yourself, please."))

    assert look(*said) is None
    assert look(*said, complaints=("Stop repeating yourself",)).kind == "complaint"
    assert look(zero(), WARNING, complaints=()) is None


def test_other_complaints_are_heard_at_once():
    detector = LoopDetector()
    parts = parts_of(*TASK, ("assistant", "Yes."), ("user", "Stop repeating yourself."))

    assert detector.find_loop(parts, Detector()) is None
    assert detector.find_loop(parts, Detector(complaints=("stop repeating",))).kind == "complaint"


COMPLAINT = "You have sent the same message again. You have to do something else!"


@pytest.mark.parametrize(
    "said",
    [
        (zero(), returned(COMPLAINT)),
        (("assistant", "", ("fetch", {"url": "x"})), ("tool", COMPLAINT)),
        (("assistant", "", ("fetch", {"url": "x"})), ("tool", WARNING[1])),
        (("assistant", "Action: fetch"), ("user", f"Observation: {COMPLAINT}")),
        (("assistant", "Action: fetch"), ("user", f"<tool_response>{COMPLAINT}</tool_response>")),
        (("assistant", f"Action: a\nObservation: no\nThought: b\nAction: c\nObservation: {COMPLAINT}\nThought:"),),
    ],
)
def test_a_complaint_in_what_a_tool_returns_is_none(said):
    assert look(*said) is None


@pytest.mark.parametrize("role", ["user", "system"])
@pytest.mark.parametrize("text", [COMPLAINT, WARNING[1]])
def test_a_client_complains_in_the_users_or_the_systems_name(role, text):
    assert look(zero(), (role, text)).kind == "complaint"


def test_the_last_result_stays_where_the_last_output_was_only_complained_about():
    verdict = look(zero(), returned("a.txt"), zero(), returned("a.txt"), zero(), WARNING, zero(), WARNING)

    assert verdict.repeats == {2, 3, 6, 7}


# --- who speaks ---


def test_a_human_message_resets():
    loop = calls_of("search", [{"q": "x"}] * 4)

    assert look(*loop, ("user", "Stop.")) is None
    assert look(*loop, ("user", "Go on."), *loop[:4]) is None
    assert look(*loop, ("user", "Go on."), *loop[:6]).count == 3


AGAIN = ("user", "Once more, please.")
FOUND = "I found nothing at all."


@pytest.mark.parametrize("text", ["again", "Once more, please.", "no", "Is it so?", person("Again.")[1]])
def test_an_answer_that_comes_back_with_the_same_words_is_a_loop_also_if_a_person_says_them(text):
    verdict = look(*(("assistant", FOUND), ("user", text)) * 4)

    assert (verdict.kind, verdict.count, verdict.may_be_person) == ("same", 4, True)
    assert look(*(("assistant", "Yes, of course."), ("user", text)) * 5) is None  # three words
    assert look(*(("assistant", FOUND), ("user", text)) * 2) is None


@pytest.mark.parametrize("last", ["Once more!", "once more, please.", "Error 2, try again.", ""])
def test_a_person_who_says_it_otherwise_says_something_new(last):
    said = ("user", "Error 1, try again.") if last.startswith("Error") else AGAIN

    assert look(*(("assistant", FOUND), said) * 4, ("assistant", FOUND), ("user", last or "Go on.")) is None
    assert look(*(("assistant", FOUND), ("user", f"{last}?")), *(("assistant", FOUND), said) * 3).count == 3


def test_answers_to_a_person_may_be_near():
    texts = (
        "I have done it. Shall I do more?",
        "I've done it now. Shall I do more?",
        "I have done it! Shall I do any more?",
    )

    verdict = look(*(said for text in texts for said in (("assistant", text), AGAIN)))

    assert (verdict.kind, verdict.count, verdict.may_be_person) == ("near", 3, True)


def test_answers_that_go_round_with_a_persons_words_are_a_cycle():
    ask = (("assistant", "Left?"), ("user", "No."))
    tell = (("assistant", "Then right?"), ("user", "No, not that."))

    assert look(*(*ask, *tell) * 3) is None  # three words a round
    verdict = look(*(*ask, ("assistant", "Then to the right?"), tell[1]) * 3)
    assert (verdict.kind, verdict.count, verdict.period, verdict.may_be_person) == ("cycle", 3, 2, True)
    assert look(*(*ask, ("assistant", "Then to the right?"), tell[1]) * 2, *ask, ("assistant", FOUND), tell[1]) is None


def test_tools_between_a_persons_repeated_words_are_part_of_the_cycle():
    turn = (*calls_of("test", [{}], "failed"), ("assistant", "The tests have failed."), ("user", "Run the tests."))

    verdict = look(*turn * 3)

    assert (verdict.kind, verdict.count, verdict.may_be_person) == ("cycle", 3, True)


def test_a_persons_picture_is_always_new():
    parts = parts_of(*TASK, *(("assistant", FOUND), AGAIN) * 4)
    parts = [part._replace(has_media=part.role == "user") for part in parts]

    assert LoopDetector().find_loop(parts, Detector()) is None


def test_what_follows_a_written_call_is_its_result():
    assert look(*(zero(path="/srv"), ("user", "Permission needed")) * 3).count == 3


def test_a_person_in_an_envelope_is_a_person():
    assert look(*(zero(path="/srv"), person("Hm.")) * 3) is None
    assert look(*(zero(path="/srv of that machine there"), person("Hm.")) * 3).may_be_person
    assert look(*(zero(path="/srv"), ("user", returned("no")[1] + "\n" + person("Hm.")[1])) * 3) is None


def test_what_follows_an_answer_to_the_human_is_said_by_the_human():
    assert look(*(zero("response", text="Yes."), ("user", "Sure?")) * 4) is None


def test_words_that_follow_three_outputs_are_automatic():
    assert look(*(("assistant", "It is done."), ("user", AUTOMATIC)) * 3).count == 3
    assert look(*(("assistant", "It is done."), ("user", AUTOMATIC)) * 2) is None


def test_an_error_that_follows_three_outputs_is_automatic():
    assert look(*(("assistant", "I run the tests."), ("user", "Tests failed: 3 errors")) * 3).count == 3
    assert look(*(("assistant", "I run tests."), ("user", "it failed")) * 3) is None
    assert look(*(("assistant", "I run the tests."), ("user", "it failed")) * 3).may_be_person


def test_a_question_and_the_opening_are_never_automatic():
    question = "Is the door at the back of the building still closed?"

    assert look(*(("assistant", "It is."), ("user", question)) * 5) is None
    retried = [("user", AUTOMATIC), ("assistant", "It is done.")] * 5
    assert LoopDetector().find_loop(parts_of(*retried, ("user", AUTOMATIC)), Detector()) is None


def test_what_the_client_rebuilds_each_turn_is_no_news():
    result = returned("a.txt")[1]
    extras = ("user", f'{result}\n[EXTRAS]\n{{"current_datetime": "2026-01-02 10:00:00", "user_message": "x"}}')

    assert look(zero(), returned("a.txt"), zero(), returned("a.txt"), zero(), extras).count == 3


def test_extras_of_their_own_are_no_human():
    assert look(*(zero(), returned("a.txt")) * 3, ("user", "[EXTRAS]\nIt is 10 o'clock.")).count == 3


def test_a_text_beside_results_is_the_humans():
    turn = [("assistant", "", ("run", {})), ("tool", "error"), ("user", "Try it once more.")]

    assert look(*turn * 4) is None


def test_messages_of_the_system_between_results_are_no_news():
    turns = [(*calls_of("run", [{}]), ("system", f"{number} messages are left.")) for number in range(3)]

    assert look(*(said for turn in turns for said in turn)).count == 3


def test_what_the_system_says_is_the_result_where_nothing_else_is():
    same = (("assistant", "Yes."), ("system", "Command unknown."))

    assert look(*same * 3).count == 3
    assert look(*same * 2, ("assistant", "Yes."), ("system", "It is done.")) is None


# --- outputs ---


def test_what_the_system_says_first_is_the_result():
    turns = [(zero(), ("system", f"Command ls returned: {number}"), ("user", AUTOMATIC)) for number in range(4)]

    assert look(*(said for turn in turns for said in turn)) is None
    assert look(*turns[0] * 3).count == 3


def test_automatic_words_are_known_beside_what_changes_each_turn():
    turns = [
        (("assistant", "It is done."), ("user", f"{AUTOMATIC}<environment_details>10:0{minute}</environment_details>"))
        for minute in range(3)
    ]

    assert look(*(said for turn in turns for said in turn)).count == 3


def test_empty_outputs_are_a_loop():
    assert look(*(("assistant", ""), ("tool", "nothing was said")) * 3).count == 3


def test_messages_in_a_row_are_outputs():
    assert look(("assistant", "I begin."), ("assistant", "I begin."), ("assistant", "I begin.")).count == 3


def test_calls_at_once_are_one_output():
    parts = [Part("user", "Roll three dice.", 0)]
    for place in (1, 2, 3):
        parts += parts_of(("assistant", "", ("dice", {"sides": 6})))
        parts[-1] = Part("assistant", "", place, calls=parts[-1].calls)
    parts += [Part("tool", "4", place) for place in (4, 5, 6)]

    assert LoopDetector().find_loop(parts, Detector()) is None


def test_texts_beside_calls_are_thoughts():
    turns = [
        (("assistant", text, ("search", {"q": "x"})), ("tool", "nothing"))
        for text in ("Let me search.", "Again.", "Hm.")
    ]

    assert look(*(said for turn in turns for said in turn)).count == 3


def test_the_name_of_the_tool_matters():
    turns = [(("assistant", "", (name, {"q": "x"})), ("tool", "nothing")) for name in ("search", "find", "grep")]

    assert look(*(said for turn in turns for said in turn)) is None


def test_ids_that_were_told_are_what_calls_are_about():
    ids = [f"0000000{number}-1111-4222-8333-444444444444" for number in range(3)]
    calls = calls_of("delete", [{"id": name} for name in ids], "ok")

    assert look(*calls).count == 3
    assert look(("assistant", "", ("list", {})), ("tool", " ".join(ids)), *calls) is None


def test_breakers_answers_are_no_outputs():
    call = calls_of("search", [{"q": "x"}])
    broken = ("assistant", "Festinger has stopped a loop: the model has repeated the same action 6 times in a row")

    assert look(*call * 4, broken, ("user", "Result: you have to call a tool."), *call * 2).count == 6


# --- near ---


def test_texts_that_hardly_differ_are_near():
    texts = [
        "I have done it. Shall I do more?",
        "I've done it now. Shall I do more?",
        "I have done it! Shall I do any more?",
    ]

    verdict = look(*texts_of(texts))

    assert (verdict.kind, verdict.count) == ("near", 3)
    assert look(*texts_of(texts), similarity=1.0) is None


@pytest.mark.parametrize(("result", "count"), [("Result: Error 5", 4), ("Result: step {} is done", None)])
def test_who_counts_attempts_that_end_alike_repeats_the_same(result, count):
    said = "Attempt {}: I will run the migration again."
    turns = [(("assistant", said.format(n)), ("user", result.format(n))) for n in range(1, 5)]

    verdict = look(*(part for turn in turns for part in turn))

    assert (verdict and verdict.count) == count


def test_near_needs_the_same_result():
    turns = [
        (("assistant", f"It is done{end}"), ("user", f"Result: {number}"))
        for number, end in enumerate((".", "!", " now."))
    ]

    assert look(*(said for turn in turns for said in turn)) is None


def test_calls_are_never_near():
    given = [{"q": f"how to install the package {name} on this machine"} for name in ("now", "again", "once more")]

    assert look(*calls_of("search", given)) is None


# --- what the verdict says ---


def test_all_but_the_last_repetition_can_be_taken_out():
    verdict = look(*calls_of("search", [{"q": "a"}, *[{"q": "x"}] * 3]))

    assert verdict.repeats == {4, 5, 6, 7}


def test_of_a_cycle_the_last_round_stays():
    verdict = look(*calls_of("search", [{"q": "a"}, {"q": "b"}] * 3))

    assert verdict.repeats == set(range(2, 10))


def test_system_parts_stay():
    verdict = look(*(*calls_of("run", [{}]), ("system", "Go on.")) * 3)

    assert verdict.repeats == {2, 3, 5, 6}


def test_excerpts_are_short_lines_as_they_were_written_in_the_order_of_the_cycle():
    verdict = look(*calls_of("search", [{"q": "a\n" * 500}, {"q": "B"}] * 3))

    assert verdict.repeated[1] == 'search({"q":"B"})'
    assert verdict.repeated[0].startswith('search({"q":"a a a')
    assert all(len(text) <= 300 and "\n" not in text for text in verdict.repeated)


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


def test_a_scratchpad_is_one_place_and_stays():
    step = "Thought: so\nAction: search\nAction Input: x\nObservation: nothing\n"

    verdict = LoopDetector().find_loop([Part("user", "Question: who?\n" + step * 4, 0)], Detector())

    assert (verdict.count, verdict.repeats) == (4, frozenset())


def test_what_was_read_before_is_judged_alike():
    detector = LoopDetector()
    parts = parts_of(*TASK, *calls_of("search", [{"q": "x"}] * 3))

    assert detector.find_loop(parts, Detector()) == detector.find_loop(parts, Detector())
    assert detector.find_loop(parts[:-2], Detector()) is None


@pytest.mark.parametrize(
    "parts", [[], parts_of(("system", "x")), parts_of(("user", "x")), parts_of(("assistant", "x"))]
)
def test_there_may_be_nothing_to_look_at(parts):
    assert LoopDetector().find_loop(parts, Detector()) is None
