import json
from functools import partial

import pytest

from proxy.formats.base import ToolCall
from proxy.loops import outputs
from proxy.loops.outputs import EXCERPT_MAX, Output, read_native
from proxy.loops.turns import Memo

read_text = partial(outputs.read_text, is_followed=True)
ARGUMENTS = {"query": "the tallest tower", "limit": 5}
GIVEN = json.dumps(ARGUMENTS)
CALL = {"name": "search", "arguments": ARGUMENTS}


def read_call(name: str, arguments: object) -> Output:
    return read_native([ToolCall(name, arguments)])


# One call in all the ways in which models and clients write it.
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
    "LiteLLM": "Tool Calls: " + json.dumps([{"id": "call_1", "function": CALL}], indent=2),
    "smolagents in JSON": "Calling tools:\n" + json.dumps([{"id": "call_9", "type": "function", "function": CALL}]),
    "a fence": f"```json\n{json.dumps({'tool_name': 'search', 'tool_args': ARGUMENTS}, indent=4)}\n```",
    "prose around": f"I look it up: {json.dumps({'tool_name': 'search', 'tool_args': ARGUMENTS})} Wait for it.",
    "thoughts in tags": f'<think>Hm {{"a": 1}}</think>{json.dumps({"tool_name": "search", "tool_args": ARGUMENTS})}',
    "tags": f"So:\n<tool_call>\n{json.dumps(CALL)}\n</tool_call>",
    "an unfinished tag": f"<tool_call>{json.dumps(CALL)}",
    "Mistral": f"[TOOL_CALLS] [{json.dumps(CALL)}]",
    "ReAct": f"Thought: so\nAction: search\nAction Input: {GIVEN}",
    "ReAct and more, made up": f"Thought: so\nAction: search\nAction Input: {GIVEN}\nObservation: it is 828 m",
    "ReAct in bold": f"**Thought:** so\n**Action:** search\n**Action Input:** {GIVEN}",
    "other order, space and case": '{ "tool_args" : {"limit" : 5.0, "query": " The tallest\\n tower "},\n'
    '"tool_name": "SEARCH"}',
}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in SPELLINGS.items()])
def test_a_call_is_the_same_however_it_is_written(text):
    output = read_text(text)

    assert output.exact == read_call("search", ARGUMENTS).exact
    assert not output.is_text


# Of each: what says the same, and what does not.
CALLS = {
    "JSON": (
        '{"tool_name": "run", "tool_args": {"n": 5}}',
        'Now: {"tool_args": {"n": 5}, "tool_name": "run"}',
        '{"tool_name": "run", "tool_args": {"n": 6}}',
    ),
    "JSON, another name": (
        '{"tool_name": "run", "tool_args": {}}',
        '{"tool_name": "Run", "tool_args": {}}',
        '{"tool_name": "go", "tool_args": {}}',
    ),
    "more arguments": ('{"tool": "run", "n": 5}', '{"n": 5, "tool": "run"}', '{"tool": "run", "n": 5, "m": 1}'),
    "unknown JSON": ('{"thought": "a", "n": 4}', '{"n": 4, "thought": "b"}', '{"n": 5, "thought": "a"}'),
    "malformed JSON": (
        '{"thoughts": ["x",], "tool_name": "run", "tool_args": {"code": "say "hi""}}',
        '{"thoughts": ["yy",], "tool_name": "run", "tool_args": {"code": "say "hi""}}',
        '{"thoughts": ["x",], "tool_name": "run", "tool_args": {"code": "say "ho""}}',
    ),
    "OpenHands": (
        "<function=bash>\n<parameter=c>ls</parameter>\n</function>",
        "So.\n<function=bash>\n<parameter=c>ls</parameter>\n</function>",
        "<function=bash>\n<parameter=c>cd</parameter>\n</function>",
    ),
    "Anthropic's tags": (
        '<invoke name="bash"><c>ls</c></invoke>',
        'Hm.\n<invoke name="bash"><c>ls</c></invoke>',
        '<invoke name="sh"><c>ls</c></invoke>',
    ),
    "Cline": (
        "<read_file>\n<path>a</path>\n</read_file>",
        "<thinking>So.</thinking>\nNow:\n<read_file>\n<path>a</path>\n</read_file>",
        "<read_file>\n<path>b</path>\n</read_file>",
    ),
    "smolagents": (
        "So.\nCalling tools:\n[{'id': 'call_1', 'function': {'name': 'f', 'arguments': 'a\\n\"'}}]",
        "Again.\nCalling tools:\n[{'id': 'call_22e1', 'function': {'name': 'f', 'arguments': 'a\\n\"'}}]",
        "So.\nCalling tools:\n[{'id': 'call_1', 'function': {'name': 'f', 'arguments': 'b\\n\"'}}]",
    ),
    "code at the end": ("So.\n```bash\nls -la\n```\n", "Once more.\n```bash\nls -la\n```\n", "So.\n```bash\nls\n```\n"),
}


