"""Finds a running answer whose tail repeats: exactly, outside of code, and in words.

Lists, tables, rows of numbers and separators repeat, too, and rightly so. A tail counts as a loop if it is so long that
nobody would write it on purpose.
"""

import re
from dataclasses import dataclass
from typing import Final

EXCERPT_MAX: Final = 300  # characters

_KEPT: Final = 8_192  # characters of the answer
_STEP: Final = 32  # characters between two checks
_REST: Final = 256  # characters until the next check after a repetition that is allowed
_TAKEN_MAX: Final = 512  # characters between two checks if many come at once
_NEEDLE: Final = 24  # characters at the very end that are searched for further up
_TRIES: Final = 6  # places of the needle that are tried: a period may contain the same words twice
_BLANK: Final = 2_000  # characters of nothing but white space: a model asked for JSON sometimes ends like this

# The least that has to repeat: characters, and repeats by the length of the period.
_LEAST: Final = 240
_LEAST_OFTEN: Final = ((50, 6), (200, 4), (_KEPT, 3))
# The same for what may be data: in a JSON string, which may hold code and tables, words between commas, list items.
_LEAST_DATA: Final = 1_000
_LEAST_DATA_OFTEN: Final = 10

_PERIODS: Final = 3  # periods that are examined
_CUT: Final = re.compile(r"\A[^\s<>]{0,40}>|\A[A-Za-z0-9_.]+|<[^\s<>]{0,40}\Z|[A-Za-z0-9_.]+\Z")

_FENCE: Final = re.compile(r"^[ \t>]*(?:```|~~~)", re.MULTILINE)
_FENCE_BEGINS: Final = re.compile(r"[ \t>]{0,16}(?:`{0,2}|~{0,2})")
_ESCAPE: Final = re.compile(r"\\(?:u[0-9a-fA-F]{4}|.)")
_MARKUP: Final = re.compile(r"<[^<>\n]{0,200}>")
_LITERAL: Final = re.compile(
    r"\b(?:null|true|false|nan|none|n/a|na|inf|nil|0x[0-9a-f]+|[0-9a-f]{2}|[0-9][0-9.]{0,30} ?[a-z%]{1,3})\b",
    re.IGNORECASE,
)
_WORD: Final = re.compile(r"[^\W\d_]{2,}|[^\W\d_a-zA-Z]")
_DATA: Final = re.compile(r"[A-Za-z0-9+/=_-]*")
_LINE_ENDS: Final = re.compile(r"\n\s*")
_BEGINS: Final = re.compile(r"[.!?。！？]\s*|[}\])],?\s*(?=[{\[(])")  # before a sentence or an object begins
_LIST_ITEM: Final = re.compile(r"\s*(?:[-*+•>] |\d{1,9}[.)] |\[[ x]\])")
_LONG: Final = 30  # characters: a list does not repeat an item of this length
_TABLE_ROW: Final = re.compile(
    r"\s*(?:\||#)|[^\n|]*\|[^\n|]*\||[^\n\t]*\t[^\n\t]*\t|[^\s,;\"{}]+(?:[,;][^\s,;\"{}]*)+$|.*(?:_{3}|\.{4}|:\s*$)"
)
_MARKED_UP: Final = re.compile(r"\s*<[^{}]*>\s*$")
_CELLS: Final = re.compile(r"[\s,;|\"']*(?:[\"']?[\w.-]+[\"']?\s*[,;|]\s*)*[\"']?")
_OBJECTS: Final = re.compile(r"[}\]]\s*,\s*[{\[]")


@dataclass(frozen=True, slots=True)
class TailLoop:
    repeated: str  # the repeated text in one line
    count: int  # how often, as far as the tail is kept


