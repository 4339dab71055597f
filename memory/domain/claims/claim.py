"""What a sentence says about a slot: a subject, a relation, a value."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from memory.domain.claims.stems import content_stems, stem, words_of

_FILLERS: Final = frozenset({"of", "the"})
_JOINER: Final = re.compile(r"(?<=\w)(?:[-_]|\s+)(?=\w)")
_BEFORE_UNIT: Final = re.compile(r"(?<=\d) (?=[^\W\d_]|[%°])")
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")


@dataclass(frozen=True, slots=True)
class Claim:
    """``subject`` and ``relation`` as they are written, the latter empty for what something is; ``value`` as it was
    typed. ``is_denied``: the sentence says that it is not so. ``is_named``: what a definite phrase names has a name, an
    amount or another definite phrase for its value, of which there is one; all else may stand beside others."""

    subject: str
    relation: str
    value: str
    is_denied: bool = False
    is_named: bool = True

    @property
    def slot(self) -> str:
        """The stems of subject and relation in order: who gives it a value speaks of the same."""
        return join_words(words_in(self.subject) | words_in(self.relation))


@lru_cache(maxsize=65_536)
def words_in(part: str) -> frozenset[str]:
    """The stems of a name, without words that only join."""
    return frozenset(stem(word) for word in words_of(part) if word not in _FILLERS)


def join_words(words: Iterable[str]) -> str:
    return " ".join(sorted(words))


def same_value(one: str, other: str) -> bool:
    """Whether two values differ in nothing but case and what joins their words. `4.8 kg` is not `4.82 kg`."""
    return normalise(one) == normalise(other)


def are_different(one: str, other: str) -> bool:
    """Whether each of two values says what the other does not. `flask_app` only says more than `app`."""
    first, second = ({*_stems_without_numbers(value), *_NUMBER.findall(value)} for value in (one, other))
    return not (first <= second or second <= first)


def normalise(value: str) -> str:
    small = unicodedata.normalize("NFKC", value).casefold().strip(" .")
    return _BEFORE_UNIT.sub("", _JOINER.sub(" ", small))


def list_numbers(text: str) -> list[str]:
    return _NUMBER.findall(text)


def _stems_without_numbers(value: str) -> set[str]:
    return {word for word in content_stems(value) if not word.isdigit()}
