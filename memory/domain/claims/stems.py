"""Stems of English words: the forms of a word have one, by the Snowball stemmer for English (M. F. Porter, 2001)."""

import re
from functools import lru_cache
from threading import Lock
from typing import Final

import snowballstemmer

from memory.domain.language.english import nouns
from memory.domain.text.function_words import ARTICLES, is_closed_class

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*(?:\+\+|#)?")
_FORMS: Final = {"be": "am are been being is was were", "have": "had has having", "do": "did does doing done"}
_BASES: Final = {form: base for base, forms in _FORMS.items() for form in forms.split()}
_STEMMER: Final = snowballstemmer.stemmer("english")
_ONE_AT_A_TIME: Final = Lock()  # it keeps the word that it works on


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Of a word in small letters; a name with a digit stays as it is."""
    if not word.isascii() or any(map(str.isdigit, word)):
        return word
    with _ONE_AT_A_TIME:
        return str(_STEMMER.stemWord(word))


def words_of(text: str) -> list[str]:
    """Its words and numbers in small letters, split at joiners."""
    return [found[0].lower().replace("’", "'") for found in _WORD.finditer(text)]


def content_stems(text: str) -> list[str]:
    """The stems of its words that are no grammar, in their order."""
    return [stem(word) for word in words_of(text) if not is_closed_class(word) or word in nouns.S_SINGULARS]


def have_same_words(one: str, other: str) -> bool:
    """True if the texts have the same words in the same order, but for their inflection and for articles. A word of
    grammar may make all the difference: `on` and `off`."""
    return _bases_of(one) == _bases_of(other)


def _bases_of(text: str) -> list[str]:
    words = (_BASES.get(word, word) for word in words_of(text) if word not in ARTICLES)
    return [word if is_closed_class(word) else stem(word) for word in words]
