"""Finds the slot of a memory, which can have one value, and whether two memories of one slot contradict each other.

A preference has the slot of what is preferred, and "prefers A to B" that of both. About a person, role, background and
credentials have slots, and whatever the form that said it names. All other memories have the slot that they make a
claim about, if they leave no room for another value."""

import re
from dataclasses import dataclass
from itertools import islice
from typing import Final, NamedTuple

from memory.domain.claims.claim import Claim, exclude_each_other, same_value
from memory.domain.claims.oppositions import Opposition, count_negations, find_opposition
from memory.domain.claims.reader import read_claims
from memory.domain.claims.stems import content_stems, stem, words_of
from memory.domain.cues.noun_phrases import is_adjective
from memory.domain.language.english import memory_phrases as english
from memory.domain.text.function_words import DETERMINERS, is_closed_class
from memory.semantic.domain.scope import PERSONAL
from memory.semantic.domain.things import is_trade, single

VERSION: Final = 5  # of these rules: memories with a lower one are examined again
SLOT_MAX: Final = 200  # characters

# Verbs of a preference: one thing is chosen, or any number is liked.
_CHOOSES: Final = r"prefers?|uses?|sticks? to|swears? by|relies on|favou?rs?"
_LIKES: Final = r"likes?|loves?|enjoys?|adores?|is (?:a )?(?:big |huge |great )*(?:fan of|fond of|keen on)"
_DISLIKES: Final = (
    r"hates?|dislikes?|avoids?|loathes?|detests?|despises?|can't stand|cannot stand|can't bear|doesn't care for"
)
_PREFERENCE: Final = re.compile(
    r"(?P<before>(?:[\w'’.-]+ ){0,6}?)(?P<verb>(?P<chooses>"
    rf"{_CHOOSES})|(?P<likes>{_LIKES}|like|love|enjoy)|(?P<dislikes>{_DISLIKES})|(?P<plain>use|prefer|avoid))\s+"
    r"(?P<object>.+)"
)
_FAVOURITE: Final = re.compile(
    r"(?:[\w'’.-]+ ){0,3}?(?:favou?rite|preferred|default|go-to) (?P<noun>[\w' -]{1,60}?) (?:is|are)"
    r"(?P<denied>n't| not| no longer)? (?P<object>.+)"
)
_OVER: Final = re.compile(r",? (?:to|over|rather than|instead of|more than|better than|than|but not|not)\b ")
_QUALIFIER: Final = re.compile(
    r",? \b(?:for|at|in|on|when|while|with|because|as|since|during|if|except|unless|from|by|after|before)\b "
)
_ASKS: Final = re.compile(r"(?:not )?to ")
_NO_LONGER: Final = re.compile(r"\bno longer ")
_ANYMORE: Final = re.compile(r" any ?(?:more|longer)$")
_WORD: Final = re.compile(r"\S+")
DENIED_WORDS: Final = 12  # from the start of a sentence: its denial comes before one of them
_ATTRIBUTE: Final = re.compile(r"(?:the )?user's (?P<noun>[\w -]{1,60}?) (?:is|are)(?: now)? ")
_OF_OTHERS: Final = re.compile(
    r"(?:the )?user's "
)  # what is not theirs by one of their attributes: `the user's wife is`
_CALLED: Final = re.compile(r"(?:the )?user wants to be called ")
_AGED: Final = re.compile(r"(?:the )?user is \d{1,3} years old")
_WORKS_AS: Final = re.compile(r"\b(?:works? as|(?:job|role|profession|occupation|title) (?:is|are))\b")
_IS_A: Final = re.compile(r"\b(?:is|am|i'm) (?:now |also |currently |not |no longer )*(?:an?|the) (?P<object>.+)")
_CREDENTIALS: Final = re.compile(rf"\b{english.CREDENTIALS}\b")
_BACKGROUND: Final = re.compile(rf"\b{english.BACKGROUND}\b")
_COMES_FROM: Final = re.compile(r"\b(comes? from|is from|grew up|was born|was raised)\b (?:in |on )?(?P<object>.+)")
_VALUE: Final = re.compile(r"\b(?:is|are|was|be)(?: now)?(?: called| named)? (?P<object>.+)")
_OF_ROLE: Final = frozenset({"job", "role", "profession", "occupation", "title"})


class Slots(NamedTuple):
    """The slots of a memory: ``slot`` is that of what is preferred or said, ``other`` that of what comes after it;
    empty if there is none."""

    slot: str = ""
    other: str = ""


@dataclass(frozen=True, slots=True)
class _Preference:
    is_choice: bool
    is_denied: bool
    chosen: str
    over: str
    qualifier: str


