"""Judges by its words whether a sentence repeats what a prompt says anyway, or what is superseded."""

import re
from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from memory.english.function_words import is_closed_class, split_words
from memory.english.lexicon import load_words, read_pattern
from memory.recall.rendering import ShownFact

_PARTS: Final = re.compile(r"[^\W_]+")
_ENDING: Final = re.compile(r"(?<=\w{3})(?:s|ed|ing)\Z")
_SHORT: Final = 2  # characters: shorter words say nothing, unless they are numbers
# The subjects of memories, and filler words.
_EMPTY: Final = split_words(
    "user team assistant now actually currently way just well also still already nowadays remember note mind"
)
_NEGATIONS: Final = "|".join(sorted(load_words("negations")))
_CHANGE: Final = re.compile(
    rf"\b(?:{read_pattern('ended')}|{read_pattern('moved_away')}|{_NEGATIONS}|\w+n't|stopped|forget|used to)\b",
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


def repeats_facts(sentence: str, facts: Iterable[ShownFact]) -> bool:
    """True if the facts contain everything that the sentence says."""
    told = {word for fact in facts for word in words_of(" ".join((fact.concept, fact.dimension, fact.parent)))}
    said = words_of(sentence)
    return bool(said) and said <= told


def states_ended(sentence: str, said_at: float, ended: Collection[Ended]) -> bool:
    """True if the sentence states one of these facts, which ended after it was said."""
    said = words_of(sentence)
    gone = (each for each in ended if said_at < each.until and words_of(f"{each.concept} {each.parent}") <= said)
    return any(gone) and not _CHANGE.search(sentence)  # a sentence about the change is still true
