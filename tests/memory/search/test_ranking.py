"""Which of the texts that a scope holds are given."""

from collections.abc import Sequence
from itertools import count
from math import sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.english.telling import keep_statements
from memory.search.found import KINDS, ChanceLikeness, Found
from memory.search.index import Index, Query, Row
from memory.search.ranking import (
    ASKED_FOR,
    CHANGES_MAX,
    LINES_MAX,
    RECENT_MAX,
    WEAK,
    Asked,
    asks_for_list,
    asks_only,
    choose_asked,
    choose_for_prompt,
    copy_key,
    drop_ended,
    least_likeness,
    tells_change,
    weigh,
)
from memory.types import Ended, TripleIds
from tests.memory.labelled import labelled

NOISE = ChanceLikeness(0.05, 0.08)
TEXTS = 100
LEAST = least_likeness(NOISE, TEXTS)
CLEARLY = 0.02  # more than 8 bits change a cosine
WORDS = range(1, 11)  # lexemes of each query, a tenth of its weight each
QUERY = Query({1: ([1.0, 0.0], 1.0, 0.0)}, dict.fromkeys(WORDS, 1 / len(WORDS)))


def row(
    key: int, cosine: float | None, *, text: str = "", words: int = 0, talk: int = 0, at: float = 1.0, **more: object
) -> Row:
    """A text with this cosine to the query, None without a vector, and so many of its ten words."""
    found = Found("episode", key, text or f"Text kiox-{key} is here.", 0.8, at, "ann", "user", "user", "")
    found = found._replace(**more)
    vector = None if cosine is None else np.array([cosine, sqrt(1 - cosine**2)])
    own = [*WORDS[:words], *range(100, 110 - words)]  # all are of the same length
    is_episode = found.kind == "episode"
    return Row(
        found, talk or key, at, found.role != "assistant", False, is_episode and tells_change(found.text),
        is_episode and asks_only(found.text), own, (), int(vector is not None), vector,
    )  # fmt: skip


def memory(key: int, cosine: float | None, **more: object) -> Row:
    return row(key, cosine, **{"kind": "memory", "role": ""} | more)


def index_of(*rows: Row, texts: int = TEXTS) -> Index:
    """An index of so many texts in all: the others have nothing to do with the query."""
    others = [row(key, 0.0) for key in range(1_000, 1_000 + texts - len(rows))]
    return Index.of([*others, *rows], 2)


def ask(query: str = "?", at: float = 100.0, **more: object) -> Asked:
    return Asked(query, QUERY, NOISE, at)._replace(**more)


def choose_lines(index: Index, asked: Asked = ask()) -> list[Found]:  # noqa: B008 - immutable
    return list(choose_for_prompt(index, asked).lines)


def ids(found: Sequence[Found]) -> list[int]:
    return [each.id for each in found]


# --- whether anything is given ---


def test_nothing_is_added_to_a_prompt_unless_one_text_is_more_alike_than_by_chance() -> None:
    nearly = index_of(*(row(key, LEAST - CLEARLY) for key in range(3)))

    assert choose_lines(nearly) == []
    assert choose_asked(nearly, ask(), 5, KINDS["both"]) != []


def test_beside_a_good_text_those_are_given_that_are_nearly_as_alike() -> None:
    best = LEAST + 0.3
    index = index_of(
        row(1, best), row(2, best * WEAK + CLEARLY), row(3, best * WEAK - CLEARLY), row(4, LEAST * WEAK - CLEARLY)
    )

    assert ids(choose_lines(index)) == [1, 2, 3]
    assert [line.floor for line in choose_lines(index)] == pytest.approx([LEAST, LEAST * WEAK, LEAST * WEAK])
    assert ids(choose_lines(index, ask(need=9.0))) == [1, 2]


def test_what_is_in_no_such_prompts_is_left_out_where_a_query_is_more_like_such_a_prompt_than_like_it() -> None:
    line, other, profile = (memory(key, 0.7, unfit_for=wanted) for key, wanted in ((2, (1,)), (3, ()), (4, (1,))))
    profile = profile._replace(found=profile.found._replace(category="identity"))
    alike, unlike = (index_of(row(1, cosine, text="Which is it?"), line, other, profile) for cosine in (0.8, 0.2))

    left, given = choose_for_prompt(alike, ask()), choose_for_prompt(unlike, ask())

    assert (ids(left.lines), ids(left.profile), {found.id for found in left.unfit}) == ([3], [], {2, 4})
    assert (sorted(ids(given.lines)), ids(given.profile), given.unfit) == ([2, 3, 4], [4], [])


