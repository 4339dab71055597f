"""Recognises by their wording sentences that give one slot a value."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from memory.english.claims.claim import exclude_each_other, same_value
from memory.english.claims.reader import NAMED, read_claims
from memory.english.claims.stems import words_of
from memory.english.function_words import is_closed_class
from memory.english.lexicon import load_words
from memory.english.noun_phrases import is_plural

SAME_MIN: Final = 3  # words that two sentences share around their values
VALUE_MAX: Final = 4  # words
SENTENCES_MAX: Final = 6  # of a text
TEXTS_KEPT: Final = 8_192  # each line of a block is compared with each other, and comes again in other prompts
_SENTENCE_END: Final = re.compile(r"(?<=[.!?:])\s+")
_NAMED: Final = re.compile(NAMED)
_WORD: Final = re.compile(r"\w+(?:[-'’.:/@]\w+)*")
_NOT: Final = re.compile(r"(?<=[a-z])n['’]t\b")
_UNTIL_NOW: Final = re.compile(r" (?:any ?(?:more|longer)|now|currently|these days|instead)(?=\W*\Z)", re.IGNORECASE)
_OPENING: Final = re.compile(r"\s*(?:please )?(?:remember|note|keep in mind)(?: that|:)?\s+", re.IGNORECASE)
# The former value in a sentence that says the current one: `is no longer in Oslo, but in Bergen`, `from Oslo to
# Bergen`.
_BEFORE: Final = re.compile(r"\b(?:no longer|not) [^,.;]{1,60}?,? but |,? (?:instead of|rather than|not) [^,.;]{1,60}$")


@lru_cache(maxsize=TEXTS_KEPT)
def share_claim(one: str, other: str) -> bool:
    """True if two texts claim the value of one slot."""
    claims = {claim.slot for claim in read_claims(one)}
    return bool(claims) and not claims.isdisjoint(claim.slot for claim in read_claims(other))


def claim_same(one: str, other: str) -> bool:
    """True if two texts claim the same of a slot."""
    claims = {(claim.slot, claim.is_denied): claim.value for claim in read_claims(one)}
    return any(same_value(claim.value, claims.get((claim.slot, claim.is_denied), "")) for claim in read_claims(other))


def tells_other_value(older: str, newer: str) -> bool:
    """True if two texts name two values of one slot that exclude each other: by their claims, or in the same words but
    for two names, days or amounts of one unit."""
    first, second = (
        {claim.slot: claim.value for claim in read_claims(text) if claim.is_named and not claim.is_denied}
        for text in (older, newer)
    )
    if shared := first.keys() & second.keys():
        return any(exclude_each_other(first[slot], second[slot]) for slot in shared)
    return any(
        _is_named(value) and _is_named(other) and exclude_each_other(value, other)
        for value, other in _find_values(older, newer)
    )


@lru_cache(maxsize=TEXTS_KEPT)
def corrects(newer: str, older: str) -> bool:
    """True if the newer clause gives a slot another value than the older text, or takes that value back."""
    newer, older = (_OPENING.sub("", text, count=1) for text in (newer, older))
    newer = _UNTIL_NOW.sub("", _NOT.sub(" not", newer))
    if tells_other_value(older, newer):
        return True
    claimed = {claim.slot: claim.value for claim in read_claims(older) if not claim.is_denied}
    denied = (claim for claim in read_claims(newer) if claim.is_denied)
    return any(same_value(claim.value, claimed.get(claim.slot, "")) for claim in denied)


def _is_named(value: str) -> bool:
    last = words_of(value)[-1:]
    return _NAMED.fullmatch(value) is not None and not any(map(is_plural, last))


@lru_cache(maxsize=TEXTS_KEPT)
def share_slot(older: str, newer: str) -> bool:
    """True if two texts state the value of one slot, as far as their wording shows: by their claims, or in the same
    words but for values that exclude each other."""
    return share_claim(older, newer) or tells_other_value(older, newer)


def differ_in_value(one: str, other: str) -> bool:
    """True if two texts claim different values of a slot, or say the same but for what follows `is`."""
    is_other = share_claim(one, other) and not claim_same(one, other)
    return is_other or next(_find_values(one, other), None) is not None


def _find_values(one: str, other: str) -> Iterator[tuple[str, str]]:
    """Yield the values after `is` and the like in which two otherwise equal texts differ."""
    others = _list_wordings(other)
    for first in _list_wordings(one):
        for second in others:
            if (values := _find_difference(first, second)) is not None:
                yield values


@lru_cache(maxsize=TEXTS_KEPT)
def _list_wordings(text: str) -> tuple[list[str], ...]:
    sentences = _SENTENCE_END.split(" ".join(text.split()))[:SENTENCES_MAX]
    found = (_WORD.findall(_BEFORE.sub("", sentence)) for sentence in sentences)
    return tuple([word for word in words if word.casefold() not in load_words("discourse")] for words in found)


def _find_difference(one: list[str], other: list[str]) -> tuple[str, str] | None:
    """Return the values in which two wordings differ, if nothing else does: `The port of db-1 is 80` and `The port of
    db-2 is 80` differ in what they are about."""
    first, second = ([word.casefold() for word in words] for words in (one, other))
    most = min(len(one), len(other))
    start = next((at for at in range(most) if first[at] != second[at]), most)
    end = next((at for at in range(most - start) if first[-1 - at] != second[-1 - at]), most - start)
    before, after = first[:start], first[len(first) - end :]
    values = one[start : len(one) - end], other[start : len(other) - end]
    is_alike = (
        len(before) + len(after) >= SAME_MIN
        and not load_words("be").isdisjoint(before)
        and load_words("be").isdisjoint(after)
        and all(
            0 < len(value) <= VALUE_MAX and not any(map(is_closed_class, map(str.lower, value))) for value in values
        )
        and not all(map(is_closed_class, (*before, *after)))
    )
    return (" ".join(values[0]), " ".join(values[1])) if is_alike else None
