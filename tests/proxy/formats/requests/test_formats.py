"""Where the texts of each format are, and where a block goes: a table for each claim."""

from typing import Any

import pytest

from proxy.formats import FORMATS
from proxy.formats.base import GAP, Edit, Part, ToolCall
from tests.proxy.formats.requests.edits import B, applied, read, warmed

CHAT, GENERATE = "/api/chat", "/api/generate"
OPENAI, COMPLETIONS, RESPONSES, MESSAGES = "/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages"

Payload = dict[str, Any]

CACHED = {"cache_control": {"type": "ephemeral"}}
IMAGE = {"type": "image_url", "image_url": {"url": "data:;base64,AA=="}}
FLAT = "### System:\nSYS\n\n### User:\nu1\n\n### Assistant:\na1\n\n### User:\nu2\n\n"
ASKED = "### User:\nu1\n\n### Assistant:\na1\n\n### User:\nu2\n\n"
CALL = {"type": "function_call", "call_id": "1", "name": "f", "arguments": '{"a": 1}'}
OUTPUT = {"type": "function_call_output", "call_id": "1", "output": "r"}
REASONING = {"type": "reasoning", "id": "rs", "summary": []}
USE = {"type": "tool_use", "id": "1", "name": "f", "input": {"a": 1}}
CALLED = (ToolCall("f", {"a": 1}),)


def chat(*messages: tuple[str, Any], **more: Any) -> Payload:
    return {"model": "m", "messages": [{"role": role, "content": content} for role, content in messages], **more}


def prompt(text: Any, **more: Any) -> Payload:
    return {"model": "m", "prompt": text, **more}


def response(given: Any, **more: Any) -> Payload:
    return {"model": "m", "input": given, **more}


def said(role: str, content: Any, **more: Any) -> Payload:
    return {"role": role, "content": content, **more}


def text(words: str, **more: Any) -> Payload:
    return {"type": "text", "text": words, **more}


def heard(words: str) -> Payload:
    return {"type": "input_text", "text": words}


def result(content: Any) -> Payload:
    return {"type": "tool_result", "tool_use_id": "1", "content": content}


def calling(call: Any, field: str = "tool_calls") -> Payload:
    return {"role": "assistant", "content": None, field: call}


def user(words: str, place: int = 0) -> Part:
    return Part("user", words, place, takes_block=True)


# --- what is read ---

