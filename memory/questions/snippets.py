"""Cuts out the sentences of a text that name a concept, fit to be stored: short, on one line, without secrets."""

import re
import unicodedata
from collections.abc import Collection, Iterator
from typing import Final

from memory.english.sentences import SentenceFinder, mask
from memory.english.tokenizer import find_words, tokenise
from memory.english.unicode import normal_text, normalise
from memory.secrets.redaction import MARK, mask_secrets

EVIDENCE_MAX = 300  # characters
STATEMENT_MAX = 500  # characters of a sentence that states a fact
ELLIPSIS: Final = "\u2026"
# A longer line is data, or prose anyway: it is not searched for code. A longer sentence is read in pieces.
_LONG: Final = 1_000  # characters

_RUN: Final = re.compile(r"[^\W_]+")
_FULL_STOP: Final = re.compile(r"[.!?\u2026\u3002\uff01\uff1f]\S*\s")
_QUOTED: Final = re.compile(r"\s*>[\s>]*")  # as a mail marks a quoted line; that it is one is stored elsewhere
# White space, control characters (Postgres refuses NUL), lone surrogates (not UTF-8), marks that reverse the writing
# direction.
_BLANK: Final = re.compile("[\\s\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]+")


def sentences_naming(text: str, names: Collection[str]) -> dict[str, str]:
    """Return for each of these tokens that the text names the first sentence that does, in the order of the text: one
    line, single-spaced, at most `EVIDENCE_MAX` characters, its secrets masked."""
    # One pass, however many the names, and over the masked text: names within a secret do not count.
    missing, found = set(names), dict[str, str]()
    runs = {run for name in names for run in _RUN.findall(_comparable(name))[:1]}
    for line, is_code in _iter_lines(mask_secrets(text)):
        if not missing:
            break
        if runs.isdisjoint(_RUN.findall(_comparable(line))):
            continue
        for sentence in _split_sentences(line, is_code):
            if named := missing & find_words(sentence.replace(MARK, "[]")).tokens:
                found |= _cut_excerpts(sentence, sorted(named))
                missing -= named
    return found


def sentence_stating(text: str, start: int, end: int) -> str:
    """Return the sentence around a statement, single-spaced, at most `STATEMENT_MAX` characters, its secrets masked."""
    # Only the surroundings of the statement if the line is very long: a sentence is hardly longer.
    first = max(text.rfind("\n", 0, start) + 1, text.rfind(" ", 0, max(0, start - _LONG)) + 1)
    last = min(_end(text, "\n", end), _end(text, " ", end + _LONG))
    line = text[first:last]
    finder = SentenceFinder(mask(line))
    sentence, last_one = finder.sentence_at(start - first), finder.sentence_at(max(start, end - 1) - first)
    # Masked together with the preceding text, which may announce a secret.
    before, through = mask_secrets(line[: sentence.start]), mask_secrets(line[: max(last_one.end, end - first)])
    masked = mask_secrets(line)[len(before) : len(through)]
    if len(_clean(masked)) <= STATEMENT_MAX:
        return _clean(masked)
    to_end = len(mask_secrets(line[: end - first])) - len(before)
    return _cut_around(masked, max(0, to_end - (end - start)), to_end, STATEMENT_MAX)


def share_a_sentence(text: str, pairs: Collection[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the pairs of tokens that occur together in a sentence of the text's prose."""
    found: set[tuple[str, str]] = set()
    for line, is_code in _iter_lines(text):
        for sentence in () if is_code else _split_sentences(line, is_code):
            tokens = find_words(sentence).tokens
            found |= {pair for pair in pairs if tokens.issuperset(pair)}
    return found


def _iter_lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the lines; True for those of fenced code."""
    is_code = False
    for line in text.split("\n"):
        is_code ^= line.lstrip(" \t>").startswith(("```", "~~~"))
        yield line, is_code


def _end(text: str, mark: str, start: int) -> int:
    at = text.find(mark, start)
    return at if at >= 0 else len(text)


def _comparable(text: str) -> str:
    """Return the text with its words as the tokeniser spells them, but without final sigma, which depends on its
    neighbours."""
    if text.isascii():
        return text.lower()
    normal = normal_text(text)
    lowered = (normalise(text).text if normal is None else normal).lower()
    return unicodedata.normalize("NFKC", lowered).replace("\u03c2", "\u03c3")


def _split_sentences(line: str, is_code: bool) -> Iterator[str]:
    """Yield the sentences of a line, long ones in pieces. In code or JSON no full stop ends one."""
    if len(line) <= _LONG and (is_code or _FULL_STOP.search(line) is None):
        yield line
        return
    prose = SentenceFinder(mask(line) if len(line) <= _LONG else line)
    at = 0
    while at < len(line):
        end = prose.sentence_at(at).end
        if end - at > _LONG:
            space = line.rfind(" ", at + 1, at + _LONG)
            end = space if space > 0 else at + _LONG
        yield line[at:end]
        at = end


def _cut_excerpts(sentence: str, names: Collection[str]) -> dict[str, str]:
    """Return the sentence for each of the names as it may be stored: from a long one, the text around the name."""
    whole = _clean(sentence)
    if len(whole) <= EVIDENCE_MAX:
        return dict.fromkeys(names, whole)
    excerpts: dict[str, str] = {}
    for token in tokenise(sentence):
        if token.text not in names or token.text in excerpts:
            continue
        # The mark of a masked secret is read as a token, too.
        if sentence[max(0, token.start - 1) : token.end + 1] != MARK:
            excerpts[token.text] = _cut_around(sentence, token.start, token.end, EVIDENCE_MAX)
    return excerpts


def _cut_around(sentence: str, start: int, end: int, length: int) -> str:
    """Cut a long sentence to the words around a part of it, as many as may be stored."""
    before, name, after = (_BLANK.sub(" ", part) for part in (sentence[:start], sentence[start:end], sentence[end:]))
    before, after = before.lstrip(), after.rstrip()
    room = max(0, length - len(name) - 2 * len(ELLIPSIS))
    kept = max(room // 2, room - len(after))
    after = _cut_beginning(after, room - min(kept, len(before)))
    before = _cut_beginning(before[::-1], kept)[::-1]
    return f"{before}{name}{after}".strip()[:length]


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
