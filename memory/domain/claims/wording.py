"""Sentences that give one slot a value, told by their wording."""

import re
from functools import lru_cache
from typing import Final

from memory.domain.claims.claim import exclude_each_other
from memory.domain.claims.reader import read_claims
from memory.domain.claims.stems import content_stems
from memory.domain.language.english.changing import SAYS_CHANGE
from memory.domain.language.english.claims import DISCOURSE, VERBS
from memory.domain.text.function_words import is_closed_class

SAME_MIN: Final = 3  # words that two sentences share around their values
VALUE_MAX: Final = 4  # words
NAMED_MIN, NAMED_SHARE = 2, 0.6  # words of the older text that the newer one repeats
SENTENCES_MAX: Final = 6  # of a text
_SENTENCE_END: Final = re.compile(r"(?<=[.!?:])\s+")
_SAYS_CHANGE: Final = re.compile(SAYS_CHANGE)
_WORD: Final = re.compile(r"\w+(?:[-'’.:/@]\w+)*")
# What was, in a sentence that says what is: `is no longer in Oslo, but in Bergen`, `from Oslo to Bergen`.
_BEFORE: Final = re.compile(r"\b(?:no longer|not) [^,.;]{1,60}?,? but |,? (?:instead of|rather than|not) [^,.;]{1,60}$")


@lru_cache(maxsize=8_192)
def share_claim(one: str, other: str) -> bool:
    """True if two texts claim the value of one slot."""
    claims = {claim.slot for claim in read_claims(one)}
    return bool(claims) and not claims.isdisjoint(claim.slot for claim in read_claims(other))


def tells_other_value(older: str, newer: str) -> bool:
    """True if two texts tell two values of one slot: each of its own, by their claims, or in the same words but for
    them."""
    first, second = ({claim.slot: claim.value for claim in read_claims(text)} for text in (older, newer))
    if shared := first.keys() & second.keys():
        return any(exclude_each_other(first[slot], second[slot]) for slot in shared)
    others = _list_wordings(newer)
    return any(_differ_in_value(one, other) for one in _list_wordings(older) for other in others)


@lru_cache(maxsize=8_192)
def share_slot(older: str, newer: str) -> bool:
    """True if two texts tell the value of one slot, as far as their wording shows: by their claims, in the same words
    but for the value, or as the newer one says that what the older one tells has changed."""
    told, known = set(content_stems(newer)), set(content_stems(older))
    if told.isdisjoint(known):
        return False
    if share_claim(older, newer) or tells_other_value(older, newer):
        return True
    if _SAYS_CHANGE.search(newer.casefold()) is None:
        return False
    return len(known & told) >= max(NAMED_MIN, NAMED_SHARE * len(known))


def _list_wordings(text: str) -> list[list[str]]:
    sentences = _SENTENCE_END.split(" ".join(text.split()))[:SENTENCES_MAX]
    found = ([word.casefold() for word in _WORD.findall(_BEFORE.sub("", sentence))] for sentence in sentences)
    return [[word for word in words if word not in DISCOURSE] for words in found]


def _differ_in_value(one: list[str], other: list[str]) -> bool:
    """True if they begin in the same way, verb included, and differ in one place: `The port of db-1 is 80` and `The
    port of db-2 is 80` differ in what they are about."""
    most = min(len(one), len(other))
    start = next((at for at in range(most) if one[at] != other[at]), most)
    end = next((at for at in range(most - start) if one[-1 - at] != other[-1 - at]), most - start)
    before, after = one[:start], one[len(one) - end :]
    values = one[start : len(one) - end], other[start : len(other) - end]
    return (
        bool(before)
        and len(before) + len(after) >= SAME_MIN
        and all(0 < len(value) <= VALUE_MAX and not any(map(is_closed_class, value)) for value in values)
        and VERBS.isdisjoint(after)
        and not all(map(is_closed_class, (*before, *after)))
    )
