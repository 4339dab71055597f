"""Finds the slot of a memory, which can have one value, and whether two memories of one slot contradict each other.

A preference has the slot of what is preferred, and "prefers A to B" that of both. About a person, role, background and
credentials have slots. `The | our | my N is V` has the slot N, whatever its category. All other memories have none."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

from memory.english.claims import read_plain, strip_adverbials
from memory.english.function_words import DETERMINERS, is_closed_class
from memory.english.lexicon import load_words, read_pattern
from memory.english.noun_phrases import is_adjective
from memory.english.opposites import count_negations
from memory.english.stems import content_stems, stem, words_of

VERSION: Final = 7  # of these rules: memories with a lower one are examined again
SLOT_MAX: Final = 200  # characters
READ_MAX: Final = 16_384  # memories

_CORRECTION: Final = re.compile(rf"(?:{read_pattern('corrections')}\b[\s,:!.–—-]*)+", re.IGNORECASE)
# Verbs of a preference: one thing is chosen, or any number is liked.
_CHOOSES: Final = r"prefers?|uses?|sticks? to|swears? by|rel(?:ies|y) on|favou?rs?|avoids?"
_LIKES: Final = r"likes?|loves?|enjoys?|adores?|(?:is|am|'m) (?:a )?(?:big |huge |great )*(?:fan of|fond of|keen on)"
_DISLIKES: Final = (
    r"hates?|dislikes?|loathes?|detests?|despises?|can't stand|cannot stand|can't bear|do(?:es)?n't care for"
)
_PREFERENCE: Final = re.compile(
    rf"(?P<before>(?:[\w'.-]+ ){{0,6}}?)(?:(?P<chooses>{_CHOOSES})|{_LIKES}|(?P<dislikes>{_DISLIKES}))"
    r"\s+(?P<object>.+)"
)
_OVER: Final = re.compile(r",? (?:to|over|rather than|instead of|more than|better than|than|but not|not)\b ")
_QUALIFIER: Final = re.compile(
    r",? \b(?:for|at|in|on|when|while|with|because|as|since|during|if|except|unless|from|by|after|before)\b "
)
_INFINITIVE: Final = re.compile(r"(?:not )?to ")
_WORKS_AS: Final = re.compile(r"\b(?:works? as|(?:job|role|profession|occupation|title) (?:is|are)) (?P<object>.+)")
_IS_A: Final = re.compile(r"\b(?:is|am|i'm) (?:now |also |currently |not |no longer )*(?:an?|the) (?P<object>.+)")
# What is said of others by whose they are: `the user's wife is a pilot`.
_OF_OTHERS: Final = re.compile(r"(?:my|(?:the )?user's) (?!(?:job|role|profession|occupation|title)\b)")
_SEVERAL: Final = {
    "credentials": re.compile(rf"\b{read_pattern('credentials')}\b"),
    "background": re.compile(rf"\b{read_pattern('background')}\b"),
}
# Of a background, only where somebody comes from has one value.
_COMES_FROM: Final = re.compile(
    r"\b(?P<verb>comes? from|is from|grew up|was born|was raised)\b (?:in |on )?(?P<object>.+)"
)


class Slots(NamedTuple):
    """The slots of a memory: ``slot`` is that of what is preferred or said, ``other`` that of what comes after it;
    empty if there is none."""

    slot: str = ""
    other: str = ""


NO_SLOTS: Final = Slots()


@dataclass(frozen=True, slots=True)
class SlotValue:
    """A memory's value of its slot. ``over``: what it is preferred to; ``is_choice``: of several only one can be
    right; ``qualifier``: when or where it is so."""

    slots: Slots = NO_SLOTS
    value: str = ""
    is_denied: bool = False
    over: str = ""
    is_choice: bool = True
    qualifier: str = ""

    @property
    def stems(self) -> frozenset[str]:
        return frozenset(content_stems(self.value))


@lru_cache(maxsize=READ_MAX)
def read_slot(text: str, category: str) -> SlotValue:
    """Return the slots of a memory with this text, and what it says of them."""
    plain = strip_adverbials(" ".join(_CORRECTION.sub("", text.strip(), count=1).replace("’", "'").split()))
    small = plain.lower()
    found = _read_preference(small) if category == "preference" else None
    found = found or (_read_identity(small) if category == "identity" else None)
    if found is None and (claim := read_plain(plain)) is not None:
        found = SlotValue(Slots(claim.slot[:SLOT_MAX]), claim.value, claim.is_denied)
    return found or SlotValue(is_denied=count_negations(small) % 2 == 1)


def find_slots(text: str, category: str) -> Slots:
    return read_slot(text, category).slots


def share_slot(one: Slots, other: Slots) -> bool:
    """True if memories with these slots may contradict each other: two that only come after something else do not."""
    return bool((one.slot and one.slot in other) or (other.slot and other.slot in one))


def contradicts(one: str, other: str, category: str) -> bool:
    """True if two texts of a category whose slots meet contradict each other. Symmetric."""
    first, second = read_slot(one, category), read_slot(other, category)
    return _excludes(first, second) or _excludes(second, first)


def find_value(text: str, category: str) -> str:
    """Return what a memory says of its slot, in its words; "" if it denies something, or has no slot."""
    found = read_slot(text, category)
    words = found.value.split()
    while words and words[0] in DETERMINERS:
        words.pop(0)
    return "" if found.is_denied else " ".join(words)


def _head_stem(phrase: str) -> str:
    """Return the stem of the head noun of a phrase; "" if it has none."""
    words = [word for word in words_of(strip_adverbials(phrase)) if word not in DETERMINERS]
    while len(words) > 1 and (words[-1].isdigit() or is_adjective(words[-1]) or is_closed_class(words[-1])):
        words.pop()
    return stem(words[-1])[:SLOT_MAX] if words and not is_closed_class(words[-1]) else ""


def _read_preference(small: str) -> SlotValue | None:
    found = _PREFERENCE.match(small)
    if found is None:
        return None
    is_to_do = _INFINITIVE.match(found["object"])
    rest = found["object"][is_to_do.end() :] if is_to_do else found["object"]
    chosen, over = _cut(rest, _OVER)
    over, after_over = _cut(over, _QUALIFIER)
    chosen, qualifier = _cut(chosen, _QUALIFIER)
    verb = found["chooses"] or ""
    denials = count_negations(found["before"]) + bool(found["dislikes"]) + bool(verb.startswith("avoid"))
    denials += found["object"].startswith("not to ")
    value = strip_adverbials(chosen)
    return SlotValue(
        Slots(_head_stem(value), _head_stem(over)), value, denials % 2 == 1, over, bool(verb), qualifier or after_over
    )


def _read_identity(small: str) -> SlotValue | None:
    if not _OF_OTHERS.match(small):
        works, is_a = _WORKS_AS.search(small), _IS_A.search(small)
        phrase = _cut(works["object"] if works else is_a["object"] if is_a else "", _QUALIFIER)[0]
        head = phrase.split(" of ")[0].split()[-1:]
        if works or (head and head[0].strip(",.") in load_words("trades")):
            return SlotValue(Slots("role"), phrase, count_negations(small) % 2 == 1)
    for slot, words in _SEVERAL.items():
        if words.search(small) and not _OF_OTHERS.match(small):
            origin = _COMES_FROM.search(small)
            verb, value = (origin["verb"], origin["object"]) if origin else ("", small)
            # Qualified by the verb: where somebody was born and where they grew up are two things.
            return SlotValue(
                Slots(slot), _cut(value, _QUALIFIER)[0], count_negations(small) % 2 == 1,
                is_choice=origin is not None, qualifier=verb[:2],
            )  # fmt: skip
    return None


def _cut(text: str, at: re.Pattern[str]) -> tuple[str, str]:
    """Split a text at the words that the pattern finds; return what is before and after them."""
    found = at.search(text)
    return (text[: found.start()], text[found.end() :]) if found else (text, "")


def _excludes(one: SlotValue, other: SlotValue) -> bool:
    """True if the first, or what the second prefers its own to, cannot be true beside the second."""
    ours, theirs, rejected = one.stems, other.stems, frozenset(content_stems(other.over))
    if not ours or not theirs or not _may_be_one_case(one.qualifier, other.qualifier):
        return False
    if rejected and not one.is_denied and not other.is_denied and (ours <= rejected or rejected <= ours):
        return not theirs <= ours
    if one.is_denied != other.is_denied:
        return one.is_denied and ours <= theirs  # not liking coffee excludes black coffee
    is_choice = not one.is_denied and one.is_choice and other.is_choice and one.slots.slot == other.slots.slot
    return is_choice and not (ours <= theirs or theirs <= ours)


def _may_be_one_case(one: str, other: str) -> bool:
    """True unless the qualifiers differ: tabs in Go and spaces in Python do not contradict each other."""
    first, second = set(content_stems(one)), set(content_stems(other))
    return not first or not second or bool(first & second)
