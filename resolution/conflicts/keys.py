"""The slots of project state, facts and memories, and the values that rows give them, in the form in which they are
stored and compared.

Rows are about the same slot if their keys are equal: the stems of a fact's concept and dimension, of a state's category
and key, of a memory's slot, and of the project's slug, which a fact must contain. It does not matter which part has
which word, or how they are joined: ``p05.lateral-support [decision.material]`` is about
``decision.lateral_support_material`` of the project ``p05``.

A memory that is not personal meets them by what it claims: a fact by its concept and dimension, a state by its category
and key or by the key alone (``The lateral support material is PEEK.``).
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from memory.english.claims import join_words, normalise, read_claims, read_plain, words_in
from memory.english.opposites import list_numbers
from memory.english.stems import content_stems
from memory.memories.scope import PERSONAL, kind_of
from memory.memories.slots import read_slot

VERSION: Final = 8  # of these rules: rows that a lower version has read are read again
WORDS_MIN: Final = 2  # besides the project's: one word is too little to tell what something is about
STATE_KEY_PREFIX: Final = "="  # prefix of the keys by which memories meet a state; alone, the key of what meets nothing

_JOINTS: Final = re.compile(r"[_.'@+-]")


class SlotValue(NamedTuple):
    """The value that a row gives a slot, normalised, with its stems and numbers."""

    key: str
    value: str
    words: Sequence[str]
    is_denied: bool = False


def carries(token: str, slug: str) -> bool:
    """True if the name contains the project's slug as whole parts: ``p05.lateral-support`` carries ``p05``."""
    parts, wanted = _JOINTS.split(token), _JOINTS.split(slug)
    return any(parts[at : at + len(wanted)] == wanted for at in range(len(parts) - len(wanted) + 1))


def make_slot_key(project: str, *parts: str) -> str:
    """Return the words of a slot, in order; "" if there are too few. ``project`` is the slug: empty for facts, whose
    names may contain it, and for what all projects share."""
    words = frozenset().union(*map(words_in, parts))
    own = words_in(project) if project else frozenset[str]()
    return join_words(words | own) if len(words - own) >= WORDS_MIN else ""


# --- keys of conflicts ---


def fact_key(concept: str, dimension: str) -> str:
    """Return the key of a fact's slot. It is exact: ``server`` and ``servers`` are two concepts. Other layers join the
    fact's conflict when they meet the fact."""
    return f"{concept} [{dimension}]"


def state_key(project: str, category: str, key: str) -> str:
    return make_slot_key(project, category, key) or f"{project} {category}.{key}"


def memory_key(project: str, category: str, slot: str) -> str:
    """Return the key of a memory's slot. Slots of a person, or of a single word, get a key that nothing in another
    layer has."""
    met = "" if category in PERSONAL else make_slot_key(project, slot)
    return met or " ".join(filter(None, (project, f"{kind_of(category)}:", slot)))


# --- values of rows ---


def read_fact(concept: str, dimension: str, parent: str) -> list[SlotValue]:
    return _give(parent, make_slot_key("", concept, dimension))


def read_state(project: str, category: str, key: str, value: str) -> list[SlotValue]:
    """Return the values by the words of category and key and, for memories, by those of the key alone."""
    return _give(value, make_slot_key(project, category, key), _by_key(make_slot_key(project, key)))


def read_memory(project: str, category: str, slot: str, text: str) -> list[SlotValue]:
    """Return what a memory says of slots. A personal one meets by the words of its slot, with or without those of its
    category; others by what they claim, which nearly all do not."""
    if category in PERSONAL:
        if not slot:
            return []
        claim, found = read_plain(text), read_slot(text, category)
        about = (claim.subject, claim.relation) if claim is not None else (slot,)
        value = found.value if found.stems else text
        words = sorted(_words_of(value).union(list_numbers(text)))
        keys = {make_slot_key(project, *about), make_slot_key(project, category, *about)} - {""}
        return [SlotValue(key, normalise(value), words, found.is_denied) for key in sorted(keys)]
    values: dict[str, SlotValue] = {}
    for claim in read_claims(text).values():
        if not claim.is_denied:
            in_any, here = (make_slot_key(slug, claim.subject, claim.relation) for slug in ("", project))
            values |= {one.key: one for one in _give(claim.value, in_any, here, _by_key(here))}
    return list(values.values())


def _give(value: str, *keys: str) -> list[SlotValue]:
    return [SlotValue(key, normalise(value), sorted(_words_of(value))) for key in dict.fromkeys(keys) if key]


@lru_cache(maxsize=65_536)
def _words_of(value: str) -> frozenset[str]:
    words = {*(word for word in content_stems(value) if not word.isdigit()), *list_numbers(value)}
    return frozenset(words or {normalise(value)})


def _by_key(key: str) -> str:
    return f"{STATE_KEY_PREFIX} {key}" if key else ""
