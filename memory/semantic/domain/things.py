"""Judges whether the things that people like, use and are can be understood outside the conversation."""

import re
from itertools import pairwise
from typing import Final

from memory.domain.cues.noun_phrases import is_adjective, is_participle, is_plural, singular_of
from memory.domain.language.english import memory_phrases as english
from memory.domain.language.english import nouns

_POINTING: Final = re.compile(english.POINTING)
_VALUE_OPENS: Final = re.compile(r"(?:(?:an?|the|called|named)\b|[\d\x11\x10\"'#@+]|\w+@)")
_LAST_WORDS: Final = re.compile(r"[\w'-]+")
_PREPOSED: Final = re.compile(
    r"\b(?:for|at|in|on|with|of|to|over|instead|rather|than|when|while|because|as|from|by|and|or|but"
    r"|who|that|during|after|before|about|behind)\b|[,;(]"
)


def is_own_object(original: str, small: str) -> bool:
    """True if a thing that is liked or used can be understood outside the conversation."""
    words = [word.strip(",.") for word in small.split()]
    if not words or words[0] in english.POINTING_FIRST or words[0] in ("very", "so", "too"):
        return False
    if (
        words == ["not"]
        or (len(words[0]) == 1 and words[0] != "a")
        or (words[0] in english.CONTEXTUAL and len(words[-1]) == 1)
    ):
        return False  # `option B`
    if words[0] != "the":
        return True
    thing = words[1 : 1 + next((at for at, word in enumerate(words[1:]) if _PREPOSED.match(word)), len(words))]
    if not thing or not english.CONTEXTUAL.isdisjoint(thing) or thing[0].endswith("er"):
        return False
    return original.split()[1][:1].isupper()


def is_value(value: str, spelled: str, *, allows_bare: bool) -> bool:
    """True if it says what something is, and not how it is at the moment."""
    words = [word.strip(",.!\x10") for word in value.split()]
    first = words[0]
    if first in english.PASSING or first.endswith("n't") or first == "not":
        return False
    if spelled[:1].isupper() or first[:1].isdigit() or _VALUE_OPENS.match(value):
        head = head_of(value.removeprefix("the ").removeprefix("a ").removeprefix("an "))
        return head not in nouns.EVALUATIONS and not (first == "the" and head in english.CONTEXTUAL)
    is_state = is_adjective(first) or is_participle(first) or is_participle(words[-1])
    return allows_bare and not (is_state and len(words) == 1) and not is_participle(first) and not first.endswith("ly")


def is_contextual(thing: str) -> bool:
    words = [word.strip(",.") for word in thing.split()]
    return any(one == "the" and other in english.CONTEXTUAL for one, other in pairwise(words))


def points(small: str) -> bool:
    return _POINTING.search(small) is not None


def is_code(noun: str) -> bool:
    return noun in nouns.CODE_NOUNS or single(noun) in nouns.CODE_NOUNS


def is_trade(head: str) -> bool:
    return head in english.TRADES


def head_of(thing: str) -> str:
    """Return the last word of the noun phrase that begins there."""
    words = _LAST_WORDS.findall(_PREPOSED.split(thing, maxsplit=1)[0])
    end = next((at for at, word in enumerate(words) if at and is_participle(word)), len(words))
    return words[end - 1] if words else ""


def single(word: str) -> str:
    return singular_of(word) if is_plural(word) else word
