"""What holds for the requests of every format, whatever they say."""

import copy
import re
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from proxy.domain.formats import FORMATS
from proxy.domain.formats.base import Edit, Prompt, WireFormat
from tests.proxy.domain.requests.conversations import CASES, Case, Payload, Turn, conversations, systems
from tests.proxy.domain.requests.edits import B, applied, read

each_path = pytest.mark.parametrize("path", FORMATS)
each_case = pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
searching = settings(suppress_health_check=[HealthCheck.too_slow])


def tail(index: int) -> str:
    return f"<tail {index}>"


def tails(prompt: Prompt, chosen: set[int]) -> dict[int, str]:
    return {index: tail(index) for index in sorted(chosen) if index < len(prompt.parts) and takes(prompt, index)}


def heads(prompt: Prompt, chosen: set[int]) -> dict[int, str]:
    return {index: f"<head {index}>" for index in tails(prompt, chosen) if prompt.parts[index].takes_head}


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
@given(systems, conversations, conversations, some, some, some, st.sampled_from(["", B]))
def test_what_is_put_into_a_request_stays_before_what_is_appended_to_it(
    case: Case,
    system: str,
    said: list[Turn],
    more: list[Turn],
    old: set[int],
    new: set[int],
    before_texts: set[int],
    top: str,
) -> None:
    first, second = case.build(system, said), case.build(system, said + more)
    before, after = read_or_skip(case, first), read_or_skip(case, second)
    kept = {index: block for index, block in tails(before, old).items() if before.parts[index] == after.parts[index]}
    added = {index: block for index, block in tails(after, new).items() if index >= len(before.parts)}
    at_heads = heads(after, before_texts)
    known = {index: block for index, block in heads(before, before_texts).items() if index in at_heads}
    at_heads = {index: block for index, block in at_heads.items() if index in known or index >= len(before.parts)}

    sent = case.seen(applied(case.wire, first, Edit(top, "MARIO", kept, heads=known)))
    then = case.seen(applied(case.wire, second, Edit(top, "MARIO", kept | added, heads=at_heads)))

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
@given(systems, conversations, some, some, st.sampled_from(["", B]))
def test_what_was_put_in_is_read_where_it_was_put(
    case: Case, system: str, said: list[Turn], chosen: set[int], before_texts: set[int], top: str
) -> None:
    payload = case.build(system, said)
    prompt = read_or_skip(case, payload)
    edit = Edit(top, "MARIO", tails(prompt, chosen), heads=heads(prompt, before_texts))

    again = case.wire.read(applied(case.wire, payload, edit))

    assert again is not None
    assert texts(again) == expected(case, prompt, edit)


@each_case
@pytest.mark.parametrize("is_list", [False, True])
def test_a_blank_line_is_between_a_text_and_its_block(case: Case, is_list: bool) -> None:
    payload = case.build("S", [Turn("user", ["u"], is_list)])
    last = len(read(case.wire, payload).parts) - 1

    seen = case.seen(applied(case.wire, payload, Edit(B, tails={last: "T"}, heads={last: "H"})))

    told = seen if isinstance(seen, str) else "".join(text for _, text in seen)
    assert f"{B}\n\nS" in told
    assert "H\n\nu\n\nT" in told


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
    edit = Edit(top, "MARIO", tails(prompt, stay), frozenset(out), heads(prompt, {one for one in stay if one % 2}))

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
        if head := edit.heads.get(index):
            part = part._replace(text=f"{head}\n\n{part.text}")
        if case.name == "messages" and part.role == "tool":  # the block is a text of the user's after the results
            found += [("tool", part.text), ("user", block)]
        else:
            found.append((part.role, f"{part.text}\n\n{block}" if part.text and block else part.text + block))
    if edit.top and prompt.has_system and prompt.parts[0].role == "system":
        found[0] = ("system", f"{edit.top}\n\n{found[0][1]}")
    elif edit.top:
        own = "" if prompt.has_system else "MARIO\n\n"
        found.insert(0, ("system", own + edit.top))
    return [(role, squeezed(text)) for role, text in found if text]


def squeezed(text: str) -> str:
    """Formats differ in how many line breaks stand between blocks, and in what white space of a text they leave."""
    return re.sub(r"\s*\n\s*", "\n", text).strip()


@each_case
@searching
@given(systems, conversations)
def test_an_empty_edit_changes_nothing(case: Case, system: str, said: list[Turn]) -> None:
    payload = case.build(system, said)
    read_or_skip(case, payload)

    assert repr(applied(case.wire, payload, Edit(modelfile_system="MARIO"))) == repr(payload)


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
        changed = copy.deepcopy(payload)
        prompt = wire.read(changed)
        assert changed == payload
        if prompt is not None:
            check(prompt)
            fill(wire, changed, prompt)
            assert [key for key in changed if key in payload] == list(payload)
            assert wire.read(changed) is not None


def fill(wire: WireFormat, payload: Payload, prompt: Prompt) -> None:
    """Puts a block wherever one can be put."""
    everywhere = set(range(len(prompt.parts)))
    at_ends, at_heads = tails(prompt, everywhere), heads(prompt, everywhere)

    wire.apply(payload, prompt, Edit(B, "MARIO", at_ends, heads=at_heads))

    blocks = ["</recollection>", *at_ends.values(), *at_heads.values()]
    assert [repr(payload).count(block) for block in blocks] == [1] * len(blocks)


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
    warmed = copy.deepcopy(payload)

    FORMATS[path].raise_temperature(warmed, by, seed=7)

    touched = {"options"} if path.startswith("/api/") else {"temperature", "seed"}
    assert without(warmed, touched) == without(payload, touched)


def without(payload: Payload, fields: set[str]) -> Payload:
    return {key: value for key, value in payload.items() if key not in fields}
