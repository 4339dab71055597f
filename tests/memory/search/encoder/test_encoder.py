"""Vectors of texts: as published, hardly changed by the 8-bit weights, and of nothing but the text itself."""

import random
from collections.abc import Sequence

import pytest

from memory.search.encoder.encoder import DIMENSIONS, Encoder
from memory.search.vectors.embedders import read_lines

TEXTS = [*read_lines("questions.txt"), *read_lines("messages.txt"), "river " * 300]
# About one thing in other words; the last of each is about another.
TRIPLES = [
    ("My cat sleeps on the couch.", "kitten napping on a sofa", "The invoices of March are late."),
    ("The user drives an electric car.", "which vehicle?", "The user plays the cello."),
    ("We moved the billing database to Postgres 17.", "where does the invoice data live?", "I bake bread on Sundays."),
    ("I am allergic to peanuts.", "foods that I must not eat", "The build takes nine minutes."),
]


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(map(float.__mul__, one, other))


def test_in_full_precision_likenesses_are_those_published_with_the_model(precise: Encoder) -> None:
    # From the quickstart of the Sentence Transformers documentation.
    lovely, sunny, stadium = precise.encode_texts(
        ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
    )

    likenesses = cosine(lovely, sunny), cosine(lovely, stadium), cosine(sunny, stadium)

    assert likenesses == pytest.approx((0.6660, 0.1046, 0.1411), abs=1e-4)


def test_eight_bits_change_the_vectors_little(adapted: Encoder, encoder: Encoder) -> None:
    pairs = zip(adapted.encode_texts(TEXTS), encoder.encode_texts(TEXTS), strict=True)

    assert min(cosine(one, other) for one, other in pairs) > 0.98


def test_vectors_have_length_one(encoder: Encoder) -> None:
    for vector in encoder.encode_texts(TEXTS):
        assert len(vector) == DIMENSIONS
        assert cosine(vector, vector) == pytest.approx(1, abs=1e-5)


def test_a_text_without_a_word_has_a_vector_of_zeros(encoder: Encoder) -> None:
    assert encoder.encode_texts(["", "\u200b"]) == [[0.0] * DIMENSIONS] * 2
    assert encoder.encode_query(" ") == [0.0] * DIMENSIONS


@pytest.mark.parametrize(("text", "same", "another"), TRIPLES)
def test_the_same_in_other_words_is_closer_than_something_else(
    precise: Encoder, text: str, same: str, another: str
) -> None:
    vector, close, far = precise.encode_texts([text, same, another])

    assert cosine(vector, close) > cosine(vector, far) + 0.1


def test_a_vector_depends_on_its_text_alone(encoder: Encoder) -> None:
    expected = dict(zip(TEXTS, encoder.encode_texts(TEXTS), strict=True))
    shuffled = random.Random(1).sample(TEXTS, len(TEXTS))

    assert encoder.encode_texts(shuffled) == [expected[text] for text in shuffled]
    assert encoder.encode_query(TEXTS[0]) == expected[TEXTS[0]]
