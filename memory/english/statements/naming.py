"""Tells names from ordinary words."""

from typing import Final

from memory.english.sentences import NAME_MARK
from memory.english.statements.noun_phrases import (
    Passage,
    Vocabulary,
    is_adjective,
    is_plural,
    singular_of,
)
from memory.english.tokenizer import Token
from memory.english.words import adjectives, names, nouns, verbs

_TITLE_MAX: Final = 8  # characters, with the gap before the name


def is_distinctive(passage: Passage, token: Token, vocabulary: Vocabulary) -> bool:
    """True if a word is a name of its own, not an ordinary word."""
    if token.text in names.MONTHS_AND_DAYS:
        return False
    if token.is_emphasised or is_marked(passage, token) or vocabulary.is_concept(token.text):
        return True
    if token.is_capitalised and (token.text in names.GIVEN_NAMES or _follows_title(passage, token)):
        return True
    # `Her tracker is Furnace. Furnace is a tracker.`
    is_name_elsewhere = token.is_initial and passage.text[token.start : token.end] in passage.names_inside
    if is_name_elsewhere and vocabulary.is_common(token.text) and not _is_listed_noun(token.text):
        return True
    return not is_ordinary_noun(token.text, vocabulary)


def _follows_title(passage: Passage, token: Token) -> bool:
    """True for `Dr. Sutter`."""
    before = passage.text[max(0, token.start - _TITLE_MAX) : token.start].split()
    return bool(before) and before[-1][:-1].lower() in names.TITLES and before[-1].endswith(".")


def is_ordinary_noun(word: str, vocabulary: Vocabulary) -> bool:
    """True if a word is in the dictionary, or is an ordinary noun too rare or too technical for it."""
    if vocabulary.is_common(word) or (len(word) > 8 and word.endswith(adjectives.ABSTRACT_ENDINGS)):
        return True
    return _is_listed_noun(word)


def _is_listed_noun(word: str) -> bool:
    singular = singular_of(word) if is_plural(word) else word
    return singular in nouns.RELATIONAL_NOUNS or singular in nouns.TRADE_NOUNS or singular in nouns.CODE_NOUNS


def is_ordinary_acronym(token: Token) -> bool:
    """True if an acronym stands for a kind of thing: `API`, `CPUs`."""
    return token.text in nouns.TRADE_NOUNS or (is_plural(token.text) and singular_of(token.text) in nouns.TRADE_NOUNS)


def is_marked(passage: Passage, token: Token) -> bool:
    """True if a name is in back-ticks."""
    return is_marked_at(passage, token.end)


def is_marked_at(passage: Passage, end: int) -> bool:
    return passage.text[end : end + 1] == NAME_MARK


def is_name_called(passage: Passage, name: Token, vocabulary: Vocabulary) -> bool:
    """True if a word after `called` is a name: any word that ends its phrase is, unless it is an adjective or
    adverb."""
    if is_distinctive(passage, name, vocabulary):
        return True
    return not is_adjective(name.text) and name.text not in verbs.CLOSING_ADVERBS and not name.text.endswith("ly")
