"""What holds for the requests of every format, whatever they say."""

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from proxy.formats import FORMATS
from proxy.formats.base import Edit, Prompt, WireFormat
from proxy.formats.json_text import parse_body, splice
from tests.proxy.formats.requests.conversations import CASES, Case, Payload, Turn, conversations, systems
from tests.proxy.formats.requests.edits import B, applied, read, warmed

each_path = pytest.mark.parametrize("path", FORMATS)
each_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
searching = settings(suppress_health_check=[HealthCheck.too_slow])


def tail(index: int) -> str:
    return f"<tail {index}>"


def tails(prompt: Prompt, chosen: set[int]) -> dict[int, str]:
    return {index: tail(index) for index in sorted(chosen) if index < len(prompt.parts) and takes(prompt, index)}


def takes(prompt: Prompt, index: int) -> bool:
    return prompt.parts[index].takes_block


def read_or_skip(case: Case, payload: Payload) -> Prompt:
    prompt = case.wire.read(payload)
    assume(prompt is not None)
    assert prompt is not None
    return prompt


some = st.sets(st.integers(0, 30))


@each_case
@searching
@given(systems, conversations, conversations, some, some, st.sampled_from(["", B]))
def test_what_is_put_into_a_request_stays_before_what_is_appended_to_it(
    case: Case, system: str, said: list[Turn], more: list[Turn], old: set[int], new: set[int], top: str
) -> None:
    first, second = case.build(system, said), case.build(system, said + more)
    before, after = read_or_skip(case, first), read_or_skip(case, second)
    kept = {index: block for index, block in tails(before, old).items() if before.parts[index] == after.parts[index]}
    added = {index: block for index, block in tails(after, new).items() if index >= len(before.parts)}
    top = top if before.takes_top and after.takes_top else ""

    sent = case.seen(applied(case.wire, first, Edit(top, kept)))
    then = case.seen(applied(case.wire, second, Edit(top, kept | added)))

    assert then[: len(sent)] == sent


@each_case
@searching
@given(systems, conversations)
def test_a_part_that_takes_blocks_stays_when_the_conversation_goes_on(
    case: Case, system: str, said: list[Turn]
) -> None:
    """Else the property above would say nothing of the tails at the end of a request."""
    more = [Turn("assistant", ["a"], False), Turn("user", ["u"], False)]
    before = read_or_skip(case, case.build(system, said))
    after = read_or_skip(case, case.build(system, said + more))

    assert list(after.parts[: len(before.parts)]) == list(before.parts)
    assert takes(after, len(after.parts) - 1)


@each_case
@searching
@given(systems, conversations, some, st.sampled_from(["", B]))
def test_what_was_put_in_is_read_where_it_was_put(
    case: Case, system: str, said: list[Turn], chosen: set[int], top: str
) -> None:
    payload = case.build(system, said)
    prompt = read_or_skip(case, payload)
    edit = Edit(top if prompt.takes_top else "", tails(prompt, chosen))

    again = case.wire.read(applied(case.wire, payload, edit))

    assert again is not None
    assert texts(again) == expected(case, prompt, edit)


@each_case
@pytest.mark.parametrize("is_list", [False, True])
def test_a_blank_line_is_between_a_text_and_its_block(case: Case, is_list: bool) -> None:
    payload = case.build("S", [Turn("user", ["u"], is_list)])
    last = len(read(case.wire, payload).parts) - 1

    seen = case.seen(applied(case.wire, payload, Edit(B, tails={last: "T"})))

    told = seen if isinstance(seen, str) else "".join(text for _, text in seen)
    assert f"{B}\n\nS" in told
    assert "u\n\nT" in told


@each_case
@searching
@given(systems, conversations, some, some, st.sampled_from(["", B]))
def test_what_is_taken_out_is_gone_and_nothing_else(
    case: Case, system: str, said: list[Turn], chosen: set[int], out: set[int], top: str
) -> None:
    payload = case.build(system, said)
    prompt = read_or_skip(case, payload)
    out &= {part.place for part in prompt.parts if part.role != "system"}
    assume({part.place for part in prompt.parts if part.role != "system"} - out)
    stay = {index for index in chosen if index < len(prompt.parts) and prompt.parts[index].place not in out}
    edit = Edit(top if prompt.takes_top else "", tails(prompt, stay), frozenset(out))

    again = case.wire.read(applied(case.wire, payload, edit))

    assert (texts(again) if again is not None else []) == expected(case, prompt, edit)


def texts(prompt: Prompt) -> list[tuple[str, str]]:
    return [(part.role, squeezed(part.text)) for part in prompt.parts if part.text]


def expected(case: Case, prompt: Prompt, edit: Edit) -> list[tuple[str, str]]:
    """The roles and texts that are there after an edit, parts without text left out."""
    found: list[tuple[str, str]] = []
    for index, part in enumerate(prompt.parts):
        if part.place in edit.without:
            continue
        block = edit.tails.get(index, "")
        if case.name == "messages" and part.role == "tool":  # the block is a text of the user's after the results
            found += [("tool", part.text), ("user", block)]
        else:
            found.append((part.role, f"{part.text}\n\n{block}" if part.text and block else part.text + block))
    if edit.top:
        found[0] = (found[0][0], f"{edit.top}\n\n{found[0][1]}")
    return [(role, squeezed(text)) for role, text in found if text]


def squeezed(text: str) -> str:
    """Formats differ in how many line breaks stand between blocks, and in what white space of a text they leave."""
    return re.sub(r"\s*\n\s*", "\n", text).strip()


