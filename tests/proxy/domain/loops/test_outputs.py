import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxy.domain.formats.base import ToolCall
from proxy.domain.loops.memo import SizedMemo, size_of_gist, size_of_output
from proxy.domain.loops.near_duplicates import gist
from proxy.domain.loops.outputs import EXCERPT_MAX, read_native, read_text

ARGUMENTS = {"query": "the tallest tower", "limit": 5}
GIVEN = json.dumps(ARGUMENTS)

VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()

# One call in all the ways in which models write it.
SPELLINGS = {
    "Agent Zero": json.dumps({"thoughts": ["Look it up."], "tool_name": "search", "tool_args": ARGUMENTS}),
    "arguments as text": json.dumps({"tool_name": "search", "tool_args": GIVEN}),
    "without arguments of their own": json.dumps({"tool": "search", **ARGUMENTS}),
    "Llama": json.dumps({"name": "search", "parameters": ARGUMENTS}),
    "OpenAI": json.dumps({"name": "search", "arguments": GIVEN}),
    "LangChain": f"Thought: so\nAction:\n```json\n{json.dumps({'action': 'search', 'action_input': ARGUMENTS})}\n```",
    "AutoGPT": json.dumps({"thoughts": {"text": "So."}, "command": {"name": "search", "args": ARGUMENTS}}),
    "a list of calls": json.dumps(
        {"tool_calls": [{"type": "function", "function": {"name": "search", "arguments": GIVEN}}]}
    ),
    "LiteLLM": "Tool Calls: "
    + json.dumps([{"id": "call_1", "function": {"name": "search", "arguments": ARGUMENTS}}], indent=2),
    "smolagents": "So.\nCalling tools:\n"
    + repr([{"id": "call_116eda96", "type": "function", "function": {"name": "search", "arguments": ARGUMENTS}}]),
    "smolagents in JSON": "Calling tools:\n"
    + json.dumps([{"id": "call_9", "type": "function", "function": {"name": "search", "arguments": ARGUMENTS}}]),
    "a fence": f"```json\n{json.dumps({'tool_name': 'search', 'tool_args': ARGUMENTS}, indent=4)}\n```",
    "prose around": f"I look it up: {json.dumps({'tool_name': 'search', 'tool_args': ARGUMENTS})} Wait for it.",
    "thoughts in tags": f'<think>Hm {{"a": 1}}</think>{json.dumps({"tool_name": "search", "tool_args": ARGUMENTS})}',
    "tags": f"So:\n<tool_call>\n{json.dumps({'name': 'search', 'arguments': ARGUMENTS})}\n</tool_call>",
    "an unfinished tag": f"<tool_call>{json.dumps({'name': 'search', 'arguments': ARGUMENTS})}",
    "Mistral": f"[TOOL_CALLS] [{json.dumps({'name': 'search', 'arguments': ARGUMENTS})}]",
    "ReAct": f"Thought: so\nAction: search\nAction Input: {GIVEN}",
    "ReAct and more, made up": f"Thought: so\nAction: search\nAction Input: {GIVEN}\nObservation: it is 828 m",
    "ReAct in bold": f"**Thought:** so\n**Action:** search\n**Action Input:** {GIVEN}",
    "other order, space and case": '{ "tool_args" : {"limit" : 5.0, "query": " The tallest\\n tower "},\n'
    '"tool_name": "SEARCH"}',
}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in SPELLINGS.items()])
def test_a_call_is_the_same_however_it_is_written(text):
    output = read_text(text)

    assert output.exact == read_native([ToolCall("search", ARGUMENTS)]).exact
    assert output.is_call
    assert not output.is_text


@given(st.recursive(VALUES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8))
def test_calls_printed_as_python_literals_are_those_in_json(value: object) -> None:
    calls = [{"name": name, "arguments": {"it": value}} for name in ("look", "find")]

    assert read_text(f"Calling tools:\n{calls!r}").exact == read_text(json.dumps(calls)).exact


