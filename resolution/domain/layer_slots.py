"""Where project state, facts and memories are about one thing, and whether they say the same of it.

They meet in words: those of a fact's concept and dimension, of the category and key of a state, of a memory's slot, and
of the project's slug, which a fact has to name. Which word stands in which of these parts, and what joins them, does
not matter: `p05.lateral-support [decision.material]` is about `decision.lateral_support_material` of the project
`p05`.

A memory without a slot meets them by what it plainly says: a fact by its concept and dimension, a state by its key
alone (`The lateral support material is PEEK.`)."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from memory.domain.channels import Channel
from memory.domain.cues.extractor import SpeechAct, find_cues
from memory.domain.types import NAMES, TYPE
from memory.semantic.domain.scope import PERSONAL
from memory.semantic.domain.slots import read_value
from memory.semantic.domain.stems import content_stems, stem, words_of

VERSION: Final = 3  # of these rules: what was found by a lower one is looked at again
WORDS_MIN: Final = 2  # without the project's: one word is too little to tell what something is about
_FILLERS: Final = frozenset({"of", "the"})
_JOINER: Final = re.compile(r"(?<=\w)(?:[-_]|\s+)(?=\w)")
_BEFORE_UNIT: Final = re.compile(r"(?<=\d) (?=[^\W\d_]|[%°])")
_NUMBER: Final = re.compile(r"\d+(?:[.,:]\d+)*")
BY_KEY: Final = "="  # before the words by which memories meet a state: nothing else is met by its key alone
_NAME: Final = r"(?:[A-Z][\w+#/-]*|[\w-]*\d[\w.,:+/-]*(?: [a-zA-Zµ°%]{1,3}\b)?|[a-z]+[A-Z]\w*)"  # or an amount
_VALUE: Final = rf"(?P<value>{_NAME}(?: {_NAME}){{0,4}})"
_ABOUT: Final = r"(?:(?:[Tt]he|[Oo]ur) )?(?P<about>[\w'’ /-]{3,80}?)"
_DECIDED: Final = r"(?:(?:[Tt]he team|[Ww]e) (?:(?:decided|agreed) (?P<to>to )|(?:decided|agreed) that )?)?"
_PLAIN: Final = (
    re.compile(rf"{_DECIDED}{_ABOUT}(?::| =| is| are| will be| must be)(?: now)? {_VALUE}(?: from now on)?"),
    re.compile(
        rf"{_DECIDED}(?:uses?|chose|picked|decided on|agreed on|settled on|switched to|moved to) {_VALUE}"
        rf" (?:for|as) {_ABOUT}(?: from now on)?"
    ),
)


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


def state_keys(project: str, category: str, key: str) -> set[str]:
    """Of a state: by the words of its category and key, and for memories by those of its key alone."""
    return {meeting_key(project, category, key), _by_key(meeting_key(project, key))} - {""}


def memory_keys(project: str, category: str, slot: str, text: str) -> set[str]:
    """Of a memory: by the words of its slot, with those of its category or without; if it has none, by what it says."""
    if slot:
        return {meeting_key(project, slot), meeting_key(project, category, slot)} - {""}
    return set() if category in PERSONAL else set(read_claims(project, text))


def read_claims(project: str, text: str) -> dict[str, str]:
    """What a sentence says of facts and states, by the words by which it meets them. Not of what kind something is: of
    that there is more than one answer. Empty for nearly all sentences."""
    claims: dict[str, str] = {}
    for match in find_cues(text, vocabulary=_AnyName()):
        is_plain = match.kind is not SpeechAct.RETRACTS and not match.is_hedged and match.channel is Channel.USER
        if is_plain and match.dimension not in (TYPE, NAMES):
            for slug in ("", project):
                claims[meeting_key(slug, match.subject, match.dimension)] = match.parent
    small = " ".join(text.split()).rstrip(" .!")
    for form in _PLAIN:
        if found := form.fullmatch(small):
            claims[_by_key(meeting_key(project, found["about"]))] = found["value"]
    return {key: value for key, value in claims.items() if key}


def key_of(project: str, words: Sequence[str]) -> str:
    """By which a conflict's sides have met, from what ``words_without`` has left of it."""
    key = meeting_key(project, *words)
    return _by_key(key) if BY_KEY in words else key


def _by_key(key: str) -> str:
    return f"{BY_KEY} {key}" if key else ""


class _AnyName:
    """A vocabulary in which each word may be the name of something: what is no fact's concept meets none."""

    def is_common(self, token: str) -> bool:
        return False

    def is_concept(self, token: str) -> bool:
        return True

    def is_place(self, token: str) -> bool:
        return True

    def find_dimension(self, concept: str, parent: str) -> str | None:
        return None


def words_without(key: str, project: str) -> list[str]:
    """What the key is about, inside of the project."""
    own = words_in(project) if project else frozenset[str]()
    return [word for word in key.split() if word not in own]


def same_value(one: str, other: str) -> bool:
    """Whether two values differ in nothing but case and what joins their words. `4.8 kg` is not `4.82 kg`."""
    return _normalise(one) == _normalise(other)


def are_different(one: str, other: str) -> bool:
    """Whether each of two values says what the other does not. `flask_app` only says more than `app`."""
    first, second = ({*_stems_without_numbers(value), *_NUMBER.findall(value)} for value in (one, other))
    return not (first <= second or second <= first)


def memory_denies(text: str, category: str, value: str) -> bool:
    """Whether a memory says another thing than this value, or that it is not so."""
    said, is_denied = read_value(text, category)
    wanted = set(content_stems(value))
    if wanted:
        is_named = wanted <= said and set(_NUMBER.findall(value)) <= set(_NUMBER.findall(text))
    else:
        is_named = _normalise(value) in _normalise(text)
    return is_named == is_denied


def _stems_without_numbers(value: str) -> set[str]:
    return {word for word in content_stems(value) if not word.isdigit()}


def _normalise(value: str) -> str:
    small = unicodedata.normalize("NFKC", value).casefold().strip(" .")
    return _BEFORE_UNIT.sub("", _JOINER.sub(" ", small))
