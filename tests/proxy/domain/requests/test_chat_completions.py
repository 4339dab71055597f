"""Where the texts of OpenAI's ``/v1/chat/completions`` are, and where a block goes."""

from typing import Any

import pytest

from proxy.domain.formats.base import GAP, Edit, Part, ToolCall
from proxy.domain.formats.openai_chat import OpenAIChat
from tests.proxy.domain.requests.edits import B, applied, read, warmed

CHAT_COMPLETIONS = OpenAIChat()

IMAGE = {"type": "image_url", "image_url": {"url": "data:;base64,AA=="}}


def chat(*messages: tuple[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": role, "content": content} for role, content in messages], **more}


def text(said: str) -> dict[str, Any]:
    return {"type": "text", "text": said}


def test_the_text_of_a_list_of_blocks_is_theirs_together_at_least_a_line_apart() -> None:
    content = [
        text("one"),
        IMAGE,
        text("two\n"),
        text("three"),
        text("\nfour"),
        {"type": ["odd"]},
        {"type": "text", "text": 3},
    ]

    prompt = read(CHAT_COMPLETIONS, chat(("user", content)))

    assert prompt.parts == [Part("user", "one\ntwo\nthree\nfour", 0, takes_block=True, has_media=True)]
    assert not prompt.is_stream


def test_a_developer_speaks_as_the_system_and_a_function_as_a_tool() -> None:
    prompt = read(CHAT_COMPLETIONS, chat(("developer", "D"), ("function", "f")))

    assert prompt.takes_top
    assert [part.role for part in prompt.parts] == ["system", "tool"]


@pytest.mark.parametrize(
    ("arguments", "expected"), [('{"a": 1}', {"a": 1}), ("{broken", "{broken"), ("", ""), ({"a": 1}, {"a": 1})]
)
def test_arguments_of_calls_are_parsed_where_they_are_json(arguments: object, expected: object) -> None:
    calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}}]
    message = {"role": "assistant", "content": None, "tool_calls": calls}

    prompt = read(CHAT_COMPLETIONS, {"messages": [message]})

    assert prompt.parts == [Part("assistant", "", 0, calls=(ToolCall("f", expected),))]


def test_a_call_in_the_old_form_is_read_too() -> None:
    message = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}

    assert read(CHAT_COMPLETIONS, {"messages": [message]}).parts[0].calls == (ToolCall("f", {}),)


@pytest.mark.parametrize("content", [None, [], ["odd"], 7])
def test_content_that_is_not_understood_takes_no_block(content: object) -> None:
    prompt = read(CHAT_COMPLETIONS, chat(("user", "u"), ("user", content)))

    assert prompt.parts[1] == Part("user", "", 1)


@pytest.mark.parametrize("payload", [{}, {"messages": []}, {"messages": {}}, chat(("user", [IMAGE]))])
def test_a_chat_that_says_nothing_is_left_alone(payload: dict[str, Any]) -> None:
    assert CHAT_COMPLETIONS.read(payload) is None


@pytest.mark.parametrize("role", ["system", "developer"])
def test_the_top_comes_before_the_text_of_the_first_message(role: str) -> None:
    payload = chat((role, "S"), ("user", "u"))

    assert applied(CHAT_COMPLETIONS, payload, Edit(B)) == chat((role, B + "\n\nS"), ("user", "u"))


def test_the_top_is_a_first_block_where_the_system_has_blocks() -> None:
    payload = chat(("system", [text("S")]), ("user", "u"))

    assert applied(CHAT_COMPLETIONS, payload, Edit(B)) == chat(("system", [text(B + GAP), text("S")]), ("user", "u"))


def test_tails_are_a_further_block_where_there_are_blocks() -> None:
    payload = chat(("user", [text("u"), IMAGE]), ("tool", "t"), ("user", [IMAGE]))

    changed = applied(CHAT_COMPLETIONS, payload, Edit(tails={0: "one", 1: "two", 2: "three"}))

    assert changed == chat(
        ("user", [text("u"), IMAGE, text(GAP + "one")]), ("tool", "t\n\ntwo"), ("user", [IMAGE, text("three")])
    )


def test_what_is_taken_out_is_gone() -> None:
    payload = chat(("system", "S"), ("user", "u"), ("assistant", "a"), ("user", "v"))

    changed = applied(CHAT_COMPLETIONS, payload, Edit(B, {3: "tail"}, frozenset({1, 2})))

    assert changed == chat(("system", B + "\n\nS"), ("user", "v\n\ntail"))


@pytest.mark.parametrize(("given", "expected"), [({}, 1.3), ({"temperature": 1.9}, 2.0), ({"temperature": True}, True)])
def test_warming_raises_the_temperature_to_what_the_api_takes(given: dict[str, Any], expected: float) -> None:
    payload = chat(("user", "u"), **given)

    payload = warmed(CHAT_COMPLETIONS, payload, by=0.3)

    assert payload == chat(("user", "u"), temperature=expected, seed=7)
