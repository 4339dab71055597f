"""Finds quotations that bear a mark: block quotes, tags, quotation marks, the model's turns in a transcript. Goes by
marks and structure, never by what the words say. Works on a folded text."""

import re
from collections.abc import Iterator
from typing import Final

from memory.english.lexicon import load_words
from memory.types import Span

# A line without the mark ends a block quote: people answer right below what they quote.
_QUOTED_LINE: Final = r"[ \t]*(?:(?:[-*+]|\d{1,2}[.)])[ \t]+)?(?:>|&gt;).*"
_BLOCK_QUOTE: Final = re.compile(rf"^{_QUOTED_LINE}(?:\n{_QUOTED_LINE})*", re.MULTILINE)
_QUOTE_CODE: Final = re.compile(r"\[(/?)quote\b[^\]\n]{0,100}\]", re.IGNORECASE)

_TAG: Final = re.compile(r"<[ \t]*(/?)[ \t]*([A-Za-z][\w.:-]{0,63})((?:\s[^<>]*)?)(/?)>")
# Tags in which clients and prompts put the words of their own user or operator. Any other holds a document.
_OWN_VOICE: Final = load_words("own_tags")
_NAME_PARTS: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")

# The model's turn in a transcript reaches to the next turn of a person.
_MODEL_TURN: Final = re.compile(
    r"^[ \t*_#\[]*(?:assistant|ai|a\.i\.|chat ?gpt|gpt|bot|chatbot|model|agent)[\]*_ \t]*:"
    r".*?(?=^[ \t*_#\[]*(?:user|human|person|you|me)[\]*_ \t]*:|\Z)",
    re.MULTILINE | re.IGNORECASE | re.DOTALL,
)

_ANY_MARK: Final = "\"'\u201c\u201d\u201e\u00ab\u00bb\u2018\u2019\u300c\u300d\u300e\u300f"
_MARKS: Final = re.compile(f'[{_ANY_MARK}](?:(?<=")"")?')
_OPENING: Final = frozenset("\u201e\u2018\u300c\u300e")
_CLOSING: Final = frozenset("\u2019\u300d\u300f")
_PAIRS: Final = {
    "\u201e": "\u201c\u201d", "\u201c": "\u201d", "\u00ab": "\u00bb", "\u00bb": "\u00ab", "\u2018": "\u2019",
    "\u300c": "\u300d", "\u300e": "\u300f",
}  # fmt: skip
_NESTED_MAX: Final = 8  # open marks that are remembered: keeps a search short
_BEFORE_OPENING: Final = frozenset(" \t\n([{:;,-\u2013\u2014=>*_")
_AFTER_CLOSING: Final = frozenset(" \t\n)]}.,:;!?-\u2013\u2014<*_")


def find_quotations(text: str) -> list[Span]:
    """Return the parts of the text that pass on the words of others, as offsets. They may overlap. Linear in the
    length."""
    spans = [*_find_tagged(text), *_find_quoted(text)]
    if ">" in text or "&gt;" in text:
        spans += (match.span() for match in _BLOCK_QUOTE.finditer(text))
    if "[/" in text:
        codes = list(_QUOTE_CODE.finditer(text))
        start = next((code.start() for code in codes if not code[1]), len(text))
        end = next((code.end() for code in reversed(codes) if code[1]), 0)
        spans += [(start, end)] if start < end else []
    if ":" in text:
        spans += (turn.span() for turn in _MODEL_TURN.finditer(text))
    return spans


def _find_tagged(text: str) -> Iterator[Span]:
    """Yield from the first start tag of a name to its last end tag: a document may contain end tags of its own."""
    if "<" not in text:
        return
    first: dict[str, re.Match[str]] = {}
    last: dict[str, int] = {}
    for tag in _TAG.finditer(text):
        name = tag[2].lower()
        if tag[1]:
            last[name] = tag.end()
        elif not tag[4] and not _is_own_voice(tag[2]):
            first.setdefault(name, tag)
    for name, tag in first.items():
        if last.get(name, 0) > tag.start():
            yield tag.start(), last[name]
        elif _stands_alone(text, tag):
            yield tag.start(), len(text)


def _is_own_voice(name: str) -> bool:
    return any(part.lower() in _OWN_VOICE for part in _NAME_PARTS.findall(name))


def _stands_alone(text: str, tag: re.Match[str]) -> bool:
    """True if a tag without an end opens a document and is not a placeholder (``ssh <name>``)."""
    line_start = text.rfind("\n", 0, tag.start()) + 1
    return not text[line_start : tag.start()].strip() and text[tag.end() : tag.end() + 1] in ("\n", "\r", "")


def _find_quoted(text: str) -> Iterator[Span]:
    """Yield the text between quotation marks, which may be nested. An unpaired mark quotes nothing."""
    opened: list[tuple[str, int]] = []
    if not any(map(text.__contains__, _ANY_MARK)):  # ten times faster than the search below
        return
    for mark in _MARKS.finditer(text):
        character, start, end = mark[0], mark.start(), mark.end()
        place = len(opened) - 1
        while place >= 0 and not _matches(opened[place][0], character):
            place -= 1
        if place >= 0 and _closes(text, character, end):
            yield opened[place][1], end
            del opened[place:]
        elif _opens(text, character, start, end):
            opened.append((character, start))
            del opened[:-_NESTED_MAX]


def _matches(opening: str, closing: str) -> bool:
    return closing in _PAIRS.get(opening, opening)


def _opens(text: str, mark: str, start: int, end: int) -> bool:
    if mark in _CLOSING:
        return False
    if mark in _OPENING or len(mark) == 3:
        return True
    return (start == 0 or text[start - 1] in _BEFORE_OPENING) and not text[end : end + 1].isspace()


def _closes(text: str, mark: str, end: int) -> bool:
    if mark in _OPENING:
        return False
    return len(mark) == 3 or end == len(text) or text[end] in _AFTER_CLOSING or text[end] in "\"'\u201d\u2019"