OTHER_CALLS = [
    {"tool_name": "search", "tool_args": {"query": "the tallest tower", "limit": 6}},
    {"tool_name": "search", "tool_args": {"query": "the tallest towers", "limit": 5}},
    {"tool_name": "search", "tool_args": {"query": "the tallest tower", "limit": 5, "offset": 1}},
    {"tool_name": "find", "tool_args": ARGUMENTS},
]


@pytest.mark.parametrize("call", OTHER_CALLS)
def test_another_call_is_another(call):
    assert read_text(json.dumps(call)).essence != read_native([ToolCall("search", ARGUMENTS)]).essence


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "<function=bash>\n<parameter=c>ls</parameter>\n</function>",
            "So.\n<function=bash><parameter=c>ls</parameter></function>",
        ),
        ('<invoke name="bash"><c>ls</c></invoke>', 'Hm.\n<invoke name="bash"><c>ls</c></invoke>'),
        (
            "<read_file>\n<path>a</path>\n</read_file>",
            "<thinking>So.</thinking>\n<read_file>\n<path>a</path>\n</read_file>",
        ),
        ("Thought: a\nAction: Search[Ada]", "Thought: b\nAction: search[ada]"),
        ('{"thought": "a", "answer": 4}', '{"answer": 4, "thought": "b"}'),
        (
            '{"thoughts": ["x",], "tool_name": "run", "tool_args": {"code": "say "hi""}}',
            '{"thoughts": ["yy",], "tool_name": "run", "tool_args": {"code": "say "hi""}}',
        ),
    ],
)
def test_thoughts_around_a_call_do_not_matter(one, other):
    assert read_text(one).exact == read_text(other).exact


@pytest.mark.parametrize("key", ["thought", "reasoning", "explanation", "request_id", "timestamp", "trace_id"])
def test_thoughts_and_what_is_made_up_in_arguments_do_not_matter(key):
    calls = [read_native([ToolCall("get", {"url": "/a", key: text})]) for text in ("one", "another")]

    assert calls[0].exact == calls[1].exact


def test_thoughts_that_are_all_there_is_matter():
    calls = [read_native([ToolCall("think", {"thought": text})]) for text in ("one", "another")]

    assert calls[0].exact != calls[1].exact


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("It is 10:01 now.", "It is  10:02 NOW."),
        ("At 2026-01-02T10:00:00.123Z all was well", "At 2026-01-03 11:01:01 all was well"),
        ("Started at 1767571201", "Started at 1767571377"),
    ],
)
def test_times_in_texts_do_not_matter(one, other):
    assert read_text(one).exact == read_text(other).exact


@pytest.mark.parametrize(
    "name",
    [
        "0x7f001122aabb",
        "550e8400-e29b-41d4-a716-446655440000",
        "9fceb02d0ae598e95dc9",
        "call_9f8e7d6c5b4a",
        "tmpab12cd34",
    ],
)
def test_ids_are_kept_apart(name):
    output = read_text(f"Look at {name}, please")

    assert output.essence == read_text("Look at 550e8400-e29b-41d4-a716-44665544ffff, please").essence
    assert output.ids == (name,)


@pytest.mark.parametrize(
    "text", ["file a1.txt", "main.c:10:25", "3 of 10", "v1.2.3", "feedface", "snake_case_name", "tmp", "template"]
)
def test_facts_are_no_ids_and_no_times(text):
    assert read_text(text).ids == ()
    assert read_text(text).essence != read_text(text.replace("1", "2").replace("e", "u").replace("tmp", "tmq")).essence


def test_points_in_time_in_arguments_are_volatile_and_days_are_not():
    def essence(since):
        return read_native([ToolCall("sales", {"since": since})]).essence

    assert essence("2026-01-01T10:11:12Z") == essence("2026-01-01T10:11:59Z")
    assert essence("2026-01-01T10:00:00Z") != essence("2026-01-01T11:00:00Z")
    assert essence("2026-01-01") != essence("2026-01-02")