READ: dict[str, tuple[str, Payload, list[Part]]] = {
    "each message at a place of its own": (
        CHAT,
        chat(("system", "S"), ("user", "u"), ("assistant", "a"), ("tool", "t")),
        [Part("system", "S", 0), user("u", 1), Part("assistant", "a", 2), Part("tool", "t", 3, takes_block=True)],
    ),
    "no system text under a key without a name": (CHAT, chat(("user", "u"), **{"": "S"}), [user("u")]),
    "pictures as media": (
        CHAT,
        {"messages": [said("user", "u", images=["AA=="]), said("assistant", "a", images=["AA=="])]},
        [user("u")._replace(has_media=True), Part("assistant", "a", 1)],
    ),
    "a role in capitals as Ollama reads it, an unknown one as a tool's": (
        CHAT,
        chat(("SYSTEM", "S"), ("Assistant", "a"), ("critic", "c"), ("function", "f")),
        [
            Part("system", "S", 0),
            Part("assistant", "a", 1),
            Part("tool", "c", 2, takes_block=True),
            Part("tool", "f", 3, takes_block=True),
        ],
    ),
    "calls with the message that makes them": (
        CHAT,
        {"messages": [calling([{"function": {"name": "f", "arguments": {"a": 1}}}, "odd", {"function": None}])]},
        [Part("assistant", "", 0, calls=CALLED)],
    ),
    "odd messages, which keep the places of the others": (
        CHAT,
        {"messages": [None, said("user", ["x"]), {"role": 7}, said("user", "u")]},
        [Part("user", "", 0), Part("user", "", 1), Part("tool", "", 2), user("u", 3)],
    ),
    "blocks as one text, at least a line apart": (
        OPENAI,
        chat(
            ("user", [*map(text, ("one", "two\n", "three", "\nfour")), IMAGE, {"type": ["odd"]}, text(3)]),
        ),
        [user("one\ntwo\nthree\nfour")._replace(has_media=True)],
    ),
    "a developer as the system, a function as a tool": (
        OPENAI,
        chat(("developer", "D"), ("function", "f")),
        [Part("system", "D", 0), Part("tool", "f", 1, takes_block=True)],
    ),
    "a call in the old form": (
        OPENAI,
        {"messages": [calling({"name": "f", "arguments": '{"a": 1}'}, "function_call")]},
        [Part("assistant", "", 0, calls=CALLED)],
    ),
    "a plain prompt about a picture": (
        GENERATE,
        prompt("What is it?", images=["iVBORw0"]),
        [user("What is it?")._replace(has_media=True)],
    ),
    "a plain prompt after the system": (GENERATE, prompt("hi ", system="S"), [Part("system", "S", 0), user("hi ", 1)]),
    "a flattened prompt by its sections": (
        GENERATE,
        prompt(FLAT, system=""),
        [Part("system", "SYS", 0), user("u1", 1), Part("assistant", "a1", 2), user("u2", 3)],
    ),
    "a system beside a flattened prompt before it": (
        GENERATE,
        prompt("### User:\nu\n\n### Assistant:\na", system="S"),
        [Part("system", "S", 0), user("u", 1), Part("assistant", "a", 2)],
    ),
    "no section where a header is inside a line": (
        GENERATE,
        prompt("### User:\nsay ### User:\nx\n\n### User: y\n#### User:\nz"),
        [user("say ### User:\nx\n\n### User: y\n#### User:\nz")],
    ),
    "sections without text, which take no block": (
        GENERATE,
        prompt("### System:\n### User:\n### User:\nu\n\n### Assistant:\n"),
        [Part("system", "", 0), Part("user", "", 1), user("u", 2), Part("assistant", "", 3)],
    ),
    "a text to be continued, which takes no block at its end": (
        COMPLETIONS,
        prompt("Once upon"),
        [Part("user", "Once upon", 0)],
    ),
    "a flattened prompt to be completed": (
        COMPLETIONS,
        prompt("### User:\nu\n\n### Assistant:\na\n\n"),
        [user("u"), Part("assistant", "a", 1)],
    ),
    "a string after the instructions": (
        RESPONSES,
        response("u", instructions="S"),
        [Part("system", "S", 0), user("u", 1)],
    ),
    "each item, also one that says nothing": (
        RESPONSES,
        response(
            [said("developer", "D"), said("user", [heard("u")], type="message"), REASONING, CALL, OUTPUT, None],
        ),
        [
            Part("system", "D", 0),
            user("u", 1),
            Part("assistant", "", 2),
            Part("assistant", "", 3, calls=CALLED),
            Part("tool", "r", 4, takes_block=True),
            Part("user", "", 5),
        ],
    ),
    "an answer that is sent back": (
        RESPONSES,
        response([{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}]),
        [Part("assistant", "a", 0)],
    ),
    "a custom tool's call, whose input is its arguments": (
        RESPONSES,
        response(
            [
                {"type": "custom_tool_call", "name": "sh", "input": "ls -l"},
                {"type": "custom_tool_call_output", "output": [heard("r")]},
            ]
        ),
        [
            Part("assistant", "", 0, calls=(ToolCall("sh", "ls -l"),)),
            Part("tool", "r", 1, takes_block=True),
        ],
    ),
    "the system first, and messages after it": (
        MESSAGES,
        chat(("user", "u"), ("assistant", "a"), system="S"),
        [Part("system", "S", 0), user("u", 1), Part("assistant", "a", 2)],
    ),
    "an empty system not at all": (MESSAGES, chat(("user", "u"), system=""), [user("u")]),
    "a system of blocks": (
        MESSAGES,
        chat(("user", "u"), system=[text("S", **CACHED), text("T")]),
        [Part("system", "S\nT", 0), user("u", 1)],
    ),
    "results before what the user says": (
        MESSAGES,
        chat(("user", [text("then"), result("r"), result([text("s"), IMAGE]), result(None), text("that")])),
        [Part("tool", "r", 0), Part("tool", "s", 0, has_media=True), Part("tool", "", 0), user("then\nthat")],
    ),
    "results alone, of which the last takes the block": (
        MESSAGES,
        chat(("user", [result("r"), result("s"), IMAGE])),
        [Part("tool", "r", 0), Part("tool", "s", 0, takes_block=True, has_media=True)],
    ),
    "an answer's text and its calls": (
        MESSAGES,
        chat(("assistant", [{"type": "thinking", "thinking": "hm"}, text("a"), USE, {"type": ["odd"]}])),
        [Part("assistant", "a", 0, calls=CALLED)],
    ),
}


