"""The forms of a clause about something that has happened: a decision, a change from one thing to another."""

import re
from typing import Final, NamedTuple

from memory.domain.language.english import memory_phrases as english
from memory.semantic.domain.rewording import about_user, as_sentence
from memory.semantic.domain.things import is_own_object, points

STATED: Final = 0.8  # confidence in a form, before the trust of its channel
EXPLICIT: Final = 0.9
NAME_WORDS_MAX: Final = 3

_SWITCHED: Final = re.compile(
    rf"(?P<who>i|we)(?:'ve| have)? (?:{english.ADVERBS})*(?P<verb>switched|migrated|moved)(?: over)?"
    rf"(?: from (?P<old>[^,.;]+?))? to (?P<object>[^,.;]+?){english.TIME_TAIL}"
)
_DECIDED: Final = re.compile(
    r"(?:(?:yesterday|today|last \w+|this (?:morning|week|month)|in (?:the|our|today's) "
    r"[\w ]{1,30}?),? )?(?P<who>we|the team|our team|it was|the (?:board|group|committee)) ?"
    rf"{english.DECIDED}\s+(?P<what>to|not to|that|on|upon|against|never to|always to)\s+(?P<object>.+)"
)
_NOW_VERB: Final = re.compile(r"\b(now|nowadays|these days)\s+", re.I)


class Said(NamedTuple):
    text: str
    category: str
    confidence: float = STATED
    slot: str = ""  # if the form names it
    is_change: bool = False


def read_switch(original: str, small: str) -> Said | None:
    found = _SWITCHED.fullmatch(small)
    if found is None or points(small):
        return None
    new = original[slice(*found.span("object"))]
    instead = f" instead of {original[slice(*found.span('old'))]}" if found["old"] else ""
    is_ones_own = found["who"] == "i"
    if found["verb"] != "moved":
        told = as_sentence(f"{about_user(found['who'])} now uses {new}{instead}")
        is_told = is_own_object(new, found["object"]) and (bool(instead) or new[0].isupper())
        return Said(told, "preference" if is_ones_own else "project", is_change=True) if is_told else None
    if len(new.split()) > NAME_WORDS_MAX or not all(word[0].isupper() for word in new.split()):
        return None  # `I moved from the list to the table`
    return Said(tell(original), "identity" if is_ones_own else "project", is_change=True)


def read_decision(original: str, small: str) -> Said | None:
    found = _DECIDED.fullmatch(small)
    if found is None or (found["who"] != "we" and found["verb"] == "chose" and found["what"] != "to"):
        return None
    words = found["object"].split()
    if not words or words[0] in english.POINTING_FIRST - {"all", "each", "every", "no", "one"}:
        return None
    if re.search(r"\b(?:it|this|these|those|you|your|yet)\b", small[found.start("what") :]):
        return None
    idle = words[1] if words[0] == "go" and len(words) > 1 else words[0]
    if idle in english.NO_DECISIONS or (
        found["what"] in ("on", "upon", "against") and words[0] == "the" and len(words) < 3
    ):
        return None
    who = "the team" if found["who"] in ("we", "our team", "it was") else found["who"]
    told = f"{who} {original[found.start('verb') :]}"
    return Said(as_sentence(about_user(told)), "project", EXPLICIT)


def tell(original: str) -> str:
    """Return the clause as a sentence about the user or the team, as of now."""
    return as_sentence(about_user(_NOW_VERB.sub("", original) if re.match(r"(?i)(?:i|we)\b", original) else original))
