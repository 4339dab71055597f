"""Finds signs that two sentences about one thing contradict each other: one denies what the other says, or has the
opposite of one of its words, another number of the same unit, or another name."""

import re
from collections import Counter
from enum import StrEnum
from typing import Final

from memory.english.function_words import is_closed_class
from memory.english.lexicon import load_groups, load_words
from memory.english.noun_phrases import IRREGULAR_PLURALS
from memory.english.stems import content_stems, stem, words_of


class Opposition(StrEnum):
    NEGATION = "negation"
    ANTONYM = "antonym"
    NUMBER = "number"
    NAME = "name"


# Not the digits of a name, as in `edge1`, `db-3`, `v1.2`.
_NUMBER: Final = re.compile(
    r"(?:(?P<before>[^\W\d_]+) )?(?P<sign>[$€£]?)(?<![\w.])(?<![^\W\d_][-_/])(?P<number>\d+(?:[.,:]\d+)*)"
    r"(?:[\s-]?(?P<after>%|[^\W\d_]+))?"
)
_NEGATIONS: Final = load_words("negations")
_COUNTED: Final = load_words("counted")
_OPENERS: Final = load_words("openers")
_UNITS: Final = load_words("units")
# Before a number these measure or count; after other words the number is a name: `room 5`, `port 8080`.
_VERB_ENDINGS: Final = ("s", "ed", "ing", "ly")
_NUMERAL: Final = re.compile(r"\d+(?:[.,:]\d+)*")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}\b)")
_TOKEN: Final = re.compile(r"[^\W_]+(?:[-_./:+#@'’][^\W_]+)*")
_NAME: Final = re.compile(r"(?<=[^\W_][ ,])\b[A-Z][\w.+#'-]*[\w+#]")
# `With` and `without` already differ in a negation.
_OPPOSITES: Final = frozenset(
    pair
    for one, other in load_groups("antonyms")
    if one not in _NEGATIONS and other not in _NEGATIONS
    for pair in ((stem(one), stem(other)), (stem(other), stem(one)))
)
OPPOSED: Final = frozenset(word for pair in _OPPOSITES for word in pair)


def find_opposition(one: str, other: str) -> Opposition | None:
    """Return the first sign that two sentences about one thing contradict each other; None if there is none.
    Symmetric."""
    if not set(content_stems(one)) & set(content_stems(other)):
        return None
    first, second = _find_opposed(one), _find_opposed(other)
    alone, beside = first - second, second - first
    is_denied = count_negations(one) % 2 != count_negations(other) % 2
    if any((left, right) in _OPPOSITES for left in alone for right in beside) != is_denied:
        # Not liking coffee is disliking it.
        return Opposition.NEGATION if is_denied else Opposition.ANTONYM
    if _differ_in_numbers(one, other):
        return Opposition.NUMBER
    if _differ_in_names(one, other):
        return Opposition.NAME
    return None


def _find_opposed(text: str) -> set[str]:
    """Return the stems of the words that have an opposite, even of function words."""
    return {stem(word) for word in words_of(text)} & OPPOSED


def find_things(text: str) -> set[str]:
    """Return what a sentence is about and says of it, without amounts: stems of its words, names with a digit whole
    (`edge1`, `db-3`), and numbers that are names with the word before them (`room 5`)."""
    found, before = set[str](), ""
    for token in _TOKEN.findall(_NUMBER.sub(_leave_out_amount, text)):
        small = token.lower().replace("’", "'").removesuffix("'s")
        if not any(map(str.isdigit, small)):
            found.update(content_stems(small))
            before = stem(words_of(small)[-1])
        elif small[0].isdigit():
            found.add(f"{before} {small}")
        else:
            found.add(small)
    return found


def find_numbered(text: str) -> set[str]:
    """Return a sentence's names with a digit."""
    return {thing for thing in find_things(text) if any(map(str.isdigit, thing))}


def _leave_out_amount(number: re.Match[str]) -> str:
    before, after = number["before"] or "", number["after"] or ""
    is_amount = bool(_unit_of(before, number["sign"], number["number"], after))
    return f"{before} {after}" if is_amount else number[0]


def count_negations(text: str) -> int:
    """Count the negations of a sentence; `not ... any more` and `no longer` count once."""
    words = words_of(text)
    found = [word for word in words if word in _NEGATIONS or word.endswith("n't")]
    return len([word for word in found if word not in ("longer", "anymore")])


def list_numbers(text: str) -> list[str]:
    return _NUMERAL.findall(_THOUSANDS.sub("", text))


def _differ_in_numbers(one: str, other: str) -> bool:
    """True if what is counted, or a name, comes with different numbers."""
    first, second = _numbers_of(one), _numbers_of(other)
    return any(first[unit] != second[unit] for unit in first.keys() & second.keys())


def _numbers_of(text: str) -> dict[str, Counter[str]]:
    """Return the numbers by unit or by the stem of the noun that they count; those that are names under ""."""
    found: dict[str, Counter[str]] = {}
    for number in _NUMBER.finditer(_THOUSANDS.sub("", text)):
        unit = _unit_of(number["before"] or "", number["sign"], number["number"], number["after"] or "")
        found.setdefault(unit, Counter())[number["number"].replace(",", ".")] += 1
    return found


def _unit_of(before: str, sign: str, number: str, after: str) -> str:
    small = after.lower()
    if sign or after == "%":
        return sign or after
    if small in _UNITS and not is_closed_class(small):
        return small
    if after != small or not after or is_closed_class(small) or _is_named(before):
        return ""
    is_plural = small.endswith("s") or small in IRREGULAR_PLURALS
    return stem(small) if is_plural or number == "1" else ""


def _is_named(word: str) -> bool:
    """True if a number after the word is a name, rather than an amount of what follows."""
    small = word.lower()
    if not word or is_closed_class(small) or small in _OPENERS:
        return False
    return word != small or small in _COUNTED or not small.endswith(_VERB_ENDINGS)


def _differ_in_names(one: str, other: str) -> bool:
    """True if each has a name that the other lacks."""
    first, second = set(_NAME.findall(one)), set(_NAME.findall(other))
    small = {word.lower() for word in first}, {word.lower() for word in second}
    return bool(small[0] - set(words_of(other)) and small[1] - set(words_of(one)))
