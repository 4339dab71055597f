"""Cuts sentences out of a text, fit to be stored: short, on one line, without secrets."""

import re
from collections import defaultdict
from collections.abc import Collection
from typing import Final

from memory.english.sentences import SentenceFinder, mask
from memory.english.tokenizer import tokenise
from memory.secrets.redaction import MARK, mask_secrets

EVIDENCE_MAX = 300  # characters
STATEMENT_MAX = 500  # characters of a sentence that states a fact
ELLIPSIS: Final = "\u2026"
_AROUND: Final = 1_000  # characters on each side that are looked at: a sentence is hardly longer

_QUOTED: Final = re.compile(r"\s*>[\s>]*")  # as a mail marks a quoted line; that it is one is stored elsewhere
# White space, control characters (Postgres refuses NUL), lone surrogates (not UTF-8), marks that reverse the writing
# direction.
_BLANK: Final = re.compile("[\\s\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")


class _Sentences:
    """The sentences of a text, within its lines. Code and JSON, which are masked in its ``prose``, end none."""

    def __init__(self, text: str) -> None:
        self.prose = mask(text)
        self._first, self._last = 0, -1  # the line that was looked at
        self._finder = SentenceFinder("")

    def at(self, position: int) -> tuple[int, int]:
        """Return the start and the end of the sentence that contains a character."""
        if not self._first <= position < self._last:
            self._first = self.prose.rfind("\n", 0, position) + 1
            end = self.prose.find("\n", position)
            self._last = end if end >= 0 else len(self.prose)
            self._finder = SentenceFinder(self.prose[self._first : self._last])
        sentence = self._finder.sentence_at(position - self._first)
        return self._first + sentence.start, self._first + sentence.end


def sentences_naming(text: str, names: Collection[str]) -> dict[str, str]:
    """Return for each of these tokens that the text names the first sentence that does, in the order of the text: one
    line, single-spaced, at most `EVIDENCE_MAX` characters, its secrets masked."""
    found: dict[str, str] = {}
    text = mask_secrets(text) if names else ""  # names within a secret do not count
    sentences = _Sentences(text)
    for token in tokenise(text):
        if token.text not in names or token.text in found:
            continue
        # The mark of a masked secret is read as a token, too.
        if text[max(0, token.start - 1) : token.end + 1] != MARK:
            found[token.text] = _cut(text, *sentences.at(token.start), token.start, token.end, EVIDENCE_MAX)
    return found


def sentence_stating(text: str, start: int, end: int) -> str:
    """Return the sentence around a statement, single-spaced, at most `STATEMENT_MAX` characters, its secrets masked."""
    first, last = max(0, start - _AROUND), end + _AROUND
    line_start = text.rfind("\n", first, start) + 1
    if not line_start and first:  # of a very long line only the surroundings
        line_start = text.find(" ", first, start) + 1 or first
    line_end = text.find("\n", end, last)
    line = text[line_start : line_end if line_end >= 0 else last]
    start, end = start - line_start, end - line_start
    sentences = _Sentences(line)
    bounds = sentences.at(start)[0], max(sentences.at(max(start, end - 1))[1], end)
    # Masked together with the preceding text, which may announce a secret.
    first, last, start, end = (len(mask_secrets(line[:at])) for at in (*bounds, start, end))
    return _cut(mask_secrets(line), first, last, start, end, STATEMENT_MAX)


def share_a_sentence(text: str, pairs: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the pairs of tokens that occur together in a sentence of the text's prose."""
    sentences, tokens = _Sentences(text), defaultdict[tuple[int, int], set[str]](set)
    for token in tokenise(sentences.prose):
        tokens[sentences.at(token.start)].add(token.text)
    return {pair for together in tokens.values() for pair in pairs if together.issuperset(pair)}


def _cut(text: str, first: int, last: int, start: int, end: int, length: int) -> str:
    """Return ``text[first:last]`` as it may be stored: of a long one, the words around ``text[start:end]``."""
    whole = _clean(text[first:last]) if last - first <= 2 * _AROUND else ""
    if whole and len(whole) <= length:
        return whole
    before = _BLANK.sub(" ", text[max(first, start - _AROUND) : start]).lstrip()
    part = _BLANK.sub(" ", text[start:end])
    after = _BLANK.sub(" ", text[end : min(last, end + _AROUND)]).rstrip()
    room = max(0, length - len(part) - 2 * len(ELLIPSIS))
    kept = max(room // 2, room - len(after))
    after = _cut_beginning(after, room - min(kept, len(before)))
    before = _cut_beginning(before[::-1], kept)[::-1]
    return f"{before}{part}{after}".strip()[:length]


def _cut_beginning(text: str, length: int) -> str:
    """Return the text, or as many of its first words as fit, and an ellipsis."""
    if len(text) <= length:
        return text
    end = text.rfind(" ", 0, length + 1)
    return text[: end if end > 0 else length] + ELLIPSIS


def _clean(text: str) -> str:
    if quoted := _QUOTED.match(text):
        text = text[quoted.end() :]
    return " ".join((text if text.isprintable() else _BLANK.sub(" ", text)).split())