@pytest.mark.parametrize(("one", "same", "other"), CALLS.values(), ids=CALLS)
def test_thoughts_around_a_call_do_not_matter_and_all_of_the_call_does(one, same, other):
    assert read_text(one).exact == read_text(same).exact
    assert read_text(one).essence != read_text(other).essence


@pytest.mark.parametrize("key", ["thought", "reasoning", "explanation", "request_id", "timestamp", "trace_id"])
def test_thoughts_and_what_is_made_up_in_arguments_do_not_matter_unless_they_are_all(key):
    assert read_call("get", {"url": "/a", key: "one"}).exact == read_call("get", {"url": "/a", key: "another"}).exact
    assert read_call("get", {key: "one"}).exact != read_call("get", {key: "another"}).exact


@pytest.mark.parametrize(
    ("text", "is_call"),
    [
        ('{"tool_name": "x", "tool_args": {}}', True),
        ("I would call search now.", False),
        ("Action: I will now look at the file.", False),
        ('{"sentiment": "positive"}', False),
        ('Write {"name": "x", "arguments": {}} and it is called.', False),
        ("Use this:\n```json\n{}\n```", False),
        ("<p>Hello</p>", False),
        ("```bash\nls\n```", False),
    ],
)
def test_a_result_follows_only_what_is_certainly_a_call(text, is_call):
    assert read_text(text).is_call is is_call


def test_code_counts_if_it_is_all_the_code_and_was_run():
    assert outputs.read_text("So.\n```bash\nls\n```", is_followed=False).is_text
    assert read_text("```bash\nls\n```\nRun this and then\n```bash\ncd\n```").is_text


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


def test_points_in_time_in_arguments_are_volatile_and_days_are_not():
    def essence(since):
        return read_call("sales", {"since": since}).essence

    assert essence("2026-01-01T10:11:12Z") == essence("2026-01-01T10:11:59Z")
    assert essence("2026-01-01T10:00:00Z") != essence("2026-01-01T11:00:00Z")
    assert essence("2026-01-01") != essence("2026-01-02")


UUID = "550e8400-e29b-41d4-a716-446655440000"


@pytest.mark.parametrize("name", ["0x7f001122aabb", UUID, "9fceb02d0ae598e95dc9", "call_9f8e7d6c5b4a", "tmpab12cd34"])
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


def test_a_text_that_is_mainly_ids_is_compared_with_them():
    few = [read_text(f"Made req_{number}8f3k2j9x7q1 for you.") for number in (1, 2)]
    many = [read_text(" ".join(f"req_{number}8f3k2j9x7q{line}" for line in range(2_000))) for number in (1, 2)]

    assert few[0].essence == few[1].essence != few[0].exact
    assert [len(output.ids) for output in (*few, *many)] == [1, 1, 0, 0]
    assert many[0].essence != many[1].essence


@pytest.mark.parametrize(
    "text", ["a" * 5_000, "a\n" * 5_000, '{"tool_name": "x", "tool_args": {"a": "' + "b" * 5_000 + '"}}']
)
def test_excerpts_are_short(text):
    excerpt = read_text(text).excerpt

    assert len(excerpt) == EXCERPT_MAX
    assert "\n" not in excerpt


DEEP, OTHER = [], ["x"]
for _ in range(600):
    DEEP, OTHER = [DEEP], [OTHER]


@pytest.mark.parametrize(
    "arguments",
    [{"a": "\ud800"}, {"a": 10**30}, {1: 2}, {"a": float("nan")}, "text", None, 4, "\ud800", {"a": None}, DEEP],
)
def test_any_arguments_can_be_read(arguments):
    assert read_call("x", arguments) == read_call("x", arguments)
    assert read_call("x", arguments).exact != read_call("x", OTHER).exact


@pytest.mark.parametrize(
    ("name", "arguments", "is_step"),
    [
        ("wait", {}, True),
        ("wait_for", {"s": 1}, True),
        ("browser_scroll_down", {}, True),
        ("next_page", {}, True),
        ("move", {"to": "north"}, True),
        ("press_key", {"key": "Tab"}, True),
        ("computer", {"action": "key", "text": "Tab"}, True),
        ("bash", {"command": "sleep 5; ls"}, True),
        ("move_file", {"to": "b"}, False),
        ("get_key", {}, False),
        ("turn_on", {}, False),
        ("rollback", {}, False),
        ("computer", {"action": "left_click"}, False),
    ],
)
def test_steps_are_told_from_acts_and_calls_at_once_are_steps_only_together(name, arguments, is_step):
    assert read_call(name, arguments).is_step is is_step
    assert not read_native([ToolCall(name, arguments), ToolCall("status", {})]).is_step


def test_the_memo_is_bounded_by_what_its_values_take(monkeypatch):
    monkeypatch.setattr("proxy.loops.turns.MEMO_MAX_BYTES", 100)
    memo = Memo()

    for number, size in enumerate((40, 40, 40, 10, 200, 30)):
        memo.get(number, lambda size=size: "x" * size, len)

    assert [memo.get(number, lambda: "read again", len) for number in (5, 0)] == ["x" * 30, "read again"]
