"""JSON as Ollama's parser reads it, changed in its own bytes."""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxy.formats.json_text import (
    COMMAS_MAX,
    CONTAINERS_MAX,
    DEPTH,
    Change,
    ListChange,
    MembersChange,
    Path,
    TextChange,
    find_offsets,
    find_spans,
    is_heavy,
    parse_body,
    splice,
)

TEXT = st.text(st.sampled_from('ab"\\/\n{}[],: é€\U0001f600\xa0'), max_size=6)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)
MANNERS = st.fixed_dictionaries({"ensure_ascii": st.booleans(), "indent": st.sampled_from([None, 0, 3])})


def list_values(value: Any, path: Path = ()) -> list[tuple[Path, Any]]:
    """All values in the value, each with its path."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(path, value), *(found for step, inner in steps for found in list_values(inner, (*path, step)))]


@given(VALUES, MANNERS, st.data())
@example([[[[{"a": [1]}] * 2]]], {}, None)
def test_a_value_is_found_where_it_is(value: Any, manner: dict[str, Any], data: Any) -> None:
    text = json.dumps(value, **manner).encode()
    found = list_values(value)
    chosen = found if data is None else data.draw(st.lists(st.sampled_from(found), min_size=1, max_size=4))

    spans = find_spans(text, [path for path, _ in chosen])

    assert {path: json.loads(text[slice(*spans[path])]) for path, _ in chosen} == dict(chosen)


@pytest.mark.parametrize("depth", [DEPTH - 1, DEPTH + 1, 9 * DEPTH])
def test_values_of_any_depth_are_passed_over(depth: int) -> None:
    deep = b'{"a":["]"' * depth + b"]}" * depth

    body = b'{"deep":%b,"said":"x"}' % deep.replace(b'"]"', b'"]",', depth - 1)

    assert splice(body, [TextChange(("said",), "y")]) == body.replace(b'"x"', b'"xy"')


BODY = b'{ "a" : "x\\u00e9\\ud83d\\ude00 y\xc3\xa9 z" , "b":[1, {"c":2} ,3 ], "d":{}, "e":[], "n":1e400, "a2":"" }'
CHANGES: dict[str, tuple[Change, bytes, bytes]] = {
    "the end of a string": (TextChange(("a",), '"'), b' z"', b' z\\""'),
    "an empty string": (TextChange(("a2",), "T"), b'"a2":""', b'"a2":"T"'),
    "the beginning of a string": (TextChange(("a",), "T", 0), b'"x', b'"Tx'),
    "after an escaped character": (TextChange(("a",), "T", 2), b"\\u00e9", b"\\u00e9T"),
    "after an escaped pair": (TextChange(("a",), "T", 3), b"\\ude00", b"\\ude00T"),
    "after a character beyond ASCII": (TextChange(("a",), "T", 6), b"y\xc3\xa9", b"y\xc3\xa9T"),
    "a part of a string": (TextChange(("a",), "", 1, 4), b"\\u00e9\\ud83d\\ude00 ", b""),
    "the end of a list": (ListChange(("b",), 4), b",3 ]", b",3 ,4]"),
    "the beginning of a list": (ListChange(("b",), 4, is_first=True), b"[1,", b"[4,1,"),
    "an empty list": (ListChange(("e",), {"t": 1}), b'"e":[]', b'"e":[{"t":1}]'),
    "the first items": (ListChange(("b",), without={0, 1}), b'[1, {"c":2} ,3 ]', b"[3 ]"),
    "an item between": (ListChange(("b",), without={1}), b' {"c":2} ,', b" "),
    "the last items": (ListChange(("b",), without={1, 2}), b', {"c":2} ,3 ]', b" ]"),
    "all items": (ListChange(("b",), without={0, 1, 2}), b'[1, {"c":2} ,3 ]', b"[ ]"),
    "a member": (MembersChange((), {"n": 2}), b"1e400", b"2"),
    "new members": (MembersChange((), {"x": 1, "y": 2}), b'{ "a"', b'{"x":1,"y":2, "a"'),
    "members of an empty object": (MembersChange(("d",), {"x": 1, "y": 2}), b"{},", b'{"x":1,"y":2},'),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_leaves_all_other_bytes_as_they_were(name: str) -> None:
    change, old, new = CHANGES[name]
    assert BODY.count(old) == 1

    changed = splice(BODY, [change])

    assert b"".join(changed.split()) == b"".join(BODY.replace(old, new).split())
    assert json.loads(changed)


@given(
    st.lists(st.sampled_from(["a" * 700, "é" * 300, "\\U0001f600 ", "\\n ", " ", '\\\\" ']), max_size=12),
    st.booleans(),
    st.data(),
)
def test_a_character_is_found_in_a_long_string(pieces: list[str], is_ascii: bool, data: Any) -> None:
    text = "".join(pieces)
    numbers = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=4)))
    raw = json.dumps(text, ensure_ascii=is_ascii).encode()[1:-1]

    offsets = find_offsets(raw, numbers)

    assert [json.loads(b'"%b"' % raw[:offset]) for offset in offsets] == [text[:number] for number in numbers]


def test_of_members_with_one_name_the_last_is_changed_as_it_is_read() -> None:
    body = b'{"options":{"seed":1},"said":"x","options":{},"said":"y"}'

    changed = splice(body, [TextChange(("said",), "z"), MembersChange(("options",), {"seed": 2})])

    assert changed == b'{"options":{"seed":1},"said":"x","options":{"seed":2},"said":"yz"}'


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b'{"a":"cut \\ud83e"}', "cut \ufffd"),
        (b'{"a":"\\udc9d \\ud83d\\ude00 \\\\ud83e"}', "\ufffd \U0001f600 \\ud83e"),
        (b'{"a":"caf\xe9","n":1e400}', "caf\ufffd"),
        (b'{"a":"x","n":123456789012345678901234567890}', "x"),
    ],
)
def test_what_ollama_reads_is_read(body: bytes, said: str) -> None:
    payload = parse_body(body)

    assert payload is not None
    assert payload["a"] == said


@pytest.mark.parametrize("body", [b"", b"[]", b'"x"', b"{", b'{"a":"raw\nline"}', b"{'a':1}", b"[" * 100_000])
def test_what_ollama_refuses_too_is_nothing(body: bytes) -> None:
    assert parse_body(body) is None


HEAVY: dict[str, tuple[bytes, bool]] = {
    "objects": (b"{}," * (CONTAINERS_MAX + 1), True),
    "few objects": (b"{}," * (CONTAINERS_MAX - 1), False),
    "numbers": (b"1," * (COMMAS_MAX + 1), True),
    "brackets in a string": (b'"' + b"[{," * 200_000 + b'"', False),
    "brackets in strings": (b'"[{,\\"[{,": ' * 50_000, False),
    "backslashes in a string": (b'"' + b'\\\\[\\"' * 100_000 + b'"', False),
    "strings, then objects": (b'"[[[[", ' * 20_000 + b"{}" * (CONTAINERS_MAX + 1), True),
    "a string without end": (b'"' + b"[" * 200_000, False),
}


@pytest.mark.parametrize("name", HEAVY)
def test_heavy_is_what_has_much_outside_of_strings(name: str) -> None:
    text, expected = HEAVY[name]

    assert is_heavy(b"[" + text) is expected
