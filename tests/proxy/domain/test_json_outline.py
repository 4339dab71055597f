"""What is found out about JSON without parsing it."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.domain.steps import finish
from proxy.domain import json_outline
from proxy.domain.json_outline import COMMAS_MAX, CONTAINERS_MAX, ByteRange, find_end_of_items, is_heavy, outline
from tests.steps import count_steps

TEXT = st.text(st.sampled_from('a"\\[]{},:é\n'), max_size=12)
PLAIN = st.none() | st.booleans() | st.integers(-9, 9) | TEXT
VALUES = st.recursive(PLAIN, lambda some: st.lists(some, max_size=4) | st.dictionaries(TEXT, some, max_size=4))
OBJECTS = st.dictionaries(TEXT, VALUES, max_size=5)
WINDOWS = st.sampled_from([2, 7, 65_536])  # bytes


def parsed(text: bytes, members: dict[str, Any]) -> dict[str, Any]:
    """The members with what their spans hold."""
    return {
        key: orjson.loads(text[slice(*value)]) if isinstance(value, ByteRange) else value
        for key, value in members.items()
    }


@given(OBJECTS, WINDOWS)
@example({"a": ["\\"], "b": '"'}, 2)
def test_the_outline_has_every_member_whatever_its_strings_say(given_: dict[str, Any], window: int) -> None:
    text = orjson.dumps(given_)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_outline, "WINDOW", window)
        members = finish(outline(text))

    assert members is not None
    assert parsed(text, members) == given_
    assert {key for key, value in members.items() if isinstance(value, ByteRange)} == {
        key for key, value in given_.items() if isinstance(value, list | dict)
    }


def test_a_long_string_is_not_looked_into() -> None:
    said = 'say "no" \\ ' * 20_000
    text = orjson.dumps({"prompt": said, "stream": False, "model": "m"})

    members = finish(outline(text))

    assert members is not None
    assert isinstance(members["prompt"], ByteRange)
    assert parsed(text, members) == {"prompt": said, "stream": False, "model": "m"}


@pytest.mark.parametrize(
    "text",
    [b"", b"5", b"[1]", b'{"a":', b'{"a":"\\', b'{"a":[}', b"{}}", b"{} {}", b'{"a":1' + b',"b":1' * 200_000 + b"}"],
)
def test_what_is_no_object_or_too_much_has_no_outline(text: bytes) -> None:
    assert finish(outline(text)) is None


@given(st.lists(st.dictionaries(TEXT, VALUES, max_size=2), max_size=6), st.integers(1, 7), WINDOWS)
def test_the_first_items_end_where_the_parser_says(items: list[Any], most: int, window: int) -> None:
    text = b'{"messages": ' + orjson.dumps(items, option=orjson.OPT_INDENT_2) + b"}"
    span = ByteRange(13, len(text) - 1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_outline, "WINDOW", window)
        end = finish(find_end_of_items(text, span, items_max=most, bytes_max=len(text)))

    assert orjson.loads(text[span.start : end] + b"]") == items[:most]


def test_items_end_before_too_many_bytes_and_too_many_values() -> None:
    large, dense = {"content": "x" * 1_000}, {"content": [[]] * (CONTAINERS_MAX // 2)}
    for items, count in (([large] * 9, 4), ([dense] * 3, 1)):
        text = orjson.dumps(items)
        span = ByteRange(0, len(text))

        end = finish(
            find_end_of_items(text, span, items_max=5_000, bytes_max=4_500 if items[0] is large else len(text))
        )

        assert orjson.loads(text[:end] + b"]") == items[:count]


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

    assert finish(is_heavy(b"[" + text)) is expected


def items_of(text: bytes) -> object:
    return find_end_of_items(text, ByteRange(9, len(text)), items_max=5_000, bytes_max=len(text))


@pytest.mark.parametrize("walk", [is_heavy, outline, items_of])
@pytest.mark.parametrize("piece", [b"{},", b"[", b'"",', b'"\\"', b'{"a":"' + b"x" * 70_000 + b'"},', b"1,", b'"\\'])
def test_no_step_is_long(walk: Callable[[bytes], Any], piece: bytes) -> None:
    steps = walk(b'{"items":[' + piece * (1_000_000 // len(piece)))

    assert max(count_steps(next, steps, None) for _ in range(50)) < 20 * json_outline.MARKS_IN_STEP
