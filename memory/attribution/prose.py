"""Tells what people write from what they paste: code, logs, tables, listings, the words of others."""

import re
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from memory.attribution.parts import quoted_spans
from memory.english.machine_output import PRINTED
from memory.english.sentences import MASK, blank_out, find_code, mask
from memory.english.spans import replace_spans
from memory.types import Span

# The beginning of a line of a dated list, a change, a listing, a path, a comment, a command, a tag, a report.
_LISTED: Final = re.compile(
    r"[\[({<]?\d{4}[-/.]\d\d[-/.]\d\d|\+\+\+|---|@@|diff --git|[+-](?=[^\s\-+\d])|\[[^\]\n]{0,60}\](?!\()|[A-Z]:\\"
    r"|[./~]+/\S|\d+[:|] |#!|//|/\*|\*/|--\s|[drwx-]{9,11}|\.\.\. |[A-Z_]{2,}="
    r"|(?i:error|exception|warn|warning|fatal|panic|failure|debug):"
)
_FIELD: Final = re.compile(r"-?\s*[\w.\-/]{1,40}\s*(?:=|:=|=>|->)\s*\S|-?\s*[\w.\-/]{1,40}:(?:\s+\S+){0,3}\s*\Z")
_SYMBOLS: Final = re.compile(r"[{}\[\];=<>|\\^~\x1a]|\w\(|::|->|//")
_CODE_ENDS: Final = ("{", "}", ";", "(", "[", "=>", "->", "\\", "&&", "||", "):", "])", "),", "{,", '",', "',")
_BULLET: Final = re.compile(r"[ \t]*(?:[-*+\u2022\u2013]|\d{1,2}[.)])[ \t]+")
_INDENTED: Final = re.compile(r"\t| {4}")
_PARAGRAPHS: Final = re.compile(r"(?:^.*\S.*(?:\n|\Z))+", re.MULTILINE)

# A word that code uses as its own: declares, assigns to, marks up, calls, takes as an argument.
_IDENTIFIER: Final = re.compile(
    r"\b(?:def|class|function|func|fn|const|let|var|val|struct|interface|enum|trait) +([A-Za-z]\w*)"
    r"|^[ \t]*(?:export[ \t]+)?([A-Za-z]\w*)[ \t]*(?::[^=\n]{1,40})?=(?!=)"
    r"|</?([A-Za-z]\w*)[\s/>]"
    # `handle(`, `req.get(`; in `self.store.get(` no part is a word.
    r"|(?<![\w.])([A-Za-z]\w*+)(?:\.\w++)?(?=\()"
    r"|(?<=[(,])\s*+\**+([A-Za-z]\w*+)(?=\s*+[,):=])",
    re.MULTILINE,
)


def mask_all_but_prose(text: str) -> str:
    """Return the text with everything masked, character for character, except the author's own sentences; line breaks
    stay. Linear in the length."""
    # A name alone in quotation marks is not a quotation.
    quoted = [span for span in quoted_spans(text) if any(map(str.isspace, text[slice(*span)].strip()))]
    prose = replace_spans(mask(text), quoted, blank_out)
    pieces, at = [], 0
    for paragraph in _PARAGRAPHS.finditer(prose):
        lines = paragraph[0].splitlines(keepends=True)
        are_data = [_is_data(line.rstrip()) for line in lines]
        # One line of a log may read like a sentence, but hardly most of them.
        is_pasted = sum(are_data) * 2 >= len(lines)
        pieces.append(prose[at : paragraph.start()])
        for line, is_data in zip(lines, are_data, strict=True):
            pieces.append(blank_out(line) if is_data or is_pasted else line)
        at = paragraph.end()
    return "".join([*pieces, prose[at:]])


def _is_data(line: str) -> bool:
    stripped = line.lstrip()
    bullet = _BULLET.match(line)
    if bullet is None and _INDENTED.match(line):
        return True
    said = line[bullet.end() :] if bullet else stripped
    if "   " in said.rstrip() or "\t" in said or said.count("|") > 1:  # columns
        return True
    if PRINTED.match(said) or _LISTED.match(said) or _FIELD.match(said):
        return True
    return _is_code(said)


def _is_code(line: str) -> bool:
    return line.endswith(_CODE_ENDS) or _has_many_symbols(line)


def _has_many_symbols(line: str) -> bool:
    return len(_SYMBOLS.findall(line.replace(MASK * 2, ""))) >= max(2, len(line) // 25 + 1)


def find_listings(text: str) -> Iterator[Span]:
    """Yield code that nothing marks: at least two lines in a row of which half are code, and the others data. A line
    with a bullet is a point of a list. Linear in the length."""
    lines = [(line.span(), line[0].rstrip()) for line in re.finditer(r"[^\n]+\n?", text)]
    for is_data, run in groupby(lines, lambda line: _BULLET.match(line[1]) is None and _is_data(line[1])):
        spans, said = zip(*run, strict=True)
        if is_data and len(said) > 1 and sum(map(_is_code, said)) * 2 >= len(said):
            yield spans[0][0], spans[-1][1]


def find_identifiers(text: str, *, is_code: bool = False) -> set[str]:
    """Return the words, in lower case, that code in the text uses as its own: marked code, and lines that are no
    prose. ``is_code``: all of it is code."""
    code = text if is_code else _extract_code(text)
    return {match[match.lastindex or 0].lower() for match in _IDENTIFIER.finditer(code)}


def _extract_code(text: str) -> str:
    pieces, at = [text[start:end] for start, end in find_code(text)], 0
    for line in mask_all_but_prose(text).splitlines(keepends=True):
        if MASK in line and not line.strip(f"{MASK} \t\n\r"):
            pieces.append(text[at : at + len(line)])
        at += len(line)
    return "\n".join(pieces)