@pytest.mark.parametrize(
    "text",
    [
        "I would call search now.",
        "Action: I will now look at the file.",
        '{"sentiment": "positive"}',
        "Use this:\n```json\n{}\n```",
        "<p>Hello</p>",
        '{"tool_name": "response", "tool_args": {"text": "Hello"}}',
        "<ask_followup_question>\n<question>Which?</question>\n</ask_followup_question>",
        "```bash\nls\n```",
    ],
)
def test_what_a_human_answers_is_no_call(text):
    assert not read_text(text).is_call


def test_code_at_the_end_is_what_is_run():
    one, other = (read_text(f"{thought}\n```bash\nls -la\n```\n") for thought in ("So.", "Once more."))

    assert one.exact != other.exact
    assert one.code.exact == other.code.exact
    assert read_text("```bash\nls\n```\nRun this and then\n```bash\ncd\n```").code is None


@pytest.mark.parametrize(
    "text", ["a" * 5_000, "a\n" * 5_000, '{"tool_name": "x", "tool_args": {"a": "' + "b" * 5_000 + '"}}']
)
def test_excerpts_are_short(text):
    excerpt = read_text(text).excerpt

    assert len(excerpt) == EXCERPT_MAX
    assert "\n" not in excerpt


@pytest.mark.parametrize(
    "arguments",
    [{"a": "\ud800"}, {"a": 10**30}, {1: 2}, {"a": float("nan")}, [[[]]], "text", None, 4, "\ud800", {"a": None}],
)
def test_any_arguments_can_be_read(arguments):
    assert read_native([ToolCall("x", arguments)]) == read_native([ToolCall("x", arguments)])


def test_arguments_nested_too_deeply_are_told_apart():
    deep, other = [], ["x"]
    for _ in range(600):
        deep, other = [deep], [other]

    assert read_native([ToolCall("x", deep)]).exact != read_native([ToolCall("x", other)]).exact


STEPS = [
    ("wait", {}),
    ("wait_for", {"s": 1}),
    ("browser_scroll_down", {}),
    ("next_page", {}),
    ("move", {"to": "north"}),
]
STEPS += [
    ("press_key", {"key": "Tab"}),
    ("computer", {"action": "key", "text": "Tab"}),
    ("bash", {"command": "sleep 5; ls"}),
]
ACTS = [
    ("move_file", {"to": "b"}),
    ("get_key", {}),
    ("turn_on", {}),
    ("rollback", {}),
    ("computer", {"action": "left_click"}),
]


@pytest.mark.parametrize(("name", "arguments"), STEPS)
def test_some_calls_are_steps(name, arguments):
    assert read_native([ToolCall(name, arguments)]).is_step


@pytest.mark.parametrize(("name", "arguments"), ACTS)
def test_others_are_not(name, arguments):
    assert not read_native([ToolCall(name, arguments)]).is_step


def test_calls_at_once_are_steps_only_together():
    assert not read_native([ToolCall("wait", {}), ToolCall("status", {})]).is_step


def test_ids_are_told_apart_from_what_is_said_unless_they_are_what_is_said() -> None:
    few = [read_text(f"Made req_{number}8f3k2j9x7q1 for you.") for number in (1, 2)]
    many = [read_text(" ".join(f"req_{number}8f3k2j9x7q{line}" for line in range(2_000))) for number in (1, 2)]

    assert few[0].essence == few[1].essence != few[0].exact
    assert [len(output.ids) for output in (*few, *many)] == [1, 1, 0, 0]
    assert many[0].essence != many[1].essence


def test_a_memo_is_bounded_by_what_its_values_take() -> None:
    memo: SizedMemo[str] = SizedMemo(100, len)
    for number, size in enumerate((40, 40, 40, 10, 200, 30)):
        memo.remember((0, number), "x" * size)

    assert list(memo) == [(0, 5)]
    assert size_of_gist(gist("a b c " * 9)) < size_of_gist(gist(" ".join(map(str, range(99)))))
    assert size_of_output(read_text("Hm")) < size_of_output(read_text("x" * 900)) < 2_000