@pytest.mark.parametrize("name", READ)
def test_what_is_read_is(name: str) -> None:
    path, payload, parts = READ[name]

    found = read(FORMATS[path], payload)

    assert (list(found.parts), found.model) == (parts, payload.get("model", ""))


@pytest.mark.parametrize("path", [OPENAI, MESSAGES])
@pytest.mark.parametrize("content", [None, [], ["odd"], 7])
def test_content_that_is_not_understood_takes_no_block(path: str, content: object) -> None:
    assert read(FORMATS[path], chat(("user", "u"), ("user", content))).parts[1] == Part("user", "", 1)


@pytest.mark.parametrize(
    ("arguments", "expected"), [('{"a": 1}', {"a": 1}), ("{broken", "{broken"), ("", ""), ({"a": 1}, {"a": 1})]
)
def test_arguments_of_calls_are_parsed_where_they_are_json(arguments: object, expected: object) -> None:
    calls = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}}]

    found = read(FORMATS[OPENAI], {"messages": [calling(calls)]})

    assert found.parts == [Part("assistant", "", 0, calls=(ToolCall("f", expected),))]


# --- what is left alone ---

LEFT_ALONE: dict[str, list[Payload]] = {
    CHAT: [
        *({}, {"messages": []}, {"messages": None}, {"messages": "hi"}, {"messages": [1, None]}, {"messages": [{}]}),
        chat(("user", "")),
    ],
    OPENAI: [{}, {"messages": []}, {"messages": {}}, chat(("user", [IMAGE]))],
    GENERATE: [
        *({}, prompt(""), prompt(None), prompt(["hi"]), prompt("hi", raw=True), prompt("def f(", suffix="return")),
        *(prompt("hi", template="{{ .Prompt }}"), prompt("hi", system=["S"])),
    ],
    COMPLETIONS: [{}, prompt(""), prompt(["a", "b"]), prompt("f(", suffix=")")],
    RESPONSES: [
        *({}, response(""), response([]), response([], instructions="S"), response([None, REASONING])),
        *(response({"role": "user"}), response("u", instructions=["S"]), response("", instructions="S")),
    ],
    MESSAGES: [
        *({}, chat(), chat(system="S"), chat(("user", [IMAGE])), chat(("user", "u"), system={"type": "text"})),
    ],
}


@pytest.mark.parametrize(("path", "payload"), [(path, each) for path, given in LEFT_ALONE.items() for each in given])
def test_what_says_nothing_or_is_not_understood_is_left_alone(path: str, payload: Payload) -> None:
    assert FORMATS[path].read(payload) is None


# --- how it is asked for ---

STREAMS: list[tuple[str, Payload, bool]] = [
    (CHAT, chat(("user", "u")), True),
    (CHAT, chat(("user", "u"), stream=False), False),
    (CHAT, chat(("user", "u"), stream="no"), True),
    (GENERATE, prompt("hi"), True),
    (GENERATE, prompt(FLAT, stream=False), False),
    (OPENAI, chat(("user", "u")), False),
    (COMPLETIONS, prompt("Once"), False),
    (COMPLETIONS, prompt(FLAT, stream=True), True),
    (RESPONSES, response("u"), False),
    (MESSAGES, chat(("user", "u")), False),
    (MESSAGES, chat(("user", "u"), stream=True), True),
]


