"""Where the texts of OpenAI's ``/v1/responses`` are, and where a block goes."""

from typing import Any

import pytest

from proxy.domain.formats.base import Edit, Part, ToolCall
from proxy.domain.formats.openai_responses import OpenAIResponses
from tests.proxy.domain.requests.edits import B, applied, read, warmed

RESPONSES = OpenAIResponses()

CALL = {"type": "function_call", "call_id": "1", "name": "f", "arguments": '{"a": 1}'}
RESULT = {"type": "function_call_output", "call_id": "1", "output": "r"}
REASONING = {"type": "reasoning", "id": "rs", "summary": []}


def response(given: Any, **more: Any) -> dict[str, Any]:
    return {"model": "m", "input": given, **more}


def said(role: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def heard(text: str) -> dict[str, Any]:
    return {"type": "input_text", "text": text}


def test_a_string_is_one_text_of_the_user_after_the_instructions() -> None:
    prompt = read(RESPONSES, response("u", instructions="S"))

    assert prompt.takes_top
    assert not prompt.is_stream
    assert prompt.parts == [Part("system", "S", 0), Part("user", "u", 1, takes_block=True)]


def test_each_item_is_a_part_also_one_that_says_nothing() -> None:
    items = [said("developer", "D"), said("user", [heard("u")], type="message"), REASONING, CALL, RESULT, None]

    prompt = read(RESPONSES, response(items))

    assert prompt.takes_top
    assert prompt.parts == [
        Part("system", "D", 0),
        Part("user", "u", 1, takes_block=True),
        Part("assistant", "", 2),
        Part("assistant", "", 3, calls=(ToolCall("f", {"a": 1}),)),
        Part("tool", "r", 4, takes_block=True),
        Part("user", "", 5),
    ]


def test_an_answer_that_is_sent_back_is_read() -> None:
    answer = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}

    assert read(RESPONSES, response([said("user", "u"), answer])).parts[1] == Part("assistant", "a", 1)


def test_a_call_of_a_custom_tool_has_its_input_for_arguments() -> None:
    call = {"type": "custom_tool_call", "name": "sh", "input": "ls -l"}
    result = {"type": "custom_tool_call_output", "output": [heard("r")]}

    assert read(RESPONSES, response([call, result])).parts == [
        Part("assistant", "", 0, calls=(ToolCall("sh", "ls -l"),)),
        Part("tool", "r", 1, takes_block=True),
    ]


@pytest.mark.parametrize(
    "payload",
    [
        {},
        response(""),
        response([]),
        response([], instructions="S"),
        response([None, REASONING]),
        response({"role": "user"}),
        response("u", instructions=["S"]),
    ],
)
def test_a_request_that_says_nothing_or_is_not_understood_is_left_alone(payload: dict[str, Any]) -> None:
    assert RESPONSES.read(payload) is None


def test_the_top_comes_before_the_instructions() -> None:
    payload = response([said("system", "S")], instructions="I")

    assert applied(RESPONSES, payload, Edit(B)) == payload | {"instructions": B + "\n\nI"}


def test_without_instructions_the_top_comes_before_a_first_message_of_the_system() -> None:
    payload = response([said("system", "S"), said("user", "u")])

    assert applied(RESPONSES, payload, Edit(B)) == response([said("system", B + "\n\nS"), said("user", "u")])


def test_the_top_is_a_first_block_where_that_message_has_blocks() -> None:
    payload = response([said("developer", [heard("S")])])

    assert applied(RESPONSES, payload, Edit(B)) == response([said("developer", [heard(B + "\n\n"), heard("S")])])


def test_the_tail_of_a_string_stands_at_its_end() -> None:
    payload = response("u", instructions="S")

    assert applied(RESPONSES, payload, Edit(tails={1: B})) == payload | {"input": "u\n\n" + B}


def test_tails_stand_at_the_end_of_messages_and_of_results() -> None:
    image = {"type": "input_image", "image_url": "data:;base64,AA=="}
    items = [said("user", [heard("u"), image]), said("user", [image]), RESULT, {**RESULT, "output": [heard("r")]}]

    changed = applied(RESPONSES, response(items), Edit(tails={0: "one", 1: "two", 2: "three", 3: "four"}))

    assert changed["input"] == [
        said("user", [heard("u"), image, heard("\n\none")]),
        said("user", [image, heard("two")]),
        {**RESULT, "output": "r\n\nthree"},
        {**RESULT, "output": [heard("r"), heard("\n\nfour")]},
    ]


def test_what_is_taken_out_is_counted_after_the_instructions() -> None:
    payload = response([said("user", "u"), REASONING, CALL, RESULT, said("user", "v")], instructions="S")

    changed = applied(RESPONSES, payload, Edit(B, {5: "tail"}, frozenset({2, 3, 4})))

    assert changed == response([said("user", "u"), said("user", "v\n\ntail")], instructions=B + "\n\nS")


def test_warming_raises_the_temperature_and_knows_no_seed() -> None:
    payload = response("u", temperature=1)

    payload = warmed(RESPONSES, payload, by=0.3)

    assert payload == response("u", temperature=1.3)
