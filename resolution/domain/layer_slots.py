"""Where project state, facts and memories are about one thing, and whether they say the same of it.

They meet in words: those of a fact's concept and dimension, of the category and key of a state, of a memory's slot, and
of the project's slug, which a fact has to name. Which word stands in which of these parts, and what joins them, does
not matter: `p05.lateral-support [decision.material]` is about `decision.lateral_support_material` of the project
`p05`."""

import re
import unicodedata
from functools import lru_cache
from typing import Final

from memory.semantic.domain.slots import read_value
from memory.semantic.domain.stems import content_stems, stem, words_of

VERSION: Final = 1  # of these rules: what was found by a lower one is looked at again
WORDS_MIN: Final = 2  # without the project's: one word is too little to tell what something is about
_FILLERS: Final = frozenset({"of", "the"})
_JOINER: Final = re.compile(r"(?<=\w)(?:[-_]|\s+)(?=\w)")
_BEFORE_UNIT: Final = re.compile(r"(?<=\d) (?=[^\W\d_]|[%°])")
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")


@lru_cache(maxsize=65_536)
def words_in(part: str) -> frozenset[str]:
    """The stems of a name, without words that only join."""
    return frozenset(stem(word) for word in words_of(part) if word not in _FILLERS)


def meeting_key(project: str, *parts: str) -> str:
    """The words by which something of a project meets what other layers say of it, in order; empty where there are too
    few. ``project``: its slug, empty for facts, whose names may have it, and for what all projects share."""
    words = frozenset().union(*map(words_in, parts))
    own = words_in(project) if project else frozenset[str]()
    return " ".join(sorted(words | own)) if len(words - own) >= WORDS_MIN else ""


def memory_keys(project: str, category: str, slot: str) -> set[str]:
    """Of a memory: by the words of its slot, with those of its category or without."""
    keys = {meeting_key(project, slot), meeting_key(project, category, slot)} if slot else set()
    return keys - {""}


def words_without(key: str, project: str) -> list[str]:
    """What the key is about, inside of the project."""
    own = words_in(project) if project else frozenset[str]()
    return [word for word in key.split() if word not in own]


def same_value(one: str, other: str) -> bool:
    """Whether two values differ in nothing but case and what joins their words. `4.8 kg` is not `4.82 kg`."""
    return _normalise(one) == _normalise(other)


def memory_denies(text: str, category: str, value: str) -> bool:
    """Whether a memory says another thing than this value, or that it is not so."""
    said, is_denied = read_value(text, category)
    wanted = set(content_stems(value))
    if wanted:
        is_named = wanted <= said and set(_NUMBER.findall(value)) <= set(_NUMBER.findall(text))
    else:
        is_named = _normalise(value) in _normalise(text)
    return is_named == is_denied


def _normalise(value: str) -> str:
    small = unicodedata.normalize("NFKC", value).casefold().strip(" .")
    return _BEFORE_UNIT.sub("", _JOINER.sub(" ", small))