def test_a_query_that_needs_something_gets_what_is_less_alike_and_one_that_does_not_gets_nothing() -> None:
    nearly, alike = index_of(row(1, LEAST - 0.1)), index_of(row(1, LEAST + 0.1))

    assert [choose_lines(nearly, ask(need=need)) != [] for need in (None, -9.0, 9.0)] == [False, False, True]
    assert [choose_lines(alike, ask(need=need)) != [] for need in (None, -9.0, 9.0)] == [True, False, True]


def test_the_more_texts_there_are_the_more_alike_one_has_to_be() -> None:
    likenesses = [least_likeness(NOISE, texts) for texts in (20, 100, 500, 10_000)]

    assert likenesses == sorted(set(likenesses))
    assert least_likeness(NOISE, 0) == least_likeness(NOISE, 9)  # of smaller stores nothing is known
    alike = row(1, (least_likeness(NOISE, 20) + LEAST) / 2)
    assert ids(choose_lines(index_of(alike, texts=20))) == [1]
    assert choose_lines(index_of(alike)) == []


def test_words_count_beside_the_vector_and_alone_where_there_is_none() -> None:
    index = index_of(row(1, LEAST - 0.1, words=5), row(2, None, words=5))

    assert sorted(ids(choose_lines(index))) == [1, 2]


def test_what_was_said_here_or_after_the_prompt_came_is_not_given() -> None:
    here, later = row(1, 0.9, talk=7), row(2, 0.9, at=101.0)
    index = index_of(here, later, row(3, 0.8))

    assert ids(choose_lines(index, ask(conversation=7))) == [3]
    assert ids(choose_lines(index, ask(at=102.0))) == [2, 1, 3]


def test_a_memory_of_this_conversation_is_given() -> None:
    assert ids(choose_lines(index_of(memory(1, 0.9)), ask(conversation=2))) == [1]


def test_an_answer_of_the_model_is_given_to_those_who_ask_only() -> None:
    index = index_of(row(1, 0.9, role="assistant"))

    assert choose_lines(index) == []
    assert ids(choose_asked(index, ask(), 5, ["episode"])) == [1]


# --- which, and in which order ---


def test_words_decide_among_texts_that_are_as_alike() -> None:
    index = index_of(row(1, LEAST + 0.1), row(2, LEAST, words=4))  # a likeness of + 0.1 each

    assert ids(choose_lines(index)) == [2, 1]


def test_the_words_around_a_message_raise_it() -> None:
    alone = row(1, LEAST + 0.1)
    index = index_of(alone, row(3, LEAST + 0.1, talk=9), row(4, 0.0, words=3, talk=9))

    assert ids(choose_lines(index))[0] == 3


def test_of_equal_texts_the_more_confident_then_the_newer_come_first() -> None:
    index = index_of(
        row(1, LEAST + 0.1, at=5.0), row(2, LEAST + 0.1, at=9.0), row(3, LEAST + 0.1, at=1.0, confidence=0.9)
    )

    assert ids(choose_lines(index)) == [3, 2, 1]


@given(
    st.lists(st.tuples(st.floats(-1, 1), st.integers(0, 10), st.booleans()), max_size=30),
    st.integers(0, 200),
)
def test_what_is_given_is_alike_and_the_best(scores: list[tuple[float, int, bool]], others: int) -> None:
    rows = [row(key, cosine if has else None, words=words) for key, (cosine, words, has) in enumerate(scores)]
    index = index_of(*rows, texts=len(rows) + others)
    cosines, least = index.score(QUERY, with_quoted=False).cosine[others:], least_likeness(NOISE, len(index))
    likeness = [
        max(float(cosine), 0) + words / 40 if has else 0.8 * words / 10
        for cosine, (_, words, has) in zip(cosines, scores, strict=True)
    ]

    found = ids(choose_lines(index))

    assert len(found) <= LINES_MAX
    if abs(max(likeness, default=0.0) - least) > 1e-4:
        assert bool(found) == (max(likeness, default=0.0) > least)
    enough = WEAK * least
    assert all(likeness[key] > enough - 1e-4 for key in found)
    left = [key for key in range(len(rows)) if key not in found and likeness[key] > enough + 1e-4]
    assert not found or not left or len(found) == LINES_MAX
    # Nothing that is clearly less alike, and has no more words, comes before another.
    for at, key in enumerate(found):
        rest = [*found[at + 1 :], *left]
        assert not any(likeness[one] > likeness[key] + 0.1 and scores[one][1] >= scores[key][1] for one in rest)


