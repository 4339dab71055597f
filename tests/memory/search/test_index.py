"""The texts that a scope can be given, without a database."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.search.found import Found
from memory.search.index import BLOCK, Index, Postings, Query, Row

NUMBERS = st.integers(0, 2**32 - 1)
DIMENSIONS = 8
ROUNDING = 0.01  # of a cosine, in 8 bits
NOWHERE = Query({}, {})
KEYS = st.tuples(st.sampled_from(["episode", "memory"]), st.integers(1, 30))
LEXEMES = st.lists(st.integers(0, 2**32 - 1) | st.integers(1, 6), max_size=6, unique=True)


def row(key: int, kind: str = "episode", own: Sequence[int] = (), quoted: Sequence[int] = (), **more: object) -> Row:
    text = Found(kind, key, f"Text {key}.", 0.8, float(key), "ann", "user", "user", "")
    return Row(text, 0, float(key), True, False, False, False, own, quoted)._replace(**more)


@st.composite
def rows(draw: st.DrawFn) -> list[Row]:
    made = []
    for kind, key in draw(st.lists(KEYS, max_size=30, unique=True)):
        space = draw(st.integers(0, 2))
        vector = np.random.default_rng(draw(NUMBERS)).standard_normal(DIMENSIONS).astype(">f2") if space else None
        talk, is_unasked = draw(st.integers(0, 3) | st.just(2**64 - 1)), draw(st.booleans())
        more = {"space": space, "vector": vector, "conversation": talk, "is_unasked": is_unasked}
        made.append(row(key, kind, draw(LEXEMES), draw(LEXEMES), **more))
    return made


def query(lexemes: Mapping[int, float] | None = None, **spaces: tuple[Sequence[float], float, float]) -> Query:
    return Query({int(name[1:]): told for name, told in spaces.items()}, lexemes or {})


def assert_same(one: object, other: object) -> None:
    for field in fields(one):
        left, right = getattr(one, field.name), getattr(other, field.name)
        if isinstance(left, Postings):
            assert_same(left, right)
        elif isinstance(left, np.ndarray):
            assert left.dtype == right.dtype, field.name
            np.testing.assert_array_equal(left, right, field.name)
        else:
            assert left == right


@given(NUMBERS, st.integers(0, 2 * BLOCK + 1), st.sampled_from([1, 8, 384]), st.floats(1e-3, 1e3))
def test_cosines_of_8_bits_are_nearly_exact(seed: int, count: int, dimensions: int, size: float) -> None:
    random = np.random.default_rng(seed)
    vectors = size * random.standard_normal((count, dimensions))
    index = Index.of([row(key, space=1, vector=vector) for key, vector in enumerate(vectors)], dimensions)
    asked = random.standard_normal(dimensions)
    asked /= np.linalg.norm(asked)

    cosines = index.score(query(_1=(asked.tolist(), 1.0, 0.0)), with_quoted=False).cosine

    exact = vectors @ asked / np.linalg.norm(vectors, axis=1)
    np.testing.assert_allclose(cosines, exact, atol=ROUNDING)


@given(rows(), st.sampled_from(["episode", "memory"]), st.sets(st.integers(1, 40)), st.data())
def test_rows_that_are_replaced_are_as_if_built_anew(held: list[Row], kind: str, gone: set[int], data) -> None:
    by = [each for each in data.draw(rows()) if each.found.kind == kind and each.found.id in gone]
    before = Index.of(held, DIMENSIONS)

    after = before.replace(kind, sorted(gone), by)

    kept = [each for each in held if each.found.kind != kind or each.found.id not in gone]
    assert_same(after, Index.of([*kept, *by], DIMENSIONS))
    assert_same(before, Index.of(held, DIMENSIONS))
    if kept == held and not by:
        assert after is before


@given(rows(), LEXEMES)
def test_postings_name_the_rows_that_have_a_lexeme(held: list[Row], lexemes: list[int]) -> None:
    index = Index.of(held, DIMENSIONS)

    for postings, has in ((index.own, [each.own for each in held]), (index.quoted, [each.quoted for each in held])):
        which, rows = postings.find(np.array(lexemes, dtype=np.uint32))
        wanted = [(place, at) for place, lexeme in enumerate(lexemes) for at, own in enumerate(has) if lexeme in own]
        assert list(zip(which.tolist(), rows.tolist(), strict=True)) == wanted


@given(rows())
def test_neighbours_are_the_messages_before_and_after_in_the_same_conversation(held: list[Row]) -> None:
    index = Index.of(held, DIMENSIONS)

    talks: dict[int, list[tuple[int, int]]] = {}
    for at, each in enumerate(held):
        if each.found.kind == "episode" and each.conversation:
            talks.setdefault(each.conversation, []).append((each.found.id, at))
    before, after = list(range(len(held))), list(range(len(held)))
    for talk in talks.values():
        places = [at for _, at in sorted(talk)]
        for earlier, later in pairwise(places):
            after[earlier], before[later] = later, earlier
    assert (index.columns["before"].tolist(), index.columns["after"].tolist()) == (before, after)


@given(rows(), st.dictionaries(st.integers(1, 6), st.floats(0.01, 1)))
def test_a_texts_share_is_the_weight_of_the_querys_lexemes_that_it_has(
    held: list[Row], weights: dict[int, float]
) -> None:
    index = Index.of(held, DIMENSIONS)

    own, all_of_it = (index.score(query(weights), with_quoted=both).share for both in (False, True))

    for at, each in enumerate(held):
        assert own[at] == pytest.approx(sum(weights[word] for word in weights if word in each.own), abs=1e-5)
        has = {*each.own, *each.quoted}
        assert all_of_it[at] == pytest.approx(sum(weights[word] for word in weights if word in has), abs=1e-5)


@given(rows(), st.dictionaries(st.integers(1, 6), st.floats(0.01, 1)))
def test_the_words_of_a_message_count_for_its_neighbours(held: list[Row], weights: dict[int, float]) -> None:
    index = Index.of(held, DIMENSIONS)

    scores = index.score(query(weights), with_quoted=False)

    has = [not weights.keys().isdisjoint(each.own) for each in held]
    near = [has[at] or has[index.columns["before"][at]] or has[index.columns["after"][at]] for at in range(len(held))]
    assert (scores.words > 0).tolist() == has
    assert (scores.around > 0).tolist() == near


def test_a_word_counts_more_in_a_short_text_and_more_if_its_neighbours_have_it() -> None:
    index = Index.of(
        [
            row(1, own=[1]), row(2, own=[1, *range(10, 30)]),
            row(3, own=[1], conversation=5), row(4, own=[1], conversation=5), row(5, own=[2], conversation=6),
            row(6, own=[1], conversation=6),
        ],
        0,
    )  # fmt: skip

    scores = index.score(query({1: 1.0}), with_quoted=False)

    assert scores.words[0] > scores.words[1] > 0
    assert scores.around[2] > scores.around[5] > scores.around[4] - 1e-6 > 0


def test_the_newest_text_of_another_conversation_that_tells_something_is_dated() -> None:
    here, there = 2**64 - 1, 7
    told = [row(1, conversation=there), row(2, conversation=here), row(3, conversation=there, only_asks=True)]
    answered = row(4, conversation=there, is_unasked=False)

    assert Index.of([*told, answered], 0).told_at(here) == 1.0
    assert Index.of([*told, row(5, "memory")], 0).told_at(here) == 5.0
    assert Index.of([], 0).told_at(here) == 0.0


def test_vectors_of_two_embedders_are_compared_side_by_side() -> None:
    index = Index.of(
        [row(1, space=1, vector=np.array([1.0, 0.0])), row(2, space=2, vector=np.array([1.0, 0.0])), row(3)], 2
    )

    both = index.score(query(_1=([1.0, 0.0], 1.0, 0.0), _2=([0.6, 0.8], 0.5, 0.1)), with_quoted=False).cosine
    one = index.score(query(_2=([0.6, 0.8], 0.5, 0.1)), with_quoted=False).cosine

    assert both.tolist() == pytest.approx([1.0, 0.4, np.nan], abs=ROUNDING, nan_ok=True)
    assert one.tolist() == pytest.approx([np.nan, 0.4, np.nan], abs=ROUNDING, nan_ok=True)
    assert (index.has_space(1), index.has_space(2), index.has_space(3)) == (True, True, False)


def test_a_vector_of_another_length_is_left_out() -> None:
    index = Index.of([row(1, space=1, vector=np.ones(3)), row(2, space=1, vector=np.ones(2))], 2)

    assert index.columns["space"].tolist() == [0, 1]
    assert np.isnan(index.score(query(_1=([1.0] * 3, 1.0, 0.0)), with_quoted=False).cosine).all()


def test_a_vector_of_zeros_is_like_nothing() -> None:
    index = Index.of([row(1, space=1, vector=np.zeros(2)), row(2, space=1, vector=np.array([-1.0, 0.1]))], 2)

    assert index.score(query(_1=([1.0, 0.0], 1.0, 0.0)), with_quoted=False).cosine[0] == 0


@pytest.mark.parametrize("dimensions", [0, 2])
def test_an_empty_index_answers(dimensions: int) -> None:
    index = Index.of([], dimensions)

    scores = index.score(query({1: 1.0}, _1=([1.0, 0.0], 1.0, 0.0)), with_quoted=True)

    assert (len(index), index.nbytes, len(scores.cosine), len(scores.around)) == (0, 0, 0, 0)
    assert index.replace("memory", [1], []) is index


@given(rows())
def test_its_size_is_that_of_its_texts_and_arrays(held: list[Row]) -> None:
    index = Index.of(held, DIMENSIONS)

    assert index.nbytes >= len(held) * (DIMENSIONS + 4) + sum(len(each.found.text) for each in held)
    assert Index.of([*held, row(99)], DIMENSIONS).nbytes > index.nbytes
