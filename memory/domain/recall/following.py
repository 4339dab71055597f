"""Whether a message goes on with what was spoken of before it."""

import re
from typing import Final

from memory.domain.language.english import requests
from memory.domain.recall.notes import find_content_words
from memory.domain.text.function_words import split_words

_WORD: Final = re.compile(r"[^\W_]+")
_REFERRING: Final = split_words("it its he him his she her hers they them their theirs")
_GOING_ON: Final = split_words("and also or then now but instead again another same too else")
_OPENING_MAX: Final = 3  # words, among which one of these tells that something else is to follow of the same
_SAYS_MIN: Final = 2  # content words of what can be understood by itself


def refers_back(text: str) -> bool:
    """Whether it names what it is about only by a pronoun. What stands behind a colon is only worked on."""
    return not _REFERRING.isdisjoint(_WORD.findall(text.partition(":")[0].lower()))


def goes_on(text: str, before: str) -> bool:
    """Whether a message is about the same as the one before it."""
    words = find_subject_words(text)
    opening = _WORD.findall(text[:100].lower())[:_OPENING_MAX]
    return (
        len(words) < _SAYS_MIN
        or not _GOING_ON.isdisjoint(opening)
        or refers_back(text)
        or not words.isdisjoint(find_subject_words(before))
    )


def find_subject_words(text: str) -> set[str]:
    """Its content words but those with which one asks for anything: `plan`, `write`."""
    return find_content_words(text) - requests.TASKS
