"""Reads Markdown tables whose headings name a relation: `| service | owner | runs on |`."""

import re
from collections.abc import Iterator
from typing import Final

from memory.domain.cues.matches import CueMatch
from memory.domain.cues.modality import tells_of_no_fact
from memory.domain.cues.naming import is_distinctive
from memory.domain.cues.noun_phrases import Vocabulary, read_passage, read_phrase
from memory.domain.cues.parents import make_parent
from memory.domain.cues.patterns import Form
from memory.domain.language.english import names
from memory.domain.text.sentences import MASK

_RULE: Final = re.compile(r"^[ \t]*\|?[ \t]*:?-{2,}:?[ \t]*(?:\|[ \t]*:?-{2,}:?[ \t]*)+\|?[ \t]*$", re.MULTILINE)
_CELL: Final = re.compile(r"[^|\n]+")
_BLANKS: Final = " \t*_\x10"
_ROW_MAX: Final = 500  # characters
_ROWS_MAX: Final = 200
_LEAD_MAX: Final = 200  # characters of the line before a table
# Not the type: entries below it are adjectives as often as nouns.
_COLUMNS: Final = {
    "owner": Form.IS_OWNED_BY, "owned by": Form.IS_OWNED_BY, "runs on": Form.RUNS_ON, "host": Form.RUNS_ON,
    "hosted on": Form.RUNS_ON, "hosted by": Form.RUNS_ON, "deployed on": Form.RUNS_ON, "part of": Form.IS_PART_OF,
    "belongs to": Form.IS_PART_OF, "member of": Form.IS_PART_OF, "located in": Form.IS_LOCATED,
    "location": Form.IS_LOCATED, "written in": Form.IS_WRITTEN,
}  # fmt: skip
_HEADING: Final = re.compile(rf"\|[ \t*_]*(?:{'|'.join(_COLUMNS)})[ \t*_]*(?:\||$)", re.MULTILINE | re.IGNORECASE)
_ELLIPTICAL: Final = 0.7


def may_have_facts(text: str) -> bool:
    """True if a cell could be the heading of a column that is read."""
    return _HEADING.search(text) is not None


def iter_table_facts(prose: str, vocabulary: Vocabulary, start: int, end: int) -> Iterator[CueMatch]:
    """Yield what the rows of the tables between two positions state about the names in their first column."""
    for rule in _RULE.finditer(prose, start, end):
        head_end = rule.start() - 1
        head_start = prose.rfind("\n", 0, max(0, head_end)) + 1
        columns = [_COLUMNS.get(text.strip(_BLANKS).lower()) for _, text in _read_cells(prose, head_start, head_end)]
        before = prose[max(0, head_start - _LEAD_MAX) : head_start]
        lead = before.rstrip().rpartition("\n")[2]
        if before.endswith("\n\n") and not lead.endswith(":"):  # it describes something else
            lead = ""
        if not any(columns) or columns[0] is not None or tells_of_no_fact(f"{lead} {prose[head_start:head_end]}"):
            continue
        at = rule.end() + 1
        for _ in range(_ROWS_MAX):
            row_end = prose.find("\n", at)
            row_end = len(prose) if row_end < 0 else row_end
            if not 0 < row_end - at <= _ROW_MAX or "|" not in prose[at:row_end]:
                break
            yield from _read_row(prose, at, row_end, columns, vocabulary)
            at = row_end + 1


def _read_row(
    prose: str, start: int, end: int, columns: list[Form | None], vocabulary: Vocabulary
) -> Iterator[CueMatch]:
    cells = _read_cells(prose, start, end)
    if len(cells) != len(columns) or not cells:
        return
    named = read_passage(cells[0][1], (), vocabulary)
    written = cells[0][1].strip(_BLANKS)
    if len(named.tokens) != 1 or named.text[named.tokens[0].start : named.tokens[0].end] != written:
        return
    subject = named.tokens[0]
    if not is_distinctive(named, subject, vocabulary) or subject.text in names.OPENERS:
        return
    for (at, text), form in zip(cells, columns, strict=True):
        if form is None or MASK in text or "?" in text:
            continue
        cell = read_passage(f"x {text}", (), vocabulary)  # as inside a sentence, where a capital is significant
        phrase = read_phrase(cell, 2)
        if phrase is None or cell.text[phrase.end :].strip(_BLANKS):
            continue
        parent = make_parent(cell, form, phrase, set(), vocabulary)
        if parent is None or not any(is_distinctive(cell, token, vocabulary) for token in phrase.tokens):
            continue
        if len({subject.text, parent.token, parent.dimension}) == 3:
            yield CueMatch(
                subject.text, parent.token, parent.dimension, form.is_isa, _ELLIPTICAL,
                cells[0][0] + subject.start, at + parent.end - 2,
            )  # fmt: skip


def _read_cells(prose: str, start: int, end: int) -> list[tuple[int, str]]:
    """Return the start of each cell's text in a row, and the text."""
    cells = []
    for cell in _CELL.finditer(prose, start, max(start, end)):
        text = cell[0].strip(" \t")
        if text or (start < cell.start() and cell.end() < end):
            cells.append((cell.start() + len(cell[0]) - len(cell[0].lstrip(" \t")), text))
    return cells