def find_slots(text: str, category: str, named: str = "") -> Slots:
    """Find the slots of a memory with this text. ``named``: the slot that the form names in which it was said."""
    small = _simplify(text)
    if category == "preference":
        if named:
            return Slots(" ".join(content_stems(named))[:SLOT_MAX])
        preference = _read_preference(small)
        if preference is None:
            return Slots()
        return Slots(head_stem(preference.chosen), head_stem(preference.over))
    if category == "identity":
        return Slots(_identity_slot(small, named))
    if category in PERSONAL:
        return Slots(named[:SLOT_MAX])
    claim = next((claim for claim in read_claims(text) if claim.is_named), None)
    return Slots(claim.slot[:SLOT_MAX] if claim is not None else "")


def meet(one: Slots, other: Slots) -> bool:
    """True if memories with these slots may contradict each other: two that only come after something else do not."""
    return bool(
        (one.slot and one.slot in other) or (other.slot and other.slot in one)
    )  # fmt: skip


def contradicts(one: str, other: str, category: str, slot: str = "") -> bool:
    """True if two texts of a category whose slots meet contradict each other. Symmetric."""
    if category not in PERSONAL:
        return _clash_in_claim(one, other, slot)
    first, second = _simplify(one), _simplify(other)
    if first == second:
        return False
    if category == "preference":
        preferences = _read_preference(first), _read_preference(second)
        if preferences[0] is None or preferences[1] is None:
            return False
        return _clash(preferences[0], preferences[1]) or _clash(preferences[1], preferences[0])
    if slot in ("background", "credentials"):
        return _clash_in_background(first, second)
    return _clash_in_value(first, second)


def retells(memory: str, said: str, category: str) -> bool:
    """True if a memory says what is ``said`` of the same slot, or more."""
    ours, theirs = _simplify(memory), _simplify(said)
    if category != "preference":
        return not _is_denied(ours, theirs) and _stems_told(theirs) <= _stems_told(ours)
    own, other = _read_preference(ours), _read_preference(theirs)
    if own is None or other is None or (own.is_choice, own.is_denied) != (other.is_choice, other.is_denied):
        return False
    is_same = set(content_stems(other.chosen)) <= set(content_stems(own.chosen))
    return is_same and _may_be_one_case(own.over, other.over) and _may_be_one_case(own.qualifier, other.qualifier)


def denied_by(text: str) -> str:
    """Return what a sentence says to be no longer true, as a sentence; "" if it does not say that."""
    found = _NO_LONGER.search(text)
    return f"{text[: found.start()]}{text[found.end() :]}" if found else ""


def list_denials(text: str) -> list[str]:
    """Return the sentences that say that this one is no longer true."""
    starts = [found.start() for found in islice(_WORD.finditer(text), DENIED_WORDS)]
    return [f"{text[:at]}no longer {text[at:]}" for at in starts]


def read_value(text: str, category: str) -> tuple[frozenset[str], bool]:
    """Return the stems of what a memory says of its slot, and whether it denies that."""
    small = _simplify(text)
    preference = _read_preference(small) if category == "preference" else None
    if preference is not None:
        return frozenset(content_stems(preference.chosen)), preference.is_denied
    return frozenset(_value_of(small)), count_negations(small) % 2 == 1


def find_value(text: str, category: str) -> str:
    """Return what a memory says of its slot, in its words; "" if it denies something, or no form tells."""
    for claim in read_claims(text) if category not in PERSONAL else ():
        return "" if claim.is_denied else claim.value
    small = _simplify(text)
    preference = _read_preference(small) if category == "preference" else None
    is_denied = preference.is_denied if preference is not None else count_negations(small) % 2 == 1
    favourite = _FAVOURITE.match(small) if preference is not None else None
    phrase = preference.chosen if preference is not None and favourite is None else _phrase_of(small)
    words = phrase.split()
    while words and words[0] in DETERMINERS:
        words.pop(0)
    return "" if is_denied else " ".join(words)


def head_stem(phrase: str) -> str:
    """Return the stem of the head noun of a phrase; "" if it has none."""
    words = [word for word in words_of(_QUALIFIER.split(f" {phrase} ", maxsplit=1)[0]) if word not in DETERMINERS]
    while len(words) > 1 and (words[-1].isdigit() or is_adjective(words[-1]) or is_closed_class(words[-1])):
        words.pop()
    return stem(words[-1])[:SLOT_MAX] if words and not is_closed_class(words[-1]) else ""


def _simplify(text: str) -> str:
    """Return the text in lower case, without the `anymore` of a denial."""
    return _ANYMORE.sub("", " ".join(text.lower().replace("’", "'").strip(" .!").split()))


def _read_preference(small: str) -> _Preference | None:
    if found := _FAVOURITE.match(small):
        chosen, qualifier = _cut(found["object"], _QUALIFIER)
        return _Preference(True, bool(found["denied"]), f"{chosen} {found['noun']}", "", qualifier)
    found = _PREFERENCE.match(small)
    if found is None:
        return None
    rest = _ASKS.sub("", found["object"], count=1) if _ASKS.match(found["object"]) else found["object"]
    chosen, over = _cut(rest, _OVER)
    over, after_over = _cut(over, _QUALIFIER)
    chosen, qualifier = _cut(chosen, _QUALIFIER)
    denials = count_negations(found["before"]) + bool(found["dislikes"] or found["object"].startswith("not to "))
    denials += found["plain"] == "avoid"
    return _Preference(
        bool(found["chooses"] or found["plain"]), denials % 2 == 1, chosen, over, qualifier or after_over
    )


