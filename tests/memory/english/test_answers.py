import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.llm.json_answer import AnswerMistake, read_object

SCHEMA = {
    "properties": {"reasoning": {"type": "string"}, "share": {"type": "number"}, "any": {}},
    "required": ["reasoning", "share", "any"],
}
GOOD = {"reasoning": "because", "share": 0.5, "any": [1, {"b": None}]}

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    "text",
    [
        "%s",
        "\ufeff  %s\n",
        "```json\n%s\n```",
        "```\n%s\n```\nDone.",
        "The set {a, b}: %s. {Not} this one.",
        '{"thought": {"deep": 1}} %s',
        "%s %s",
        '{"cut": "off\n%s',
    ],
)
def test_the_object_is_found_in_what_stands_around_it(text: str):
    assert read_object(text.replace("%s", json.dumps(GOOD)), SCHEMA) == GOOD


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "no JSON object"),
        ("[1, 2]", "no JSON object"),
        ('"because"', "no JSON object"),
        ('{"reasoning": "because", "share": 0.5, "any": [', "no JSON object"),
        ('{"reasoning": 1, "share": true}', r"missing or wrong: reasoning, share, any"),
        ('{"reasoning": "a", "share": 1, "any": 1} {"reasoning": "b", "share": 1, "any": 1}', "several JSON objects"),
        ('{"reasoning": "a", "share": 1e999, "any": 1}', "too large"),
        ('{"reasoning": "a", "share": Infinity, "any": 1}', "no JSON object"),
        ('{"a":' * 100_000, "too long"),
        ('{"a":' * 20_000, "nested too deeply"),
        ('{"reasoning": "a", "share": %s, "any": 1}' % ("1" * 5000), "no JSON object"),
    ],
    ids=range(11),
)
def test_what_is_no_answer_is_told(text: str, told: str):
    with pytest.raises(AnswerMistake, match=told):
        read_object(text, SCHEMA)


@given(values)
@example({"reasoning": "\0\ud800", "share": 1, "any": {"\0": "\udfff"}})
@example({"reasoning": "", "share": 1, "any": float("nan")})
def test_whatever_is_read_can_be_stored(value: Any):
    try:
        found = read_object(json.dumps(value), SCHEMA)
    except AnswerMistake:
        return

    stored = json.dumps(found, allow_nan=False, ensure_ascii=False).encode()
    assert rb"\u0000" not in stored


@given(st.text(st.sampled_from('{}[]":,\\ntrue0 ')))
def test_no_text_makes_it_fail_otherwise(text: str):
    try:
        found = read_object(text, {})
    except AnswerMistake:
        return
    assert isinstance(found, dict)