@pytest.mark.parametrize(("path", "payload", "expected"), STREAMS)
def test_an_answer_streams_as_the_path_does_unless_the_request_says_otherwise(
    path: str, payload: Payload, expected: bool
) -> None:
    assert read(FORMATS[path], payload).is_stream is expected


WARMED: list[tuple[str, Payload, Payload]] = [
    (CHAT, {}, {"options": {"temperature": 1.1, "seed": 7}}),
    (CHAT, {"options": {}}, {"options": {"temperature": 1.1, "seed": 7}}),
    (
        CHAT,
        {"options": {"temperature": 0.1, "num_ctx": 9}},
        {"options": {"temperature": 0.4, "num_ctx": 9, "seed": 7}},
    ),
    (CHAT, {"options": {"temperature": 1.9, "seed": 1}}, {"options": {"temperature": 2.0, "seed": 7}}),
    (CHAT, {"options": {"temperature": 2.5}}, {"options": {"temperature": 2.5, "seed": 7}}),
    (CHAT, {"options": {"temperature": "hot"}}, {"options": {"temperature": "hot", "seed": 7}}),
    (CHAT, {"options": {"temperature": None}}, {"options": {"temperature": 1.1, "seed": 7}}),
    (CHAT, {"options": None}, {"options": {"temperature": 1.1, "seed": 7}}),
    (CHAT, {"options": "odd"}, {"options": "odd"}),
    (GENERATE, {"options": {"num_ctx": 9}}, {"options": {"num_ctx": 9, "temperature": 1.1, "seed": 7}}),
    (OPENAI, {}, {"temperature": 1.3, "seed": 7}),
    (OPENAI, {"temperature": 1.9}, {"temperature": 2.0, "seed": 7}),
    (OPENAI, {"temperature": True}, {"temperature": True, "seed": 7}),
    (COMPLETIONS, {}, {"temperature": 1.3, "seed": 7}),
    (COMPLETIONS, {"temperature": 0}, {"temperature": 0.3, "seed": 7}),
    (COMPLETIONS, {"temperature": 2}, {"temperature": 2, "seed": 7}),
    (RESPONSES, {"temperature": 1}, {"temperature": 1.3}),
    (MESSAGES, {}, {"temperature": 1.0}),
    (MESSAGES, {"temperature": 0.5}, {"temperature": 0.8}),
    (MESSAGES, {"temperature": 1.0}, {"temperature": 1.0}),
]


@pytest.mark.parametrize(("path", "given", "expected"), WARMED)
def test_warming_raises_the_temperature_to_what_the_api_takes(path: str, given: Payload, expected: Payload) -> None:
    assert warmed(FORMATS[path], {"model": "m", **given}, by=0.3) == {"model": "m", **expected}


def test_warming_by_nothing_leaves_the_temperature_to_the_model() -> None:
    assert warmed(FORMATS[CHAT], {}, by=0) == {"options": {"seed": 7}}


# --- what is put in and taken out ---

