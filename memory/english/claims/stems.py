"""Stems English words: the plural, the gerund and the past of a word have the stem of its base form.

Suffixes as in steps 1 and 5 of M. F. Porter, An algorithm for suffix stripping (1980), without its other steps, which
join words of different meanings."""

import re
from functools import lru_cache
from typing import Final

from memory.english.function_words import is_closed_class
from memory.english.lexicon import load_words
from memory.english.noun_phrases import is_plural, singular_of

_ED_NOUNS: Final = load_words("ed_nouns")
_ING_NOUNS: Final = load_words("ing_nouns")

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*(?:\+\+|#)?")
_VOWEL: Final = re.compile(r"[aeiouy]")
_STEM_MIN: Final = 3  # letters


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Return the stem of a word in lower case."""
    word = word.replace("’", "'").removesuffix("'s")
    if not word.isalpha() or not word.isascii():
        return word
    if is_plural(word):
        word = singular_of(word)
    for ending in ("ing", "ed"):
        base = word.removesuffix(ending)
        exceptions = _ING_NOUNS if ending == "ing" else _ED_NOUNS
        if base != word and len(base) >= _STEM_MIN and _VOWEL.search(base) and word not in exceptions:
            word = base[:-1] if base[-1] == base[-2] and base[-1] not in "lsz" else base
            break
    if len(word) > _STEM_MIN and word.endswith("e") and word[-2] != "e":
        word = word[:-1]
    return f"{word[:-1]}i" if len(word) > _STEM_MIN and word.endswith("y") and word[-2] not in "aeiou" else word


def words_of(text: str) -> list[str]:
    """Split a text into words and numbers in lower case, also at joiners."""
    return [found[0].lower().replace("’", "'") for found in _WORD.finditer(text)]


def content_stems(text: str) -> list[str]:
    """Return the stems of the content words, in order."""
    return [stem(word) for word in words_of(text) if not is_closed_class(word)]