def test_what_the_user_said_next_comes_with_the_best_text() -> None:
    others = [
        each for key in range(20, 40, 2) for each in (row(key, LEAST + 0.1, talk=key), row(key + 1, 0.0, talk=key))
    ]
    said = row(7, LEAST + 0.2, talk=5), row(8, 0.0, talk=5, role="assistant"), row(9, LEAST + 0.1, talk=5)

    found = choose_lines(index_of(*others, *said))

    assert ids(found)[:2] == [7, 9]
    assert len(set(ids(found))) == len(found) == LINES_MAX
    assert not any(key % 2 for key in ids(found)[2:])


def test_what_the_user_only_asked_next_does_not_come_along() -> None:
    index = index_of(row(7, LEAST + 0.2, talk=5), row(8, 0.0, talk=5, text="And where does it run?"))

    assert ids(choose_lines(index)) == [7]


def test_facts_come_first_to_those_who_ask_have_to_be_alike_and_leave_room() -> None:
    facts = [
        Found("fact", key, f"Fact {key}.", 0.9, 1.0, "ann", "", "user", "", fact=TripleIds(key, 2, 3), similarity=alike)
        for key, alike in ((5, LEAST), (6, LEAST + 0.2), (7, LEAST * ASKED_FOR - 0.01))
    ]
    index = index_of(row(1, 0.9))

    found = choose_asked(index, ask(), 5, KINDS["both"], facts)

    assert [(each.kind, each.id) for each in found] == [("fact", 6), ("fact", 5), ("episode", 1)]
    assert ids(choose_asked(index, ask(), 1, KINDS["both"], facts)) == [6]
    assert ids(choose_asked(index, ask(), 2, KINDS["both"], facts)) == [6, 1]


def test_only_texts_of_the_kinds_that_are_asked_for_are_found() -> None:
    index = index_of(row(1, 0.9), memory(2, 0.9))

    assert ids(choose_asked(index, ask(), 5, KINDS["episodes"])) == [1]
    assert ids(choose_asked(index, ask(), 5, KINDS["memories"])) == [2]
    assert ids(choose_asked(index, ask(), 5, KINDS["facts"])) == [2]
    assert sorted(ids(choose_asked(index, ask(), 5, KINDS["both"]))) == [1, 2]


def test_a_disputed_slot_is_given_whole_or_not_at_all() -> None:
    one, other, superseded_other = (
        memory(key, cosine, category="project", slot="target", is_disputed=is_disputed)
        for key, cosine, is_disputed in ((1, LEAST + 0.2, True), (2, 0.0, True), (3, 0.0, False))
    )

    assert ids(choose_lines(index_of(one, other))) == [1, 2]
    assert choose_lines(index_of(one, superseded_other)) == []


@labelled(__file__, "near copy")
def test_near_copies_are_told_from_texts_about_other_names(one: str, other: str, *, is_copy: bool) -> None:
    assert (copy_key(one) == copy_key(other)) is is_copy


def test_of_near_copies_the_newest_is_given() -> None:
    older = row(1, LEAST + 0.2, text="I like green tea.", at=10.0)
    newer = row(2, LEAST + 0.1, text="I really like green tea!", at=20.0)

    assert ids(choose_lines(index_of(older, newer))) == [2]


def test_a_message_that_a_memory_was_made_of_is_not_given_beside_it() -> None:
    index = index_of(row(1, LEAST + 0.2, text="I like green tea."), memory(2, LEAST + 0.1, text="I like green tea."))

    assert [(each.kind, each.id) for each in choose_lines(index)] == [("memory", 2)]


