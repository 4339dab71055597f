"""Claims (a subject, a relation and a value, as a sentence has them), and how values compare."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from memory.english.claims.stems import content_stems, stem, words_of
from memory.english.lexicon import load_words

_MONTHS_AND_DAYS: Final = load_words("months_and_days")

_FILLERS: Final = frozenset({"of", "the"})
_JOINER: Final = re.compile(r"(?<=\w)(?:[-_]|\s+)(?=\w)")
_BEFORE_UNIT: Final = re.compile(r"(?<=\d) (?=[^\W\d_]|[%°])")
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_AMOUNT: Final = re.compile(r"(?P<version>v?)(?P<number>\d+(?:[.,:]\d+)*)(?P<unit> ?[^\W\d]{0,12}|%)")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}\b)")
NAME, DAY = "name", "day"  # sorts of values, beside amounts by their unit


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim. ``subject`` and ``relation`` as they are written, the latter empty for what something is; ``value`` as
    it was typed. ``is_denied``: the sentence says that it is not so. ``is_named``: it leaves no room for another value.
    """

    subject: str
    relation: str
    value: str
    is_denied: bool = False
    is_named: bool = True

    @property
    def slot(self) -> str:
        """The stems of subject and relation in order: claims with equal slots speak of the same."""
        return join_words(words_in(self.subject) | words_in(self.relation))


@lru_cache(maxsize=65_536)
def words_in(part: str) -> frozenset[str]:
    """Return the stems of a name, without words that only join."""
    return frozenset(stem(word) for word in words_of(part) if word not in _FILLERS)


def join_words(words: Iterable[str]) -> str:
    return " ".join(sorted(words))


def same_value(one: str, other: str) -> bool:
    """True if two values differ only in case and in what joins their words. `4.8 kg` is not `4.82 kg`."""
    return normalise(one) == normalise(other)


def are_different(one: str, other: str) -> bool:
    """True if each of two values says something that the other does not. `flask_app` only says more than `app`."""
    first, second = ({*_stems_without_numbers(value), *list_numbers(value)} for value in (one, other))
    return not (first <= second or second <= first)


def exclude_each_other(one: str, other: str) -> bool:
    """True if only one of two values can be right: both `Friday` and `v1.2` may be; `5` and `5.0` are equal."""
    sort = _sort_of(one)
    if sort != _sort_of(other):
        return False
    if sort not in (NAME, DAY):
        return _read_number(one) != _read_number(other)
    first, second = normalise(one), normalise(other)
    return not (first.startswith(second) or second.startswith(first)) and are_different(one, other)


def _sort_of(value: str) -> str:
    small = value.casefold()
    if not _MONTHS_AND_DAYS.isdisjoint(words_of(small)):
        return DAY
    found = _AMOUNT.fullmatch(small)
    if found is None:
        return NAME
    is_time = ":" in found["number"]
    return f"{found['version']}{':' if is_time else ''}{found['unit'].strip()}" or "number"


def _read_number(value: str) -> list[str]:
    """Return the digit groups of an amount, without zeros that say nothing: `1.10` may be a version, `1.10 kg` is
    not."""
    first, *rest = re.findall(r"\d+", _THOUSANDS.sub("", value))
    is_measure = value[-1:].isalpha() or value.endswith("%")
    parts = [first, *(part.rstrip("0") if is_measure or not part.strip("0") else part for part in rest)]
    while parts[1:] and not parts[-1]:
        parts.pop()
    return parts


def normalise(value: str) -> str:
    small = unicodedata.normalize("NFKC", value).casefold().strip(" .")
    return _BEFORE_UNIT.sub("", _JOINER.sub(" ", small))


def list_numbers(text: str) -> list[str]:
    return _NUMBER.findall(_THOUSANDS.sub("", text))


def _stems_without_numbers(value: str) -> set[str]:
    return {word for word in content_stems(value) if not word.isdigit()}
