"""Splits long texts into portions that are read one after the other, so that others may run in between."""

import re
from collections.abc import Iterator
from typing import Final

from memory.domain.steps import Steps
from memory.domain.text.tokenizer import WordSets

_BLANK: Final = re.compile(r"\s")


def split_for_reading(text: str, size: int) -> Iterator[str]:
    """Yield the text in parts of roughly this size that can be read separately: no word crosses the end of one, nor
    does any name of several words that is short enough to be one."""
    start = 0
    while start < len(text):
        if len(text) - start <= size:  # as most texts are
            yield text[start:]
            return
        end = text.find("\n", start + size, start + 2 * size) + 1
        if not end:
            # Before a word in lower case, which continues no name; if there is none, between any two words.
            blanks = _BLANK.finditer(text, start + size, start + 2 * size)
            found = next((blank for blank in blanks if text[blank.end() : blank.end() + 1].islower()), None)
            found = found or _BLANK.search(text, start + 2 * size)
            end = len(text) if found is None else found.end()
        yield text[start:end]
        start = end


def unite_words(parts: Iterator[WordSets]) -> Steps[WordSets]:
    """Return the words of all portions, a step for each."""
    found = next(parts, None) or WordSets(set(), set())
    openings = dict(found.openings)
    yield
    for part in parts:
        found.tokens.update(part.tokens)
        found.emphasised.update(part.emphasised)
        openings.update(part.openings)
        yield
    return found._replace(openings=openings)