# --- what is left out of a text ---


def test_what_only_asks_orders_greets_or_thanks_is_not_given() -> None:
    texts = ["Shorter please.", "Where is the runbook", "Please restart gnommoweb tonight.", "Thank you so much!"]
    orders = [row(key, LEAST + 0.1, text=text) for key, text in enumerate(texts)]
    told = row(9, LEAST + 0.1, text="Kvasir is our mail relay. Please list its files.")

    found = choose_lines(index_of(*orders, told), ask("Is gnommoweb or kvasir a relay?"))

    assert [each.text for each in found] == ["Kvasir is our mail relay."]


def test_a_question_that_was_asked_often_does_not_hide_its_answer() -> None:
    asked = [row(key, 0.95, text=f"Where is the runbook? (once more, {key})") for key in range(60)]

    assert ids(choose_lines(index_of(*asked, row(99, LEAST + 0.1, text="The runbook is on heimdal.")))) == [99]


@labelled(__file__, "colon")
def test_what_a_colon_announces_is_told_with_it_or_neither_is(said: str, told: str) -> None:
    assert keep_statements(said) == told


def test_repetitions_and_the_query_itself_take_no_room() -> None:
    said = row(1, LEAST + 0.1, text="We moved to Postgres 17.")
    again = row(2, LEAST + 0.2, text="we moved to Postgres 17", at=2.0)
    asked = row(3, LEAST + 0.3, text="Tell me the Postgres version!")

    assert ids(choose_lines(index_of(said, again, asked), ask("tell me the Postgres version"))) == [2]


def test_a_message_of_which_a_memory_in_the_profile_was_made_is_no_line_as_well() -> None:
    diet = memory(1, 0.1, text="I am vegetarian.", category="identity")
    said = row(2, LEAST + 0.1, text="Remember that I am vegetarian.")
    more = row(3, LEAST + 0.1, text="I am vegetarian. The stove is new.")

    given = choose_for_prompt(index_of(diet, said, more), ask())

    assert (ids(given.profile), ids(given.lines)) == ([1], [3])


def test_what_repeats_the_query_takes_no_other_text_its_place() -> None:
    asked = row(1, 0.99, text="Tell me which version our billing database is.", words=10)
    index = index_of(asked, row(2, LEAST + 0.1))

    assert ids(choose_lines(index, ask("Tell me which version our billing database is.", need=9.0))) == [2]


def test_what_is_only_weakly_alike_is_marked_for_those_who_ask() -> None:
    index = index_of(row(1, LEAST + 0.1), row(2, LEAST * ASKED_FOR + CLEARLY), row(3, LEAST * ASKED_FOR - CLEARLY))

    found = choose_asked(index, ask(), 5, KINDS["both"])

    assert [(each.id, each.is_weak) for each in found] == [(1, False), (2, True)]


def test_sentences_that_state_a_superseded_fact_are_dropped() -> None:
    ended = [Ended("heimdall", "flask_app", 10.0)]
    index = index_of(row(1, LEAST + 0.1, text="Heimdall is a Flask app. It runs well."))

    assert drop_ended("Heimdall is a Flask app. It runs well.", 5.0, ended) == "It runs well."
    assert drop_ended("One.\n\nTwo.", 5.0, ended) == "One.\n\nTwo."
    assert [each.text for each in choose_lines(index, ask(find_ended=lambda text: ended))] == ["It runs well."]


def test_what_followed_comes_with_its_message_and_not_alone_where_that_is_superseded() -> None:
    said = [
        row(1, LEAST + 0.1, text="Heimdall is a Flask app.", talk=9),
        row(2, 0.0, text="Ann likes tea.", talk=9, at=2.0),
    ]
    index = index_of(*said)

    assert ids(choose_lines(index)) == [1, 2]
    assert ids(choose_lines(index, ask(find_ended=lambda text: [Ended("heimdall", "flask_app", 10.0)]))) == []


def test_what_is_quoted_inline_stays_in_a_line_and_longer_quotations_do_not() -> None:
    inline = 'The page says "Heron".'
    page = f'The page says "{"buy now " * 20}".'
    quoted = (
        row(1, LEAST + 0.1, text=inline, quoted=(14, 21)),
        row(2, LEAST + 0.1, text=page, quoted=(14, len(page) - 1)),
    )

    found = [each.text for each in choose_lines(index_of(*quoted))]

    assert sorted(found) == sorted(["The page says  .", inline])


