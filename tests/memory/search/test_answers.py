"""What is told of a search."""

import json

from hypothesis import given
from hypothesis import strategies as st

from memory.search.found import ANSWER_TOKENS, Found, answer_search

TEXTS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=4000)


def found(text: str, *, kind: str = "episode", said_at: float = 1.8e9, **more: object) -> Found:
    base = Found("episode", 7, text, 1.0, said_at, "dobby", "user", "user", "", score=0.9)
    return base._replace(kind=kind, **more)


@given(st.lists(TEXTS, max_size=20), TEXTS)
def test_an_answer_keeps_its_budget_and_the_order(texts: list[str], query: str) -> None:
    answer = answer_search(query, [found(text, id=at) for at, text in enumerate(texts)])

    assert len(json.dumps(answer, ensure_ascii=False)) <= ANSWER_TOKENS * 4
    assert answer["count"] == len(answer["items"])
    assert [item["id"] for item in answer["items"]] == list(range(answer["count"]))


def test_of_a_long_text_what_the_query_asks_for_is_told() -> None:
    text = f"{'The weather was fine again. ' * 100}We moved billing to Postgres 17. {'It rained a little. ' * 100}"

    (item,) = answer_search("which Postgres has billing?", [found(text)])["items"]

    assert "Postgres 17" in item["text"]
    assert len(item["text"]) <= 400


def test_whose_words_they_are_and_how_sure_is_told() -> None:
    note = found("x is y", kind="memory", role="", channel="quoted", is_disputed=True, is_weak=True, said_at=0.0)

    (item,) = answer_search("x", [note])["items"]

    assert (item["kind"], item["said_by"], item["disputed"], item["weak"]) == ("memory", "quoted", True, True)
    assert item["timestamp"] is None
