"""Splits English text into words, and stems them."""

import re
from functools import lru_cache
from typing import Final

import snowballstemmer

from memory.english.function_words import is_closed_class

WORDS_KEPT: Final = 16_384
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*(?:\+\+|#)?")
_STEMMER: Final = snowballstemmer.stemmer("english")


@lru_cache(maxsize=WORDS_KEPT)
def stem(word: str) -> str:
    """Return the stem of a word in lower case; a name with a digit is its own."""
    word = word.replace("’", "'").removesuffix("'s")
    if any(map(str.isdigit, word)):
        return word
    found: str = _STEMMER.stemWord(word)
    # As later versions of the algorithm do: `added` is `add`.
    is_short = len(found) == 2 and found[0] in "aeiou" and word[2:3] == found[1]
    return found + found[1] if is_short else found


def words_of(text: str) -> list[str]:
    """Split a text into words and numbers in lower case, also at joiners."""
    return [found[0].lower().replace("’", "'") for found in _WORD.finditer(text)]


def content_stems(text: str) -> list[str]:
    """Return the stems of the content words, in order."""
    return [stem(word) for word in words_of(text) if not is_closed_class(word)]
