"""Texts are split as the encoder was trained with: like the tokenizer that was published with it."""

import unicodedata
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from memory.search.encoder.weights import PACKAGES, TOKENIZER, Published, read_package
from memory.search.encoder.word_pieces import QUERY_MAX, TEXT_MAX, WordPieces

BEGIN, END = 101, 102


@pytest.fixture(scope="module")
def pieces(published: Published) -> WordPieces:
    return WordPieces(published.vocabulary)


@pytest.fixture(scope="module")
def reference() -> Any:
    tokenizer = Tokenizer.from_buffer(read_package(PACKAGES[0])[TOKENIZER])
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def is_settled(character: str) -> bool:
    """False where the published tokenizer, whose Unicode is an older one, may not know what the character is."""
    return unicodedata.ucd_3_2_0.category(character) == unicodedata.category(character)


# Letters, marks, numbers, punctuation, symbols and spaces of all scripts.
@given(st.text(st.characters(exclude_categories=["Cn", "Co", "Cs"]).filter(is_settled), max_size=60))
@example("Où est l'été? NAÏVE Ångström")
@example("東京は日本の首都です")
@example("10€ for 3½ µm, e-mail: a.b@c.de #tag")
@example("a\x00b\tc\u200bd\u2028e\x85f")
@example("ΟΔΟΣ İstanbul ſ ß")
@example("tyr-1's unaffable snake_case; \u037e \U0001f600")
@example("x" * 100 + " " + "x" * 101)
def test_texts_are_split_like_by_the_published_tokenizer(pieces: WordPieces, reference: Any, text: str) -> None:
    expected = reference.encode(text).ids

    assert pieces.encode_text(text) == ([] if set(expected) <= {BEGIN, END, 100} else expected)


@pytest.mark.parametrize("text", ["", " \n\t", "\u200b\x00", "\U0001f600 \U0001f601"])
def test_a_text_without_a_known_piece_has_none(pieces: WordPieces, text: str) -> None:
    assert pieces.encode_text(text) == pieces.encode_query(text) == []


def test_marks_in_a_text_are_words_like_any_other(pieces: WordPieces) -> None:
    ids = pieces.encode_text("[SEP] [CLS]")

    assert not {BEGIN, END} & set(ids[1:-1])


def test_a_long_text_is_cut_at_its_end(pieces: WordPieces) -> None:
    ids = pieces.encode_text("river " * 300 + "stone")

    assert ids == pieces.encode_text("river " * TEXT_MAX)
    assert len(ids) == TEXT_MAX + 2


@pytest.mark.parametrize("between", ["", "dog " * 100, "unaffable " * 100_000])
def test_of_a_long_query_the_beginning_and_the_end_are_read(pieces: WordPieces, between: str) -> None:
    half = QUERY_MAX // 2

    ids = pieces.encode_query("river " * half + between + "stone " * half)

    assert ids == pieces.encode_text("river " * half + "stone " * half)


def test_a_short_query_is_read_like_a_text(pieces: WordPieces) -> None:
    text = "Which vehicle does the user drive?"

    assert pieces.encode_query(text) == pieces.encode_text(text)
