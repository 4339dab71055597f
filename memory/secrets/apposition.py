"""Finds secrets right beside their label: `x is the password`, `use x as the password`, `with the password x`."""

import re
from typing import Final

from memory.english.function_words import split_words
from memory.secrets.shapes import (
    CLOSING,
    FILLER,
    GLANCE,
    MARK,
    PLACEHOLDER,
    REFERENCE,
    TECHNICAL,
    VALUE,
    looks_secret,
    span_of,
)
from memory.secrets.wording import Label, ends_clause, is_ordinary
from memory.types import Span

_USING: Final = split_words("use used uses using with by via enter type took take chose picked set try")
_BRINGING: Final = split_words("with using use by via")
_LINKS_BACK: Final = split_words("is was as")
_GAP: Final = re.compile(r"[ \t]{1,4}(?=\S)")
_BEFORE_MAX: Final = 80  # characters looked back from a label
_BETWEEN_MAX: Final = 3  # words: the old root


def find_in_apposition(text: str, label: Label) -> Span | None:
    """Return the secret right before the label, or right after it."""
    if (gap := _GAP.match(text, label.end)) is not None and (value := VALUE.match(text, gap.end(), gap.end() + GLANCE)):
        is_sure = text[label.start : label.end].lower() in ("pw", "pwd") or any(
            word.lower() in _BRINGING for word in _words_before(text, label)[-_BETWEEN_MAX:]
        )
        if _is_apposed(value[0], is_sure=is_sure) and (whole := VALUE.match(text, gap.end())) is not None:
            span = span_of(text, whole)
            return span if ends_clause(text, whole.end()) else None
    return _find_before(text, label) if ends_clause(text, label.end) else None


def _find_before(text: str, label: Label) -> Span | None:
    words = _words_before(text, label)
    links = (at for at in range(len(words) - 1, 0, -1) if words[at].lower() in _LINKS_BACK)
    at = next(links, 0)
    if not at or len(words) - 1 - at > _BETWEEN_MAX:
        return None
    value, before = words[at - 1], words[at - 2] if at > 1 else "."
    is_using = before.lower() in _USING
    # `The problem is the password`: a word is a value only if nothing precedes it.
    is_sure = is_using or before[-1] in ".!?:;,"
    if (words[at].lower() == "as" and not is_using) or not _is_apposed(value, is_sure=is_sure):
        return None
    inner = value.strip("\"'`*(")
    start = label.start
    for word in reversed(words[at - 1 :]):
        start = text.rfind(word, 0, start)
    start += value.index(inner)
    return start, start + len(inner)


def _words_before(text: str, label: Label) -> list[str]:
    """Return the line's words near the label; a word that is cut or masked, and those before it, become an ellipsis."""
    start = max(0, label.start - _BEFORE_MAX)
    line = text[start : label.start].rpartition("\n")
    words = line[2].split()
    if start and not line[1]:
        words[:1] = ["\u2026"]
    # The mask is shorter, so that more words would be seen before it the second time.
    masked = max((index for index, word in enumerate(words) if MARK in word or FILLER in word), default=-1)
    if masked >= 0:
        words[: masked + 1] = ["\u2026"]
    return words


def _is_apposed(value: str, *, is_sure: bool) -> bool:
    written = value.strip("\"'`*(").rstrip(CLOSING)
    if not any(map(str.isalnum, written)) or PLACEHOLDER.match(written) or REFERENCE.match(written):
        return False
    if TECHNICAL.match(written):
        return False
    if value[0] in "\"'`" or looks_secret(written):
        return " " not in written
    word = written.lower()
    return is_sure and written.isalnum() and not is_ordinary(word)