BLOCK = re.compile(
    rb',?\{"type":"(?:input_)?text","text":"(?:\\n\\n)?(?:<tail \d+>|<top>)(?:\\n\\n)?"\},?'
    rb"|(?:\\n\\n)?<tail \d+>|<top>\\n\\n"
)
odd = st.sampled_from(["", "\ud83e", "\U0001f600", '"', "\\", "\\u0041", "é\u2028"])
manners = st.fixed_dictionaries({"ensure_ascii": st.booleans(), "indent": st.sampled_from([None, 0, 2])})


@each_case
@searching
@given(systems, conversations, some, odd, manners, st.sampled_from([b"", b"1e400", b"-0.10", b"9" * 30]))
def test_without_its_blocks_a_body_is_what_the_client_wrote(
    case: Case, system: str, said: list[Turn], chosen: set[int], mark: str, manner: dict[str, Any], number: bytes
) -> None:
    said = [turn._replace(texts=[f"{text}{mark}x" for text in turn.texts]) for turn in said]
    written = json.dumps({"x": mark, **case.build(system, said), "n": "N"}, **manner)
    body = written.encode("utf-8", "surrogatepass").replace(b'"N"', number or b'"N"')
    payload = parse_body(body)
    assert payload is not None
    prompt = read_or_skip(case, payload)
    edit = Edit("<top>" if prompt.takes_top else "", tails(prompt, chosen))

    sent = splice(body, case.wire.write_edit(payload, prompt, edit))

    assert (sent != body) == bool(edit)
    assert BLOCK.sub(b"", sent) == body
    assert len(BLOCK.findall(sent)) == len(edit.tails) + bool(edit.top)
    assert parse_body(sent) is not None


@each_case
@searching
@given(systems, conversations)
def test_an_empty_edit_changes_nothing(case: Case, system: str, said: list[Turn]) -> None:
    payload = case.build(system, said)
    read_or_skip(case, payload)

    assert repr(applied(case.wire, payload, Edit())) == repr(payload)


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=5)),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=4,
)


def mostly(usual: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(usual, usual, usual, json_values)


def objects(needed: dict[str, Any], **others: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """A list of objects with the fields that are needed and perhaps the others, as they should be or not."""
    needed, others = ({name: mostly(one) for name, one in fields.items()} for fields in (needed, others))
    return st.lists(mostly(st.fixed_dictionaries(needed, optional=others)), min_size=1, max_size=3)


said = st.sampled_from(["", "x", "y\n"])
types = st.sampled_from(["text", "input_text", "output_text", "tool_result", "tool_use", "image"])
roles = st.sampled_from(["system", "developer", "user", "assistant", "tool"])
kinds = st.sampled_from(["message", "function_call", "function_call_output", "reasoning"])
contents = st.one_of(said, objects({"type": types, "text": said}, content=said))
calls = objects({"function": st.fixed_dictionaries({}, optional={"name": said, "arguments": said})})
spoken = objects({"role": roles, "content": contents}, type=kinds, output=contents, tool_calls=calls)
prompts = st.one_of(said, st.just("### System:\nS\n\n### User:\nu\n\n"), st.just("### User:\nu\n\n"))
switches = st.sampled_from([None, False, True, ""])
usual = {"messages": spoken, "input": st.one_of(said, spoken), "prompt": prompts}
more = {"system": contents, "instructions": said, "raw": switches, "suffix": switches, "template": switches}
sampling = {"options": st.just({}), "temperature": st.floats(0, 3), "stream": switches, "model": said, "x": json_values}
payloads = st.fixed_dictionaries(
    {name: mostly(value) for name, value in usual.items()},
    optional={name: mostly(value) for name, value in (more | sampling).items()},
)


@searching
@given(payloads)
def test_any_object_is_left_alone_or_gets_each_block_once(payload: Payload) -> None:
    for wire in FORMATS.values():
        prompt = wire.read(copy.deepcopy(payload))
        if prompt is not None:
            check(prompt)
            changed = fill(wire, payload, prompt)
            assert list(changed) == list(payload)
            assert wire.read(changed) is not None


def fill(wire: WireFormat, payload: Payload, prompt: Prompt) -> Payload:
    """Puts a block wherever one can be put."""
    at_ends, top = tails(prompt, set(range(len(prompt.parts)))), B if prompt.takes_top else ""

    changed = applied(wire, payload, Edit(top, at_ends))

    blocks = [*at_ends.values(), *(["</recollection>"] if top else [])]
    assert [repr(changed).count(block) for block in blocks] == [1] * len(blocks)
    return changed


def check(prompt: Prompt) -> None:
    """Places ascend, and only the last part of one, said by a user or a tool, takes a block."""
    places = [part.place for part in prompt.parts]
    assert places == sorted(places)
    for index, part in enumerate(prompt.parts):
        if part.takes_block:
            assert part.role in ("user", "tool")
            assert part.place not in places[index + 1 :]


@each_path
@searching
@given(st.dictionaries(st.sampled_from(["options", "temperature", "seed", "x"]), json_values), st.floats(0, 2))
def test_warming_any_object_touches_nothing_but_the_sampling(path: str, payload: Payload, by: float) -> None:
    touched = {"options"} if path.startswith("/api/") else {"temperature", "seed"}
    assert without(warmed(FORMATS[path], payload, by), touched) == without(payload, touched)


def without(payload: Payload, fields: set[str]) -> Payload:
    return {key: value for key, value in payload.items() if key not in fields}