def _cut(text: str, at: re.Pattern[str]) -> tuple[str, str]:
    """Split a text at the words that the pattern finds; return what is before and after them."""
    found = at.search(text)
    return (text[: found.start()], text[found.end() :]) if found else (text, "")


def _clash(one: _Preference, other: _Preference) -> bool:
    """True if the first, or what it says of the second's other, cannot be true beside the second."""
    ours, theirs = set(content_stems(one.chosen)), set(content_stems(other.chosen))
    if not ours or not theirs or not _may_be_one_case(one.qualifier, other.qualifier):
        return False
    rejected = set(content_stems(other.over))
    if rejected and not one.is_denied and not other.is_denied and (ours <= rejected or rejected <= ours):
        return not (theirs <= ours)
    if one.is_denied and not other.is_denied:
        return ours <= theirs  # not liking coffee excludes black coffee
    if one.is_denied or other.is_denied or not (one.is_choice and other.is_choice):
        return False
    return head_stem(one.chosen) == head_stem(other.chosen) and not (ours <= theirs or theirs <= ours)


def _may_be_one_case(one: str, other: str) -> bool:
    """True unless the qualifiers differ: tabs in Go and spaces in Python do not contradict each other."""
    first, second = set(content_stems(one)), set(content_stems(other))
    return not first or not second or bool(first & second)


def _identity_slot(small: str, named: str) -> str:
    named = named or _find_named(small)
    if not named and _OF_OTHERS.match(small):
        return ""
    if named in _OF_ROLE or _WORKS_AS.search(small):
        return "role"
    if named:
        return named[:SLOT_MAX]
    if _CREDENTIALS.search(small):
        return "credentials"
    if found := _IS_A.search(small):
        head = _QUALIFIER.split(f" {found['object']} ", maxsplit=1)[0].split(" of ")[0].split()
        if head and is_trade(head[-1].strip(",.")):
            return "role"
    return "background" if _BACKGROUND.search(small) else ""


def _find_named(small: str) -> str:
    """Return the slot that a form would name, for a sentence that somebody wrote about the user."""
    if found := _ATTRIBUTE.match(small):
        words = found["noun"].split()
        return " ".join(map(single, words)) if words[-1] in english.ATTRIBUTES else ""
    return "called" if _CALLED.match(small) else "age" if _AGED.match(small) else ""


def _value_of(small: str) -> set[str]:
    return set(content_stems(_phrase_of(small) or _QUALIFIER.split(f"{small} ", maxsplit=1)[0]))


def _phrase_of(small: str) -> str:
    """Return what it says that something is; "" if it does not say so."""
    return _QUALIFIER.split(f"{_object_of(small)} ", maxsplit=1)[0].strip()


def _object_of(small: str) -> str:
    """Return the same with its qualifiers."""
    found = _IS_A.search(small) or _VALUE.search(small)
    return found["object"] if found else small.partition(" as ")[2]


def _stems_told(small: str) -> set[str]:
    return set(content_stems(_object_of(small) or small))


def _clash_in_value(one: str, other: str) -> bool:
    """True if they give it two values, or one denies the other's: not an engineer means not a thermal engineer either,
    but maybe a nurse."""
    ours, theirs = _value_of(one), _value_of(other)
    if not _is_denied(one, other):
        return count_negations(one) % 2 == 0 and not _is_refined(ours, theirs)
    return ours <= theirs if count_negations(one) % 2 else theirs <= ours


def _clash_in_claim(one: str, other: str, slot: str) -> bool:
    """True if they give a slot two values, or one denies the other's."""
    first, second = (_find_claim(text, slot) for text in (one, other))
    if first is None or second is None:
        return False
    if first.is_denied != second.is_denied:
        return same_value(first.value, second.value)
    return not first.is_denied and exclude_each_other(first.value, second.value)


def _find_claim(text: str, slot: str) -> Claim | None:
    return next((claim for claim in read_claims(text) if claim.slot[:SLOT_MAX] == slot), None)


def _is_refined(one: set[str], other: set[str]) -> bool:
    return one <= other or other <= one


def _is_denied(one: str, other: str) -> bool:
    return count_negations(one) % 2 != count_negations(other) % 2


def _clash_in_background(one: str, other: str) -> bool:
    """True if two backgrounds clash: people have many, but they come from only one place."""
    first, second = _COMES_FROM.search(one), _COMES_FROM.search(other)
    if first and second and first[1][:2] == second[1][:2]:
        return not _is_refined(set(content_stems(first["object"])), set(content_stems(second["object"])))
    return (
        _is_denied(one, other)
        and find_opposition(one, other) is Opposition.NEGATION
        and _is_refined(set(content_stems(one)), set(content_stems(other)))
    )
