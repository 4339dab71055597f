"""Which of the texts that were found are given."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.domain.recall.retelling import Ended
from memory.domain.types import TripleIds
from memory.search.ranking import (
    ASKED_FOR,
    LINES_MAX,
    WEAK,
    Candidate,
    Results,
    asks_for_list,
    asks_only,
    choose_asked,
    choose_for_prompt,
    copy_key,
    drop_ended,
    least_likeness,
)
from memory.search.results import Found
from memory.semantic.domain.noise import Noise

NOISE = Noise(0.05, 0.08)
LEAST = least_likeness(NOISE, 100)


def candidate(key: int, cosine: float | None, *, text: str = "", share: float = 0.0, **more: object) -> Candidate:
    found = Found("episode", key, text or f"Text kiox-{key} is here.", 0.8, 1.0, "ann", "user", "user", "")
    follower = more.pop("next", None)
    return Candidate(found._replace(**more), cosine, share, next=follower)


def choose_unasked(found: Results, noise: Noise, query: str, now: float) -> list[Found]:
    return list(choose_for_prompt(found, noise, query, now).lines)


def results(*candidates: Candidate, texts: int = 100) -> Results:
    return Results(list(candidates), texts)


def ids(found: list[Found]) -> list[int]:
    return [each.id for each in found]


def test_nothing_is_added_to_a_prompt_unless_one_text_is_more_alike_than_by_chance() -> None:
    nearly = [candidate(key, LEAST - 0.01) for key in range(3)]

    assert choose_unasked(results(*nearly), NOISE, "?", 1.0) == []
    assert choose_asked(results(*nearly), NOISE, "?", 1.0, 5) != []


def test_beside_a_good_text_those_are_given_that_are_nearly_as_alike() -> None:
    found = choose_unasked(
        results(candidate(1, LEAST + 0.01), candidate(2, LEAST * WEAK + 0.01), candidate(3, LEAST * WEAK - 0.01)),
        NOISE, "?", 1.0,
    )  # fmt: skip

    assert ids(found) == [1, 2]


def test_the_more_texts_there_are_the_more_alike_one_has_to_be() -> None:
    likenesses = [least_likeness(NOISE, texts) for texts in (20, 100, 500, 10_000)]

    assert likenesses == sorted(set(likenesses))
    assert least_likeness(NOISE, 0) == likenesses[0]  # of smaller stores nothing is known


def test_what_the_user_said_next_comes_with_the_best_text() -> None:
    answer = candidate(8, None).found
    best = candidate(7, LEAST + 0.2, next=answer)
    others = [candidate(key, LEAST, next=candidate(key + 1, None).found) for key in range(20, 40, 2)]
    also_found = candidate(8, LEAST + 0.1)

    found = choose_unasked(results(*others, also_found, best), NOISE, "?", 1.0)

    assert ids(found)[:2] == [7, 8]
    assert len(set(ids(found))) == len(found) == LINES_MAX
    assert not any(key % 2 for key in ids(found)[2:])


def test_words_count_beside_the_vector_and_alone_where_there_is_none() -> None:
    by_words = candidate(1, LEAST - 0.05, share=0.5)
    without_vector = candidate(2, None, share=1.0)

    assert sorted(ids(choose_unasked(results(by_words, without_vector), NOISE, "?", 1.0))) == [1, 2]


def test_a_fact_is_given_for_itself_and_brings_no_text_along() -> None:
    fact = candidate(5, None, share=1.0, kind="fact", fact=TripleIds(1, 2, 3))

    assert ids(choose_unasked(results(fact, candidate(1, LEAST - 0.01)), NOISE, "?", 1.0)) == [5]


def test_a_disputed_slot_is_given_whole_or_not_at_all() -> None:
    one, other = (
        candidate(key, cosine, kind="memory", category="project", slot="target", is_disputed=True)
        for key, cosine in ((1, LEAST + 0.2), (2, LEAST + 0.1))
    )

    assert ids(choose_unasked(results(one, other), NOISE, "?", 1.0)) == [1, 2]
    assert choose_unasked(results(one), NOISE, "?", 1.0) == []


@pytest.mark.parametrize(
    ("one", "other", "is_copy"),
    [
        ("I like green tea.", "i really like GREEN TEA 🍵!", True),
        ("Remember that the vault is in Oslo.", "The vault is in Oslo.", True),
        ("Ask ravenloch for log 0, please.", "Ask ravenloch for log 4, please.", True),
        ("Heartbeat check at 2026-11-26T19:30:00Z.", "Heartbeat check at 2026-11-26T19:45:00Z.", True),
        ("The backup of db1 is on tyr.", "The backup of db2 is on tyr.", False),
        ("edge-1 never reboots.", "edge-1 reboots.", False),
        ("We moved billing to Postgres 16.", "We moved billing to Postgres 17.", False),
    ],
)
def test_near_copies_are_told_from_texts_about_other_names(one: str, other: str, *, is_copy: bool) -> None:
    assert (copy_key(one) == copy_key(other)) is is_copy


def test_of_near_copies_the_newest_is_given() -> None:
    older = candidate(1, LEAST + 0.2, text="I like green tea.", said_at=10.0)
    newer = candidate(2, LEAST + 0.1, text="I really like green tea!", said_at=20.0)

    assert ids(choose_unasked(results(older, newer), NOISE, "?", 1.0)) == [2]


def test_what_only_asks_orders_greets_or_thanks_is_not_given() -> None:
    texts = ["Shorter please.", "Where is the runbook", "Please restart gnommoweb tonight.", "Thank you so much!"]
    orders = [candidate(key, LEAST + 0.1, text=text) for key, text in enumerate(texts)]
    told = candidate(9, LEAST + 0.1, text="Kvasir is our mail relay. Please list its files.")

    found = choose_unasked(results(*orders, told), NOISE, "Is gnommoweb or kvasir a relay?", 1.0)

    assert [each.text for each in found] == ["Kvasir is our mail relay."]


def test_messages_of_change_come_beside_the_lines_the_newest_first() -> None:
    said = [
        candidate(1, 0.0, text="Kvasir runs on tyr.", said_at=1.0),
        candidate(2, 0.0, text="We shut down kvasir.", said_at=2.0),
        candidate(3, 0.0, text="I left Oslo.", said_at=3.0),
    ]

    assert ids(list(choose_for_prompt(results(*said), NOISE, "?", 1.0).changes)) == [3, 2]


@pytest.mark.parametrize(
    ("query", "kind"),
    [
        ("What do you know about me?", "me"),
        ("who am I", "me"),
        ("Tell me about myself.", "me"),
        ("What did we talk about yesterday?", "talks"),
        ("What do you know about Rust?", ""),
        ("What is my job?", ""),
    ],
)
def test_some_questions_are_answered_by_a_list(query: str, kind: str) -> None:
    assert asks_for_list(query) == kind


def test_a_list_has_the_memories_then_the_last_messages() -> None:
    found = results()
    found.profile = [candidate(1, None, text="I am a pilot.", kind="memory", category="identity").found]
    found.recent = [candidate(key, None, text=text).found for key, text in ((3, "I have a cat."), (2, "What now?"))]

    given = choose_for_prompt(found, NOISE, "What do you know about me?", 1.0)

    assert (given.is_list, [each.text for each in given.lines]) == (True, ["I am a pilot.", "I have a cat."])
    assert ids(choose_asked(found, NOISE, "What did we talk about?", 1.0, 5)) == [3, 2]


def test_repetitions_and_the_query_itself_take_no_room() -> None:
    said = candidate(1, LEAST + 0.1, text="We moved to Postgres 17.")
    again = candidate(2, LEAST + 0.2, text="we moved to Postgres 17")
    asked = candidate(3, LEAST + 0.3, text="Tell me the Postgres version!")

    assert ids(choose_unasked(results(said, again, asked), NOISE, "tell me the Postgres version", 1.0)) == [2]


def test_what_is_only_weakly_alike_is_marked_for_those_who_ask() -> None:
    found = choose_asked(results(candidate(1, LEAST + 0.1), candidate(2, LEAST * ASKED_FOR + 0.01)), NOISE, "?", 1.0, 5)

    assert [(each.id, each.is_weak) for each in found] == [(1, False), (2, True)]


def test_sentences_that_state_a_superseded_fact_are_dropped() -> None:
    ended = [Ended("heimdall", "flask_app", 10.0)]

    assert drop_ended("Heimdall is a Flask app. It runs well.", 5.0, ended) == "It runs well."
    assert drop_ended("One.\n\nTwo.", 5.0, ended) == "One.\n\nTwo."


def test_what_is_quoted_inline_stays_in_a_line_and_longer_quotations_do_not() -> None:
    inline = 'The page says "Heron".'
    page = f'The page says "{"buy now " * 20}".'
    quoted = (
        candidate(1, LEAST, text=inline, quoted=(14, 21)),
        candidate(2, LEAST, text=page, quoted=(14, len(page) - 1)),
    )

    assert [each.text for each in choose_unasked(results(*quoted), NOISE, "?", 1.0)] == ["The page says  .", inline]


def test_a_text_only_asks_if_each_of_its_sentences_does() -> None:
    assert asks_only("Hello! Which version? And where does it run??")
    assert not asks_only("We run 17. Is that new?")
    assert not asks_only("We run 17.")


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.floats(0, 1), st.booleans()), max_size=30),
    st.integers(0, 100_000),
)
def test_what_is_given_is_a_prefix_by_likeness(scores: list[tuple[float, float, bool]], texts: int) -> None:
    rows = [
        candidate(key, cosine if has_vector else None, share=share)
        for key, (cosine, share, has_vector) in enumerate(scores)
    ]
    least = least_likeness(NOISE, texts)

    found = choose_unasked(results(*rows, texts=texts), NOISE, "?", 1.0)

    assert len(found) <= LINES_MAX
    assert bool(found) == any(row.likeness >= least for row in rows)
    left_out = [row.likeness for row in rows if row.found.id not in ids(found)]
    lowest = min((row.likeness for row in rows if row.found.id in ids(found)), default=1.0)
    if len(found) < LINES_MAX:
        assert all(likeness < WEAK * least for likeness in left_out) or not found
    else:
        assert all(round(likeness, 2) <= round(lowest, 2) + 0.01 for likeness in left_out)
