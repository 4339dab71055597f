"""Formats counts, times and facts in words."""

import re
from typing import Final

from memory.dimensions import KINDS, find_entity_type
from memory.types import GEOGRAPHY, MEMBERSHIP, NAMES, TYPE, Triple

UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))

# The verbs of facts whose parent is not a kind of its concept.
VERBS: Final = {
    MEMBERSHIP: "is part of",
    GEOGRAPHY: "is in",
    "runs-on": "runs on",
    "owned-by": "is owned by",
    "tech": "is built with",
    "uses": "uses",
    NAMES: "is another name of",
}
# By sound, as far as the spelling shows it: an app, a user, a unit, a European one.
_TAKES_AN: Final = re.compile(r"(?!eu|uni(?![nm])|us[aeb]|uti)[aeiou]|hour", re.IGNORECASE)


def format_duration(seconds: float) -> str:
    """Format a duration in its largest unit, as in "3 minutes"."""
    whole = max(0, round(seconds))
    size, name = next((unit for unit in UNITS if whole >= unit[0]), UNITS[-1])
    return format_count(whole // size, name)


def format_count(count: int, one: str, many: str = "") -> str:
    """Format a count, as in "1 statement" and "2,000 statements"; ``many`` if the plural does not end in s."""
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def shorten(text: str, most: int) -> str:
    """Return the first ``most`` characters, with an ellipsis if there are more."""
    return f"{text[:most]}…" if len(text) > most else text


def phrase(concept: str, parent: str, dimension: str, *, is_isa: bool) -> str:
    """Phrase a fact: ``mimir runs on tyr``, ``kvasir is a service``."""
    return f"{concept} {as_predicate(parent, dimension, is_isa=is_isa)} {parent}"


def as_predicate(parent: str, dimension: str, *, is_isa: bool) -> str:
    """Return the words between concept and parent: ``runs on``, ``is a``."""
    if is_isa:
        return "is an" if _TAKES_AN.match(parent) else "is a"
    return VERBS.get(dimension, "is in")


def tells_dimension(dimension: str, *, is_isa: bool) -> bool:
    """True if the phrased fact implies its dimension."""
    return dimension == TYPE if is_isa else dimension in VERBS


def gives_value(dimension: str) -> bool:
    """True if a fact in the dimension gives a value, not a kind of its concept."""
    return bool(find_entity_type(dimension)) and dimension not in KINDS


def as_sentence(concept: str, parent: str, dimension: str, *, is_isa: bool) -> str:
    """Phrase a fact as prompts have it: ``kvasir runs on tyr``, ``mount has peek as its material``, ``ada is an author
    (role)``."""
    if is_isa and gives_value(dimension):
        return f"{concept} has {parent} as its {dimension}"
    told = "" if tells_dimension(dimension, is_isa=is_isa) else f" ({dimension})"
    return f"{phrase(concept, parent, dimension, is_isa=is_isa)}{told}"


def as_compact(concept: str, parent: str, dimension: str, *, is_isa: bool) -> str:
    """Phrase a fact for operators, with the dimension unless the verb implies it: ``gnommoweb is a repo [type]``,
    ``kvasir runs on turing``, ``mount has peek as its material``."""
    if is_isa and gives_value(dimension):
        return f"{concept} has {parent} as its {dimension}"
    fact = phrase(concept, parent, dimension, is_isa=is_isa)
    return fact if not is_isa and tells_dimension(dimension, is_isa=is_isa) else f"{fact} [{dimension}]"


def format_triple(fact: Triple) -> str:
    return as_compact(fact.concept, fact.parent, fact.dimension, is_isa=fact.is_isa)
