"""Where the texts of Anthropic's ``/v1/messages`` are, and where a block goes."""

from typing import Any

import pytest

from proxy.domain.formats.anthropic_messages import AnthropicMessages
from proxy.domain.formats.base import Edit, Part, ToolCall
from tests.proxy.domain.requests.edits import B, applied, read, warmed

MESSAGES = AnthropicMessages()

CACHED = {"cache_control": {"type": "ephemeral"}}
IMAGE = {"type": "image", "source": {"type": "base64", "data": "AA=="}}


def request(*messages: tuple[str, Any], **more: Any) -> dict[str, Any]:
    said = [{"role": role, "content": content} for role, content in messages]
    return {"model": "m", "max_tokens": 9, **more, "messages": said}


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **more}


def result(content: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "1", "content": content}


def test_the_system_is_the_first_part_and_messages_are_counted_after_it() -> None:
    prompt = read(MESSAGES, request(("user", "u"), ("assistant", "a"), system="S"))

    assert prompt.takes_top
    assert not prompt.is_stream
    assert prompt.parts == [Part("system", "S", 0), Part("user", "u", 1, takes_block=True), Part("assistant", "a", 2)]


def test_without_a_system_the_messages_are_counted_from_the_first() -> None:
    prompt = read(MESSAGES, request(("user", "u"), system="", stream=True))

    assert not prompt.takes_top
    assert prompt.is_stream
    assert prompt.parts == [Part("user", "u", 0, takes_block=True)]


def test_the_system_may_be_blocks() -> None:
    prompt = read(MESSAGES, request(("user", "u"), system=[text("S", **CACHED), text("T")]))

    assert prompt.parts[0] == Part("system", "S\nT", 0)


def test_results_of_tools_are_said_before_what_the_user_says() -> None:
    content = [text("then"), result("r"), result([text("s"), IMAGE]), result(None), text("that")]

    prompt = read(MESSAGES, request(("user", content)))

    assert prompt.parts == [
        Part("tool", "r", 0),
        Part("tool", "s", 0, has_media=True),
        Part("tool", "", 0),
        Part("user", "then\nthat", 0, takes_block=True),
    ]


def test_after_results_alone_the_last_one_takes_the_block() -> None:
    prompt = read(MESSAGES, request(("user", [result("r"), result("s"), IMAGE])))

    assert prompt.parts == [Part("tool", "r", 0), Part("tool", "s", 0, True, (), has_media=True)]


def test_an_answer_has_its_text_and_its_calls() -> None:
    use = {"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}}
    content = [{"type": "thinking", "thinking": "hm"}, text("a"), use, {"type": ["odd"]}]

    prompt = read(MESSAGES, request(("user", "u"), ("assistant", content)))

    assert prompt.parts[1] == Part("assistant", "a", 1, calls=(ToolCall("f", {"a": 1}),))


@pytest.mark.parametrize("content", [None, [], ["odd"], 7])
def test_content_that_is_not_understood_takes_no_block(content: object) -> None:
    assert read(MESSAGES, request(("user", "u"), ("user", content))).parts[1] == Part("user", "", 1)


@pytest.mark.parametrize(
    "payload",
    [{}, request(), request(system="S"), request(("user", [IMAGE])), request(("user", "u"), system={"type": "text"})],
)
def test_a_request_that_says_nothing_or_is_not_understood_is_left_alone(payload: dict[str, Any]) -> None:
    assert MESSAGES.read(payload) is None


def test_the_top_comes_before_the_system() -> None:
    payload = request(("user", "u"), system="S")

    assert applied(MESSAGES, payload, Edit(B)) == payload | {"system": B + "\n\nS"}


def test_the_top_is_a_first_block_where_the_system_has_blocks() -> None:
    payload = request(("user", "u"), system=[text("S", **CACHED)])

    assert applied(MESSAGES, payload, Edit(B)) == payload | {"system": [text(B + "\n\n"), text("S", **CACHED)]}


def test_tails_are_a_text_after_everything_else() -> None:
    said = [result("r"), text("u", **CACHED)]
    payload = request(("user", "u"), ("user", said), ("user", [result("r")]), system="S")

    changed = applied(MESSAGES, payload, Edit(tails={1: "one", 3: "two", 4: "three"}))

    assert changed == request(
        ("user", "u\n\none"), ("user", [*said, text("\n\ntwo")]), ("user", [result("r"), text("three")]), system="S"
    )


def test_what_is_taken_out_is_counted_after_the_system() -> None:
    use = {"type": "tool_use", "id": "1", "name": "f", "input": {}}
    payload = request(("user", "u"), ("assistant", [use]), ("user", [result("r")]), ("user", "v"), system="S")

    changed = applied(MESSAGES, payload, Edit(B, {4: "tail"}, frozenset({2, 3})))

    assert changed == request(("user", "u"), ("user", "v\n\ntail"), system=B + "\n\nS")


@pytest.mark.parametrize(("given", "expected"), [({}, 1.0), ({"temperature": 0.5}, 0.8), ({"temperature": 1.0}, 1.0)])
def test_warming_raises_the_temperature_to_what_the_api_takes(given: dict[str, Any], expected: float) -> None:
    payload = request(("user", "u"), **given)

    payload = warmed(MESSAGES, payload, by=0.3)

    assert payload == request(("user", "u"), temperature=expected)
