"""Judges by its words whether a sentence repeats what a prompt says anyway, or what is superseded."""

import re
from collections.abc import Collection, Iterable, Set
from typing import Final, NamedTuple

from memory.domain.language.english import changing, modality
from memory.domain.recall.rendering import ShownFact
from memory.domain.text.function_words import is_closed_class, split_words

_PARTS: Final = re.compile(r"[^\W_]+")
_ENDING: Final = re.compile(r"(?<=\w{3})(?:s|ed|ing)\Z")
_NAME: Final = re.compile(r"(?:(?<=\w\W)|(?<=, ))(?:[A-Z]|\w*\d)\w*")  # not the first word of a sentence
_SHORT: Final = 2  # characters: shorter words say nothing, unless they are numbers
# The subjects of memories, and filler words.
_EMPTY: Final = split_words(
    "user team assistant now actually currently way just well also still already nowadays remember note mind"
)
_OF_THE_SAME: Final = 0.6  # share of a memory's words from which a sentence counts as its source
_SPARE: Final = 1  # additional words allowed in such a sentence: `by the way`, the verb in another form
_CHANGE: Final = re.compile(
    rf"\b(?:{changing.ENDED}|{changing.MOVED}|{'|'.join(modality.NEGATIONS)}|\w+n't|stopped|forget|used to)\b",
    re.IGNORECASE,
)


class Ended(NamedTuple):
    """A fact that was current until then, in seconds since the epoch."""

    concept: str
    parent: str
    until: float


def words_of(text: str) -> set[str]:
    """Return the content words in lower case, split at joiners, without endings."""
    return {
        word
        for part in _PARTS.findall(text.casefold())
        if (len(part) > _SHORT or part.isdigit()) and not is_closed_class(word := _ENDING.sub("", part))
    } - _EMPTY


def repeats_memory(sentence: str, memories: Collection[str]) -> bool:
    """True if one of the memories comes from the sentence, and contains all of it."""
    if not memories:
        return False
    said, named = words_of(sentence), words_of(" ".join(_NAME.findall(sentence)))
    return any(
        _is_source(said, told) and len(said - told) <= _SPARE and named <= told for told in map(words_of, memories)
    )


def repeats_facts(sentence: str, facts: Iterable[ShownFact]) -> bool:
    """True if the facts contain everything that the sentence says."""
    told = {word for fact in facts for word in words_of(" ".join((fact.concept, fact.dimension, fact.parent)))}
    said = words_of(sentence)
    return bool(said) and said <= told


def is_withdrawn(sentence: str, said_at: float, memories: Collection[str], ended: Collection[Ended]) -> bool:
    """True if the sentence says the same as one of these superseded memories of it, or as a fact that has ended
    since."""
    if not memories and not ended:  # nearly always
        return False
    said = words_of(sentence)
    if any(_is_source(said, words_of(memory)) for memory in memories):
        return True
    gone = (each for each in ended if said_at < each.until and words_of(f"{each.concept} {each.parent}") <= said)
    return any(gone) and not _CHANGE.search(sentence)  # a sentence about the change is still true


def _is_source(said: Set[str], told: Set[str]) -> bool:
    return bool(told) and len(said & told) >= _OF_THE_SAME * len(told)
