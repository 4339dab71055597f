"""Where the texts of Ollama's ``/api/chat`` are, and where a block goes."""

from typing import Any

import pytest

from proxy.domain.formats.base import Edit, Part, ToolCall
from proxy.domain.formats.ollama import OllamaChat
from tests.proxy.domain.requests.edits import B, applied, read, warmed

CHAT = OllamaChat()


def chat(*messages: tuple[str, Any], **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": role, "content": content} for role, content in messages], **more}


def test_each_message_is_a_part_at_a_place_of_its_own() -> None:
    prompt = read(CHAT, chat(("system", "S"), ("user", "u"), ("assistant", "a"), ("tool", "t")))

    assert prompt.model == "m"
    assert prompt.parts == [
        Part("system", "S", 0),
        Part("user", "u", 1, takes_block=True),
        Part("assistant", "a", 2),
        Part("tool", "t", 3, takes_block=True),
    ]


def test_a_role_in_capitals_is_read_as_ollama_does_and_an_unknown_one_is_a_tools() -> None:
    parts = read(CHAT, chat(("SYSTEM", "S"), ("Assistant", "a"), ("critic", "c"), ("function", "f"))).parts

    assert [part.role for part in parts] == ["system", "assistant", "tool", "tool"]


def test_calls_of_tools_are_read_with_the_message_that_makes_them() -> None:
    call = {"function": {"name": "ls", "arguments": {"path": "/"}}}
    message = {"role": "assistant", "content": "", "tool_calls": [call, "odd", {"function": None}]}

    parts = read(CHAT, {"messages": [{"role": "user", "content": "u"}, message]}).parts

    assert parts[1] == Part("assistant", "", 1, calls=(ToolCall("ls", {"path": "/"}),))


def test_odd_messages_keep_the_places_of_the_others() -> None:
    messages = [None, {"role": "user", "content": ["x"]}, {"role": 7}, {"role": "user", "content": "u"}]

    assert read(CHAT, {"messages": messages}).parts == [
        Part("user", "", 0),
        Part("user", "", 1),
        Part("tool", "", 2),
        Part("user", "u", 3, takes_block=True),
    ]


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"messages": []},
        {"messages": None},
        {"messages": "hi"},
        {"messages": [1, None]},
        {"messages": [{}]},
        chat(("user", "")),
    ],
)
def test_a_chat_that_says_nothing_is_left_alone(payload: dict[str, Any]) -> None:
    assert CHAT.read(payload) is None


@pytest.mark.parametrize(("given", "expected"), [({}, True), ({"stream": False}, False), ({"stream": "no"}, True)])
def test_a_chat_is_answered_as_a_stream_unless_it_says_otherwise(given: dict[str, Any], expected: bool) -> None:
    assert read(CHAT, chat(("user", "u"), **given)).is_stream is expected


def test_the_top_comes_before_the_system_message() -> None:
    payload = chat(("system", "S"), ("user", "hi"))

    assert applied(CHAT, payload, Edit(B)) == chat(("system", B + "\n\nS"), ("user", "hi"))


def test_an_empty_system_message_becomes_the_bare_block() -> None:
    payload = chat(("system", ""), ("user", "hi"))

    assert read(CHAT, payload).takes_top
    assert applied(CHAT, payload, Edit(B)) == chat(("system", B), ("user", "hi"))


def test_a_system_message_is_one_in_capitals_too() -> None:
    assert applied(CHAT, chat(("System", "S")), Edit(B)) == chat(("System", B + "\n\nS"))


def test_tails_stand_at_the_end_of_their_messages() -> None:
    payload = chat(("user", "u"), ("assistant", "a"), ("tool", "t"), ("user", ""))

    changed = applied(CHAT, payload, Edit(tails={0: "one", 2: "two", 3: "three"}))

    assert changed == chat(("user", "u\n\none"), ("assistant", "a"), ("tool", "t\n\ntwo"), ("user", "three"))


def test_what_is_taken_out_is_gone_and_tails_stay_with_their_messages() -> None:
    payload = chat(("user", "u"), ("assistant", "a"), ("tool", "t"), ("user", "v"))

    changed = applied(CHAT, payload, Edit("", {3: "tail"}, frozenset({1, 2})))

    assert changed == chat(("user", "u"), ("user", "v\n\ntail"))


def test_what_is_not_changed_stays_in_its_order() -> None:
    message = {"images": ["x"], "role": "user", "y": 1, "content": "u"}
    payload = {"keep_alive": 5, "messages": [message], "model": "m", "options": {"num_ctx": 9}}

    changed = applied(CHAT, payload, Edit(tails={0: B}))

    assert list(changed) == ["keep_alive", "messages", "model", "options"]
    assert list(changed["messages"][0].items()) == [
        ("images", ["x"]),
        ("role", "user"),
        ("y", 1),
        ("content", "u\n\n" + B),
    ]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {"temperature": 1.1, "seed": 7}),
        ({"temperature": 0.1, "num_ctx": 9}, {"temperature": 0.4, "num_ctx": 9, "seed": 7}),
        ({"temperature": 1.9, "seed": 1}, {"temperature": 2.0, "seed": 7}),
        ({"temperature": 2.5}, {"temperature": 2.5, "seed": 7}),
        ({"temperature": "hot"}, {"temperature": "hot", "seed": 7}),
        ({"temperature": None}, {"temperature": 1.1, "seed": 7}),
        (None, {"temperature": 1.1, "seed": 7}),
        ("odd", "odd"),
    ],
)
def test_warming_raises_the_temperature_among_the_options(options: object, expected: object) -> None:
    payload = chat(("user", "u"), options=options)

    payload = warmed(CHAT, payload, by=0.3)

    assert payload == chat(("user", "u"), options=expected)


def test_warming_makes_the_options_where_there_are_none() -> None:
    payload = chat(("user", "u"))

    payload = warmed(CHAT, payload, by=0.3)

    assert payload["options"] == {"temperature": 1.1, "seed": 7}


def test_warming_by_nothing_leaves_the_temperature_to_the_model() -> None:
    payload = chat(("user", "u"))

    payload = warmed(CHAT, payload, by=0)

    assert payload["options"] == {"seed": 7}