class Tail:
    """The last 8,192 characters of one answer."""

    def __init__(self) -> None:
        self._text = ""
        self._waiting: list[str] = []
        self._waiting_characters = 0
        self._resting = 0  # characters
        self._is_fenced = False
        self._line = ""  # the last line, as long as a fence may begin in it

    def add(self, text: str) -> TailLoop | None:
        """Add text, and return the loop that the answer is in, if any."""
        # Tokens come by the thousand, a few characters each: keep them until there is enough to check.
        self._waiting.append(text)
        self._waiting_characters += len(text)
        if self._waiting_characters < _STEP:
            return None
        text = "".join(self._waiting)
        self._waiting.clear()
        self._waiting_characters = 0
        for start in range(0, len(text), _TAKEN_MAX):
            if found := self._take(text[start : start + _TAKEN_MAX]):
                return found
        return None

    def _take(self, text: str) -> TailLoop | None:
        self._follow_fences(text)
        self._text = (self._text + text)[-_KEPT:]
        self._resting = max(0, self._resting - len(text))
        return None if self._resting else self._repetition()

    def _follow_fences(self, text: str) -> None:
        # "." means a line in which no fence can begin any more: most of a long answer is skipped here.
        if "\n" not in text and self._line == ".":
            return
        text = self._line + text
        if len(_FENCE.findall(text)) % 2:
            self._is_fenced = not self._is_fenced
        line = text[text.rfind("\n") + 1 :]
        self._line = line if _FENCE_BEGINS.fullmatch(line) else "."

    def _repetition(self) -> TailLoop | None:
        # Find the period by the answer's last characters: it may be the distance to an earlier occurrence.
        text = self._text
        needle = text[-_NEEDLE:]
        if needle.isspace():
            blank = len(text) >= _BLANK and text[-_BLANK:].isspace()
            return TailLoop("white space", _BLANK) if blank else None
        at = len(text) - len(needle)
        for _ in range(_TRIES):
            at = text.rfind(needle, 0, at + len(needle) - 1)
            period = len(text) - len(needle) - at
            often = next(often for up_to, often in _LEAST_OFTEN if period < up_to or up_to == _KEPT)
            least = max(_LEAST, period * often)
            if at < 0 or least > len(text):
                return None
            if _has_period(text, period, least):
                found = self._judge(period)
                # Allowed repetitions, such as tables, go on for long: check again after a rest.
                self._resting = 0 if found else _REST
                return found
        return None

    def _judge(self, period: int) -> TailLoop | None:
        """Return the loop, unless the repetition is rows of data."""
        text = self._text
        passage = _passage(text, period)
        # Repetition is normal in a code fence, unless the fences repeat themselves.
        if not _has_words(passage) or (self._is_fenced and not _FENCE.search(passage)):
            return None
        kind = _data_kind(passage, text)
        if kind == "table":
            return None
        if kind and not _has_period(text, period, max(_LEAST_DATA, period * _LEAST_DATA_OFTEN)):
            return None
        return TailLoop(_excerpt(text[-period:]), _count(text, period))


def _passage(text: str, period: int) -> str:
    """Return three periods from the text's end, without cutting a word or an escape in two."""
    start = len(text) - _PERIODS * period
    if text[start - 1 : start] == "\\":
        start -= 1
    return _CUT.sub("", text[start:])


def _has_period(text: str, period: int, characters: int) -> bool:
    """True if the last ``characters`` of the text repeat with this period."""
    if characters > len(text):
        return False
    # One comparison of two slices, in C: it does not slow down if much of the text repeats.
    end = text[-characters:]
    return end[period:] == end[:-period]


def _excerpt(unit: str) -> str:
    """Return the repeated text in one line, from where a line or else a sentence begins in it."""
    begins = _LINE_ENDS.search(unit) or _BEGINS.search(unit)
    # The period may be cut anywhere: rotate it to the beginning of a line or a sentence.
    if begins:
        unit = unit[begins.end() :] + unit[: begins.end()]
    return " ".join(unit.split())[:EXCERPT_MAX]


def _count(text: str, period: int) -> int:
    unit = text[-period:]
    count, at = 0, len(text)
    while at >= period and text.startswith(unit, at - period):
        count += 1
        at -= period
    return count


def _has_words(passage: str) -> bool:
    """True if the passage has words with at least two different letters, and is not mere data."""
    if _DATA.fullmatch(passage):
        return False
    passage = _LITERAL.sub(" ", _MARKUP.sub(" ", _ESCAPE.sub(" ", passage)))
    letters = {letter for word in _WORD.findall(passage) for letter in word.casefold()}
    return len(letters) >= 2 or any(letter > "\x7f" for letter in letters)


def _data_kind(passage: str, text: str) -> str:
    """Return ``table`` for what may repeat without limit, ``data`` for what may be meant, empty for prose."""
    is_escaped = "\\n" in passage
    if is_escaped:
        passage, text = passage.replace("\\n", "\n"), text.replace("\\n", "\n")
    if "\n" in passage:
        lines = [line for line in passage.split("\n")[1:-1] if line.strip()]
        if all(_TABLE_ROW.match(line) or (_LIST_ITEM.match(line) and len(line) < _LONG) for line in lines):
            return "table"
        is_data = all(_LIST_ITEM.match(line) or _MARKED_UP.match(line) for line in lines)
    else:
        if text[text.rfind("\n") + 1 :].lstrip()[:1] == "|":
            return "table"
        is_data = _CELLS.fullmatch(passage) is not None
    return "data" if is_data or is_escaped or _OBJECTS.search(passage) else ""
