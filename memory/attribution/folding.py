"""Folds a text before it is searched for marks: full-width forms, invisible characters and odd line ends hide none."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

_LINE_ENDS: Final = re.compile(r"\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


class FoldedText(NamedTuple):
    """A folded text. ``places``: the offset in the source of each of its characters, then of the end; empty if the
    offsets are the same."""

    text: str
    places: Sequence[int] = ()

    def source_span(self, start: int, end: int) -> tuple[int, int]:
        return (self.places[start], self.places[end]) if self.places else (start, end)


def fold(text: str) -> FoldedText:
    r"""Fold a text: each character in NFKC if that is one character, no format characters, lines ended by ``\n``.
    Linear in its length."""
    text = _LINE_ENDS.sub(lambda end: " \n" if len(end[0]) == 2 else "\n", text)
    if text.isascii():
        return FoldedText(text)
    forms = {ord(character): form for character in set(text) if (form := _fold_character(character)) != character}
    places: Sequence[int] = ()
    if "" in forms.values():
        places = [at for at, character in enumerate(text) if forms.get(ord(character), character)] + [len(text)]
    return FoldedText(text.translate(forms), places)


@lru_cache(maxsize=8192)
def _fold_character(character: str) -> str:
    if unicodedata.category(character) == "Cf":
        return ""
    form = unicodedata.normalize("NFKC", character)
    return form if len(form) == 1 else character
