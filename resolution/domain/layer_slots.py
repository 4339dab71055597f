"""The slots in which project state, facts and memories meet, and what they say of them.

They meet in words: those of a fact's concept and dimension, of the category and key of a state, of a memory's slot, and
of the project's slug, which a fact has to name. Which word stands in which of these parts, and what joins them, does
not matter: `p05.lateral-support [decision.material]` is about `decision.lateral_support_material` of the project
`p05`.

A memory that is not of a person meets them by what it claims: a fact by its concept and dimension, a state with its
category or by its key alone (`The lateral support material is PEEK.`)."""

from typing import Final

from memory.domain.claims import reader
from memory.domain.claims.claim import join_words, list_numbers, normalise, words_in
from memory.domain.claims.stems import content_stems
from memory.semantic.domain.scope import PERSONAL, kind_of
from memory.semantic.domain.slots import read_value

VERSION: Final = 5  # of these rules: what was found by a lower one is looked at again
WORDS_MIN: Final = 2  # without the project's: one word is too little to tell what something is about
BY_KEY: Final = "="  # before the words by which memories meet a state: nothing else is met by its key alone


def meeting_key(project: str, *parts: str) -> str:
    """The words by which something of a project meets what other layers say of it, in order; empty where there are too
    few. ``project``: its slug, empty for facts, whose names may have it, and for what all projects share."""
    words = frozenset().union(*map(words_in, parts))
    own = words_in(project) if project else frozenset[str]()
    return join_words(words | own) if len(words - own) >= WORDS_MIN else ""


def fact_key(concept: str, dimension: str) -> str:
    """Return the key of a fact's slot, which is exact: `server` and `servers` are two concepts. Other layers join its
    conflict as they meet the fact."""
    return f"{concept} [{dimension}]"


def state_key(project: str, category: str, key: str) -> str:
    """Return the key of a state's slot."""
    return meeting_key(project, category, key) or f"{project} {category}.{key}"


def memory_key(project: str, category: str, slot: str) -> str:
    """Return the key of a memory's slot; of a person's and of a slot of one word, nothing else has such a one."""
    met = "" if category in PERSONAL else meeting_key(project, slot)
    return met or " ".join(filter(None, (project, f"{kind_of(category)}:", slot)))


def state_keys(project: str, category: str, key: str) -> set[str]:
    """Return how a state is met: by the words of its category and key, and by memories by those of its key alone."""
    return {meeting_key(project, category, key), _by_key(meeting_key(project, key))} - {""}


def memory_keys(project: str, category: str, slot: str, text: str) -> set[str]:
    """Return how a memory is met: a person's by the words of its slot, with those of its category or without; others by
    what they claim."""
    if category in PERSONAL:
        return {meeting_key(project, slot), meeting_key(project, category, slot)} - {""} if slot else set()
    return set(read_claims(project, text))


def read_claims(project: str, text: str) -> dict[str, str]:
    """Return what a sentence says of facts and states, by the words by which it meets them; empty for nearly all."""
    claims: dict[str, str] = {}
    for claim in reader.read_claims(text):
        if not claim.is_denied:
            in_any, here = (meeting_key(slug, claim.subject, claim.relation) for slug in ("", project))
            claims |= dict.fromkeys((in_any, here, _by_key(here)), claim.value)
    return {key: value for key, value in claims.items() if key}


def _by_key(key: str) -> str:
    return f"{BY_KEY} {key}" if key else ""


def memory_denies(text: str, category: str, value: str) -> bool:
    """True if a memory says another thing than this value, or that it is not so."""
    said, is_denied = read_value(text, category)
    wanted = set(content_stems(value))
    if wanted:
        is_named = wanted <= said and set(list_numbers(value)) <= set(list_numbers(text))
    else:
        is_named = normalise(value) in normalise(text)
    return is_named == is_denied