EDITS: dict[str, tuple[str, Payload, Edit, Payload]] = {
    "the top before a system message": (
        CHAT, chat(("system", "S"), ("user", "u")), Edit(B), chat(("system", f"{B}\n\nS"), ("user", "u")),
    ),
    "the bare top for an empty system message": (
        CHAT, chat(("system", ""), ("user", "u")), Edit(B), chat(("system", B), ("user", "u")),
    ),
    "the top before a system message in capitals": (
        CHAT, chat(("System", "S")), Edit(B), chat(("System", f"{B}\n\nS")),
    ),
    "tails at the end of messages": (
        CHAT,
        chat(("user", "u"), ("assistant", "a"), ("tool", "t"), ("user", "")),
        Edit(tails={0: "one", 2: "two", 3: "three"}),
        chat(("user", "u\n\none"), ("assistant", "a"), ("tool", "t\n\ntwo"), ("user", "three")),
    ),
    "messages taken out, and the tail with its own": (
        CHAT,
        chat(("user", "u"), ("assistant", "a"), ("tool", "t"), ("user", "v")),
        Edit("", {3: "tail"}, frozenset({1, 2})),
        chat(("user", "u"), ("user", "v\n\ntail")),
    ),
    "the top before a developer's text": (
        OPENAI, chat(("developer", "S"), ("user", "u")), Edit(B), chat(("developer", f"{B}\n\nS"), ("user", "u")),
    ),
    "the top as a first block": (
        OPENAI, chat(("system", [text("S")])), Edit(B), chat(("system", [text(B + GAP), text("S")])),
    ),
    "tails as a further block": (
        OPENAI,
        chat(("user", [text("u"), IMAGE]), ("tool", "t"), ("user", [IMAGE])),
        Edit(tails={0: "one", 1: "two", 2: "three"}),
        chat(("user", [text("u"), IMAGE, text(f"{GAP}one")]), ("tool", "t\n\ntwo"), ("user", [IMAGE, text("three")])),
    ),
    "messages taken out below a top": (
        OPENAI,
        chat(("system", "S"), ("user", "u"), ("assistant", "a"), ("user", "v")),
        Edit(B, {3: "tail"}, frozenset({1, 2})),
        chat(("system", f"{B}\n\nS"), ("user", "v\n\ntail")),
    ),
    "the top before a prompt's system": (
        GENERATE, prompt("hi", system="S", raw=False), Edit(B), prompt("hi", system=f"{B}\n\nS", raw=False),
    ),
    "the top before the system beside a flattened prompt": (
        GENERATE, prompt(FLAT, system="S"), Edit(B), prompt(FLAT, system=f"{B}\n\nS"),
    ),
    "the tail before the white space at a prompt's end": (
        GENERATE, prompt("hi \n"), Edit(tails={0: B}), prompt(f"hi\n\n{B} \n"),
    ),
    "the tail of the part after the system": (
        GENERATE, prompt("hi", system="S"), Edit(tails={1: B}), prompt(f"hi\n\n{B}", system="S"),
    ),
    "top and tails in their sections": (
        GENERATE,
        prompt(FLAT),
        Edit(B, {1: "one", 3: "two"}),
        prompt(f"### System:\n{B}\n\nSYS\n\n### User:\nu1\n\none\n\n### Assistant:\na1\n\n### User:\nu2\n\ntwo\n\n"),
    ),
    "sections counted after the system beside them": (
        GENERATE,
        prompt(ASKED, system="S"),
        Edit("", {3: B}, frozenset({1, 2})),
        prompt(f"### User:\nu2\n\n{B}\n\n", system="S"),
    ),
    "sections taken out with their headers": (
        GENERATE,
        prompt(FLAT),
        Edit(without=frozenset({1, 2})),
        prompt("### System:\nSYS\n\n### User:\nu2\n\n"),
    ),
    "the top at the beginning of a text": (COMPLETIONS, prompt("Once upon"), Edit(B), prompt(f"{B}\n\nOnce upon")),
    "the top inside a system section": (
        COMPLETIONS, prompt(FLAT), Edit(B), prompt(FLAT.replace("SYS", f"{B}\n\nSYS")),
    ),
    "sections taken out, and a tail": (
        COMPLETIONS,
        prompt(ASKED, max_tokens=5),
        Edit("", {2: B}, frozenset({0, 1})),
        prompt(f"### User:\nu2\n\n{B}\n\n", max_tokens=5),
    ),
    "the top before the instructions": (
        RESPONSES,
        response([said("system", "S")], instructions="I"),
        Edit(B),
        response([said("system", "S")], instructions=f"{B}\n\nI"),
    ),
    "the top before the system's item": (
        RESPONSES,
        response([said("system", "S"), said("user", "u")]),
        Edit(B),
        response([said("system", f"{B}\n\nS"), said("user", "u")]),
    ),
    "the top as a first block of that item": (
        RESPONSES,
        response([said("developer", [heard("S")])]),
        Edit(B),
        response([said("developer", [heard(f"{B}\n\n"), heard("S")])]),
    ),
    "the tail of a string": (
        RESPONSES, response("u", instructions="S"), Edit(tails={1: B}), response(f"u\n\n{B}", instructions="S"),
    ),
    "tails of messages and of results": (
        RESPONSES,
        response(
            [said("user", [heard("u"), IMAGE]), said("user", [IMAGE]), OUTPUT, {**OUTPUT, "output": [heard("r")]}]
        ),
        Edit(tails={0: "one", 1: "two", 2: "three", 3: "four"}),
        response(
            [
                said("user", [heard("u"), IMAGE, heard("\n\none")]),
                said("user", [IMAGE, heard("two")]),
                {**OUTPUT, "output": "r\n\nthree"},
                {**OUTPUT, "output": [heard("r"), heard("\n\nfour")]},
            ]
        ),
    ),
    "items counted after the instructions": (
        RESPONSES,
        response([said("user", "u"), REASONING, CALL, OUTPUT, said("user", "v")], instructions="S"),
        Edit(B, {5: "tail"}, frozenset({2, 3, 4})),
        response([said("user", "u"), said("user", "v\n\ntail")], instructions=f"{B}\n\nS"),
    ),
    "the top before the system beside messages": (
        MESSAGES, chat(("user", "u"), system="S"), Edit(B), chat(("user", "u"), system=f"{B}\n\nS"),
    ),
    "the top as a first block of that system": (
        MESSAGES,
        chat(("user", "u"), system=[text("S", **CACHED)]),
        Edit(B),
        chat(("user", "u"), system=[text(f"{B}\n\n"), text("S", **CACHED)]),
    ),
    "tails after everything else": (
        MESSAGES,
        chat(("user", "u"), ("user", [result("r"), text("u", **CACHED)]), ("user", [result("r")]), system="S"),
        Edit(tails={1: "one", 3: "two", 4: "three"}),
        chat(
            ("user", "u\n\none"),
            ("user", [result("r"), text("u", **CACHED), text("\n\ntwo")]),
            ("user", [result("r"), text("three")]),
            system="S",
        ),
    ),
    "messages counted after the system": (
        MESSAGES,
        chat(("user", "u"), ("assistant", [USE]), ("user", [result("r")]), ("user", "v"), system="S"),
        Edit(B, {4: "tail"}, frozenset({2, 3})),
        chat(("user", "u"), ("user", "v\n\ntail"), system=f"{B}\n\nS"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_puts_in_or_takes_out(name: str) -> None:
    path, payload, edit, expected = EDITS[name]

    assert read(FORMATS[path], payload).takes_top or not edit.top
    assert applied(FORMATS[path], payload, edit) == expected


@pytest.mark.parametrize(
    ("path", "payload"),
    [
        (MESSAGES, chat(("user", "u"), system="")),
        (COMPLETIONS, prompt(ASKED)),
        (CHAT, chat(("user", "u"))),
        (RESPONSES, response("u")),
    ],
)
def test_without_a_system_text_there_is_no_top(path: str, payload: Payload) -> None:
    assert not read(FORMATS[path], payload).takes_top


def test_what_is_not_changed_stays_in_its_order() -> None:
    message = {"images": ["x"], "role": "user", "y": 1, "content": "u"}
    payload = {"keep_alive": 5, "messages": [message], "model": "m", "options": {"num_ctx": 9}}

    changed = applied(FORMATS[CHAT], payload, Edit(tails={0: B}))

    assert list(changed) == ["keep_alive", "messages", "model", "options"]
    assert list(changed["messages"][0].items()) == [
        ("images", ["x"]),
        ("role", "user"),
        ("y", 1),
        ("content", "u\n\n" + B),
    ]