def test_quotations_are_shown_to_those_who_ask() -> None:
    page = f'The page says "{"buy now " * 20}".'
    index = index_of(row(1, LEAST + 0.1, text=page, quoted=(14, len(page) - 1)))

    assert [(each.text, each.quoted) for each in choose_asked(index, ask(), 5, ["episode"])] == [
        (page, (14, len(page) - 1))
    ]


def test_a_text_only_asks_if_each_of_its_sentences_does() -> None:
    assert asks_only("Hello! Which version? And where does it run??")
    assert not asks_only("We run 17. Is that new?")
    assert not asks_only("We run 17.")


# --- beside the lines ---


def test_messages_of_change_come_beside_the_lines_the_newest_first() -> None:
    said = [
        row(1, 0.0, text="Kvasir runs on tyr.", at=1.0),
        row(2, 0.0, text="We shut down kvasir.", at=2.0),
        row(3, 0.0, text="I left Oslo.", at=3.0),
        row(4, 0.0, text="I left Rome.", at=4.0, role="assistant"),
    ]

    assert ids(choose_for_prompt(index_of(*said), ask()).changes) == [3, 2]


def test_of_many_messages_of_change_the_most_alike_come() -> None:
    said = [row(key, key / 100, text=f"I left Oslo {key}.", at=float(-key)) for key in range(CHANGES_MAX + 5)]

    assert ids(choose_for_prompt(index_of(*said), ask()).changes) == list(range(5, CHANGES_MAX + 5))


def test_a_profile_comes_whatever_is_asked_the_newest_first() -> None:
    profile = [
        memory(key, None, text=f"I am {key}.", category=category, at=at)
        for key, category, at in (
            (1, "identity", 1.0),
            (2, "preference", 3.0),
            (3, "project", 2.0),
            (4, "identity", 200.0),
        )
    ]

    assert ids(choose_for_prompt(index_of(*profile), ask()).profile) == [2, 1]


@labelled(__file__, "change")
def test_a_message_that_gives_something_up_tells_a_change(said: str, *, tells: bool) -> None:
    assert tells_change(said) is tells


@labelled(__file__, "list")
def test_some_questions_are_answered_by_a_list(query: str, kind: str) -> None:
    assert asks_for_list(query) == kind


def test_a_list_has_the_memories_then_the_last_messages() -> None:
    index = index_of(
        memory(1, None, text="I am a pilot.", category="identity"),
        memory(4, None, text="Rome has the billing.", category="other"),
        row(2, None, text="What now?", at=2.0), row(3, None, text="I have a cat.", at=3.0),
        row(5, None, text="So you do.", role="assistant", at=4.0),
        texts=5,
    )  # fmt: skip

    given = choose_for_prompt(index, ask("What do you know about me?"))

    assert (given.is_list, [each.text for each in given.lines]) == (True, ["I am a pilot.", "I have a cat."])
    assert ids(choose_asked(index, ask("What did we talk about?"), 5, KINDS["both"])) == [3]


def test_a_list_is_of_the_last_messages_only() -> None:
    numbers = count(1)
    said = [row(next(numbers), None, at=float(at)) for at in range(RECENT_MAX + 10)]

    given = choose_for_prompt(index_of(*said, texts=len(said)), ask("What did we talk about?"))

    assert ids(given.lines) == list(range(RECENT_MAX + 10, 10, -1))


# --- the weight of words ---


@given(st.sets(st.sampled_from(["postgr", "heron", "kiox", "time"])), st.dictionaries(st.text(), st.floats(0.1, 9)))
def test_the_shares_of_all_lexemes_are_one(lexemes: set[str], rarity: dict[str, float]) -> None:
    shares = weigh(lexemes, rarity)

    assert shares.keys() == lexemes
    assert sum(shares.values()) == pytest.approx(1.0 if lexemes else 0.0)


def test_what_is_no_word_of_the_language_weighs_the_most() -> None:
    shares = weigh(["kiox", "time"], {"time": 3.0})

    assert shares["kiox"] > shares["time"] > 0
