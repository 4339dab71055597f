"""Judges by its words if a sentence says again what a prompt is told anyway, or what holds no more."""

import re
from collections.abc import Collection, Iterable, Set
from typing import Final, NamedTuple

from memory.domain.language.english import changing, modality
from memory.domain.recall.rendering import ShownFact
from memory.domain.text.function_words import is_closed_class, split_words

_PARTS: Final = re.compile(r"[^\W_]+")
_ENDING: Final = re.compile(r"(?<=\w{3})(?:s|ed|ing)\Z")
_NAME: Final = re.compile(r"(?:(?<=\w\W)|(?<=, ))(?:[A-Z]|\w*\d)\w*")  # not a sentence's first word, which may be any
_SHORT: Final = 2  # characters: words that tell nothing, unless they are numbers
# Whom memories are about, and what people say besides without telling anything.
_EMPTY: Final = split_words(
    "user team assistant now actually currently way just well also still already nowadays remember note"
)
_OF_THE_SAME: Final = 0.6  # of a memory's words, from which on a sentence is the one it comes from
_SPARE: Final = 1  # words that such a sentence may have besides: `by the way`, the verb in another form
_CHANGE: Final = re.compile(
    rf"\b(?:{changing.ENDED}|{changing.MOVED}|{'|'.join(modality.NEGATIONS)}|\w+n't|stopped|forget|used to)\b",
    re.IGNORECASE,
)


class Ended(NamedTuple):
    """A fact that was in force until then, in seconds since the epoch, and is no more."""

    concept: str
    parent: str
    until: float


def words_of(text: str) -> set[str]:
    """Its content words in small letters, parted at joiners, without endings."""
    return {
        word
        for part in _PARTS.findall(text.casefold())
        if (len(part) > _SHORT or part.isdigit()) and not is_closed_class(word := _ENDING.sub("", part))
    } - _EMPTY


def repeats_memory(sentence: str, memories: Collection[str]) -> bool:
    """True if one of the memories comes from the sentence, and tells all of it."""
    if not memories:
        return False
    said, named = words_of(sentence), words_of(" ".join(_NAME.findall(sentence)))
    return any(
        _is_source(said, told) and len(said - told) <= _SPARE and named <= told for told in map(words_of, memories)
    )


def repeats_facts(sentence: str, facts: Iterable[ShownFact]) -> bool:
    """True if all that it tells stands in the facts."""
    told = {word for fact in facts for word in words_of(" ".join((fact.concept, fact.dimension, fact.parent)))}
    said = words_of(sentence)
    return bool(said) and said <= told


def is_withdrawn(sentence: str, said_at: float, memories: Collection[str], ended: Collection[Ended]) -> bool:
    """True if it says what one of these memories of it said, which hold no more, or a fact that has ended since."""
    if not memories and not ended:  # nearly always
        return False
    said = words_of(sentence)
    if any(_is_source(said, words_of(memory)) for memory in memories):
        return True
    gone = (each for each in ended if said_at < each.until and words_of(f"{each.concept} {each.parent}") <= said)
    return any(gone) and not _CHANGE.search(sentence)  # what tells of the change is still true


def _is_source(said: Set[str], told: Set[str]) -> bool:
    return bool(told) and len(said & told) >= _OF_THE_SAME * len(told)
