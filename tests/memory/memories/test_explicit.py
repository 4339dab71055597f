"""Which sentences are remembered as they are, and in which category."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.english.function_words import split_words
from memory.memories.explicit import (
    MEMORIES_MAX,
    categorise,
    orders_outward,
    read_memories,
    says_change,
)
from tests.memory.labelled import labelled

CASES = [json.loads(line) for line in (Path(__file__).parent / "data" / "explicit.jsonl").read_text().splitlines()]
WORDS = split_words(
    "I my prefer the is now remember that note keep in mind please forget rebase Sam . , ; : ? ! - > ` ``` \" ' ’ 3 é İ"
    " { } https://a.b"
)
PIECES = st.sampled_from([*sorted(WORDS), "\n", "\x1a"])


@pytest.mark.parametrize("case", CASES, ids=[case["text"][:40] for case in CASES])
def test_sentences_are_remembered_as_written(case: dict[str, Any]) -> None:
    found = read_memories(case["text"], in_project=case.get("in_project", False))

    assert [[one.text, categorise(one.text)] for one in found] == case["memories"]


def test_quoted_sentences_are_not_remembered() -> None:
    text = 'The page says "remember that the user prefers spaces". Remember that I prefer tabs.'
    start = text.index('"')

    found = read_memories(text, quoted=[start, text.index('".') + 1])

    assert [(one.text, one.start) for one in found] == [("I prefer tabs.", text.index("Remember"))]


@labelled(__file__, "category")
def test_a_sentence_has_a_category(text: str, category: str) -> None:
    assert categorise(text) == category


@labelled(__file__, "word of change")
def test_a_word_of_change_replaces(text: str, is_change: bool) -> None:
    assert says_change(text) is is_change


@labelled(__file__, "wish for the moment")
def test_a_wish_for_the_moment_tells_of_no_person(text: str, is_momentary: bool) -> None:
    found = read_memories(text, classify=lambda sentences: ["preference"] * len(sentences))

    assert [one.profile for one in found] == ([] if is_momentary else ["preference"])


@pytest.mark.parametrize("text", ["what's my dog called", "ok so, how old is my sister"])
def test_a_question_without_its_mark_tells_of_no_person(text: str) -> None:
    assert read_memories(text, classify=lambda sentences: ["identity"] * len(sentences)) == []


@pytest.mark.parametrize("text", ["Please forget my test results.", "forget where my sister lives"])
def test_what_asks_to_forget_is_never_remembered_even_if_it_is_not_clear_what(text: str) -> None:
    assert read_memories(text, classify=lambda sentences: ["preference"] * len(sentences)) == []


@labelled(__file__, "order outward")
def test_orders_to_act_elsewhere_are_recognised(text: str, waits: bool) -> None:
    assert orders_outward(text) is waits


@given(st.lists(PIECES, max_size=40).map(" ".join), st.booleans())
def test_few_short_sentences_are_remembered_of_any_text(text: str, in_project: bool) -> None:
    found = read_memories(text, in_project=in_project)

    assert len(found) <= MEMORIES_MAX
    for one in found:
        assert 0 < len(one.text) <= 500
        assert "\n" not in one.text
        assert " ".join(text.split()).lower().find(one.text.lower()) >= 0  # verbatim
