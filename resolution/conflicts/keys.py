"""The slots in which project state, facts and memories meet, and what the layers say about them.

They meet by their words: those of a fact's concept and dimension, of a state's category and key, of a memory's slot,
and of the project's slug, which a fact must contain. It does not matter which part has which word, or how they are
joined: ``p05.lateral-support [decision.material]`` is about ``decision.lateral_support_material`` of the project
``p05``.

A memory that is not personal meets them by what it claims: a fact by its concept and dimension, a state by its category
and key or by the key alone (``The lateral support material is PEEK.``).
"""

import re
from typing import Final

from memory.english import claims as reader
from memory.english.claims import join_words, normalise, words_in
from memory.english.opposites import list_numbers
from memory.english.stems import content_stems
from memory.memories.scope import PERSONAL, kind_of
from memory.memories.slots import read_slot

VERSION: Final = 7  # of these rules: slots found by a lower version are computed again
WORDS_MIN: Final = 2  # besides the project's: one word is too little to tell what something is about
BY_KEY: Final = "="  # prefix of keys by which memories meet a state: nothing else is met by its key alone

_JOINTS: Final = re.compile(r"[_.'@+-]")


def carries(token: str, slug: str) -> bool:
    """True if the name contains the project's slug as whole parts: ``p05.lateral-support`` carries ``p05``."""
    parts, wanted = _JOINTS.split(token), _JOINTS.split(slug)
    return any(parts[at : at + len(wanted)] == wanted for at in range(len(parts) - len(wanted) + 1))


def meeting_key(project: str, *parts: str) -> str:
    """Return the words by which something of a project meets other layers, in order; "" if there are too few.
    ``project`` is the slug: empty for facts, whose names may contain it, and for what all projects share."""
    words = frozenset().union(*map(words_in, parts))
    own = words_in(project) if project else frozenset[str]()
    return join_words(words | own) if len(words - own) >= WORDS_MIN else ""


def fact_key(concept: str, dimension: str) -> str:
    """Return the key of a fact's slot. It is exact: ``server`` and ``servers`` are two concepts. Other layers join the
    fact's conflict when they meet the fact."""
    return f"{concept} [{dimension}]"


def state_key(project: str, category: str, key: str) -> str:
    return meeting_key(project, category, key) or f"{project} {category}.{key}"


def memory_key(project: str, category: str, slot: str) -> str:
    """Return the key of a memory's slot. Slots of a person, or of a single word, get a key that nothing in another
    layer has."""
    met = "" if category in PERSONAL else meeting_key(project, slot)
    return met or " ".join(filter(None, (project, f"{kind_of(category)}:", slot)))


def state_keys(project: str, category: str, key: str) -> set[str]:
    """Return the keys by which a state is met: the words of category and key and, for memories, those of the key
    alone."""
    return {meeting_key(project, category, key), _by_key(meeting_key(project, key))} - {""}


def memory_keys(project: str, category: str, slot: str, text: str) -> set[str]:
    """Return the keys by which a memory is met. A personal one is met by the words of its slot, with or without those
    of its category; others by what they claim."""
    if category in PERSONAL:
        claim = reader.read_plain(text)
        about = (claim.subject, claim.relation) if claim is not None else (slot,)
        return {meeting_key(project, *about), meeting_key(project, category, *about)} - {""} if slot else set()
    return set(read_claims(project, text))


def read_claims(project: str, text: str) -> dict[str, str]:
    """Return the values that a sentence claims for facts and states, by the keys by which it meets them. Empty for
    nearly all sentences."""
    claims: dict[str, str] = {}
    for claim in reader.read_claims(text).values():
        if not claim.is_denied:
            in_any, here = (meeting_key(slug, claim.subject, claim.relation) for slug in ("", project))
            claims |= dict.fromkeys((in_any, here, _by_key(here)), claim.value)
    return {key: value for key, value in claims.items() if key}


def _by_key(key: str) -> str:
    return f"{BY_KEY} {key}" if key else ""


def memory_denies(text: str, category: str, value: str) -> bool:
    """True if the memory gives another value than this one, or denies it."""
    slot = read_slot(text, category)
    said = slot.stems or frozenset(content_stems(text))
    wanted = set(content_stems(value))
    if wanted:
        is_named = wanted <= said and set(list_numbers(value)) <= set(list_numbers(text))
    else:
        is_named = normalise(value) in normalise(text)
    return is_named == slot.is_denied
