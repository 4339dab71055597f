"""Finds where in a text people state things: its sentences, without code, addresses, JSON and our own recollections."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

from memory.english.function_words import ARTICLES, CONJUNCTIONS, POSSESSIVES, PREPOSITIONS, is_closed_class
from memory.english.spans import replace_spans

MASK: Final = "\x1a"  # replaces every masked character; splits tokens and is not white space
NAME_MARK: Final = "\x10"  # replaces a back-tick around a name; likewise

# A backtick fence has no backtick in its first line, otherwise it is inline code.
_FENCE: Final = re.compile(r"^[ \t>]*(?:(`{3,})([^`\n]*)|(~{3,})(.*))$", re.MULTILINE)
_INLINE_CODE: Final = re.compile(r"(?<!`)(`++)([^`\n]*+)(`++)")
# People put names in back-ticks: `payments-svc`. A call, a path, an assignment, several words are code.
_NAME_IN_CODE: Final = re.compile(r"@?[^\W_](?:[\w.+@'-]*\w)?(?: [A-Z][\w.'-]*)*\Z")
_SCHEME: Final = re.compile(r"\b[a-zA-Z][a-zA-Z0-9+.\-]{1,15}\Z")
_LONGEST_SCHEME: Final = 16  # characters
_BLANK: Final = re.compile(r"\s")
_OTHER_ADDRESS: Final = re.compile(r"\bwww\.\S+|\bmailto:\S+")
_RECOLLECTION: Final = re.compile(r"<recollection>.*?(?:</recollection>|\Z)", re.DOTALL)
_GUTASK: Final = re.compile(r"^[ \t>$]*gutask\b.*$", re.MULTILINE | re.IGNORECASE)
# A brace or bracket opens JSON if what follows can only be JSON (or a Python literal).
_JSON_OPENS: Final = re.compile(r"[{\[](?=\s*[{\[]*\s*[\"'])|\{(?=\s*\})")
_JSON_TOKEN: Final = re.compile(r'"(?:[^"\\\n]++|\\.)*+"?|[{}\[\]]')
_JSON_LINE: Final = re.compile(r'^[ \t{\[]*"[^"\n]*"[ \t]*:.*$', re.MULTILINE)

# Trade marks, dingbats and emoji behind a word are not part of what it names.
_SIGNS: Final = re.compile(
    r"(?<=\w)[\u00a9\u00ae\u00b0\u2120\u2122\u2600-\u27bf\u2b50-\u2b55\ufe0f\u200d\U0001f000-\U0001faff]+"
)

_SENTENCE_END: Final = re.compile(r"[.!?\u2026\u3002\uff01\uff1f]+[\"'\u2019\u201d)\]*_]*(?=\s|\Z)")
_ABBREVIATION: Final = re.compile(
    r"(?:^|[\s(\"'])(?:e\.g|i\.e|cf|vs|viz|approx|resp|incl|mr|mrs|ms|dr|prof|st|no|fig|sec|al|[a-z])\.\Z",
    re.IGNORECASE,
)
_NO: Final = re.compile(r"\bno\.\Z", re.IGNORECASE)
_NUMBER: Final = re.compile(r"\s{0,3}\d")
_AFTER_LETTER: Final = re.compile(r"\s{0,3}(?:\d|[a-z]\.)")
_ORDINAL: Final = re.compile(r"(?<!\S)\d{1,2}\.\Z")
# German writes `am 15. März`.
_MONTH: Final = re.compile(
    r" (?:januar|februar|märz|april|mai|juni|juli|august|september|oktober|november|dezember)\b", re.IGNORECASE
)
_LONGEST_ABBREVIATION: Final = 9  # characters, with the space before it

_BULLET: Final = re.compile(r"[ \t]*(?:[-*+•–]|\d{1,2}[.)])[ \t]+")
_WRAPPED_MIN: Final = 55  # characters: people who break lines themselves break them about there
_OPEN_ENDED: Final = PREPOSITIONS | ARTICLES | POSSESSIVES | CONJUNCTIONS
_LINE_ENDS: Final = re.compile(r"[.!?…:;][\"')\]*_]*\s*$")


class Sentence(NamedTuple):
    start: int
    end: int
    is_question: bool


def mask(text: str) -> str:
    """Mask everything that is not prose, character for character; line breaks stay. Around a name in back-ticks only
    the back-ticks are masked."""
    # Each search comes after a check for something it requires: most texts have nothing to mask.
    text = blank_signs(text)
    if "```" in text or "~~~" in text:
        text = replace_spans(text, _find_fenced_code(text), blank_out)
    if "`" in text:
        text = _INLINE_CODE.sub(_hide_code, text)
    if "<recollection>" in text:
        text = _hide_matches(text, _RECOLLECTION)
    if "gutask" in text.lower():
        text = _hide_matches(text, _GUTASK)
    if "://" in text:
        text = replace_spans(text, _find_addresses(text), blank_out)
    if "www." in text or "mailto:" in text:
        text = _hide_matches(text, _OTHER_ADDRESS)
    if '"' in text or "{" in text:
        text = replace_spans(text, _find_json(text), blank_out)
        text = _hide_matches(text, _JSON_LINE)
    return text


def blank_signs(text: str) -> str:
    """Blank the signs that are glued to words, character for character."""
    return text if text.isascii() else _SIGNS.sub(lambda signs: " " * len(signs[0]), text)


def find_code(text: str) -> Iterator[tuple[int, int]]:
    """Yield the regions of fenced code, and those in back-ticks."""
    if "```" in text or "~~~" in text:
        yield from _find_fenced_code(text)
    if "`" in text:
        yield from (match.span() for match in _INLINE_CODE.finditer(text) if "\n" not in match[0])


class SentenceFinder:
    """Finds the sentences at positions of one line: only the ends near them are examined closely."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._ends = list(_SENTENCE_END.finditer(text))
        self._positions = [end.end() for end in self._ends]
        self._last = Sentence(0, 0, False)

    def __iter__(self) -> Iterator[Sentence]:
        """Yield all sentences of the line, in order."""
        at = 0
        while at < len(self._text):
            sentence = self.sentence_at(at)
            yield sentence
            at = max(sentence.end, at + 1)

    def sentence_at(self, position: int) -> Sentence:
        """Return the sentence that contains a character; a full stop within a token or an abbreviation does not end
        one."""
        # The last one is kept: positions come in ascending order, so that a line is read in linear time.
        if not self._last.start <= position < self._last.end:
            self._last = self._find(position)
        return self._last

    def _find(self, position: int) -> Sentence:
        after = bisect_right(self._positions, position)
        before = after - 1
        while before >= 0 and self._is_abbreviation(before):
            before -= 1
        while after < len(self._ends) and self._is_abbreviation(after):
            after += 1
        start = self._positions[before] if before >= 0 else 0
        if after == len(self._ends):
            return Sentence(start, len(self._text), False)
        end = self._ends[after]
        return Sentence(start, end.end(), "?" in end[0] or "\uff1f" in end[0])

    def _is_abbreviation(self, index: int) -> bool:
        stop = self._ends[index].start() + 1
        start = self._positions[index - 1] if index else 0
        head = self._text[max(start, stop - _LONGEST_ABBREVIATION) : stop]
        if head[-2:-1].isdigit():
            return _MONTH.match(self._text, stop) is not None and _ORDINAL.search(head) is not None
        found = _ABBREVIATION.search(head)
        if found is None:
            return False
        # "No." abbreviates only before a number, otherwise it answers; so does a letter: a page's, or half of "e. g.".
        if _NO.search(head):
            return _NUMBER.match(self._text, stop) is not None
        is_small_letter = found[0][-2].islower() and len(found[0].strip(" (\"'\n\t")) == 2
        return not is_small_letter or _AFTER_LETTER.match(self._text, stop) is not None


def _hide_matches(text: str, pattern: re.Pattern[str]) -> str:
    return pattern.sub(lambda match: blank_out(match[0]), text)


def blank_out(piece: str) -> str:
    """Mask a text, but for its line breaks."""
    return "\n".join(MASK * len(line) for line in piece.split("\n"))


def _hide_code(code: re.Match[str]) -> str:
    opening, content, closing = code.groups()
    others = content.split(" ")[1:]
    if _NAME_IN_CODE.match(content) is None or any(is_closed_class(word.lower()) or word.isupper() for word in others):
        return blank_out(code[0])
    return NAME_MARK * len(opening) + content + NAME_MARK * len(closing)


def _find_fenced_code(text: str) -> Iterator[tuple[int, int]]:
    """Yield the regions of fenced code, an unclosed one to the end of the text (CommonMark 0.31 section 4.5)."""
    opened: re.Match[str] | None = None
    marks = ""
    for fence in _FENCE.finditer(text):
        if opened is None:
            opened, marks = fence, fence[1] or fence[3]
        elif (fence[1] or fence[3]).startswith(marks) and not (fence[2] or fence[4] or "").strip():
            yield opened.start(), fence.end()
            opened = None
    if opened is not None:
        yield opened.start(), len(text)


def _find_addresses(text: str) -> Iterator[tuple[int, int]]:
    # From each `://` outwards: a search that begins with the scheme would try every word.
    end, mark = 0, text.find("://")
    while mark >= 0:
        scheme = _SCHEME.search(text, max(end, mark - _LONGEST_SCHEME), mark)
        if scheme is not None:
            blank = _BLANK.search(text, mark)
            end = blank.start() if blank is not None else len(text)
            yield scheme.start(), end
        mark = text.find("://", max(end, mark + 3))


def _find_json(text: str) -> Iterator[tuple[int, int]]:
    """Yield the outermost regions of closed JSON values; unclosed ones are found line by line instead."""
    regions: list[tuple[int, int]] = []
    open_brackets: list[int] = []
    first = _JSON_OPENS.search(text)
    if first is None:
        return
    # From the line in which JSON may begin: no string of another line reaches into it.
    for token in _JSON_TOKEN.finditer(text, text.rfind("\n", 0, first.start()) + 1):
        if token[0] in "{[":
            open_brackets.append(token.start())
        elif token[0] in "}]" and open_brackets:
            start = open_brackets.pop()
            if _JSON_OPENS.match(text, start):
                while regions and regions[-1][0] > start:
                    regions.pop()
                regions.append((start, token.end()))
    yield from regions


def iter_sentences(text: str) -> Iterator[Sentence]:
    """Yield the sentences of each line, in order."""
    at = 0
    for line in text.splitlines(keepends=True):
        for start, end, is_question in SentenceFinder(line.rstrip()):
            yield Sentence(at + start, at + end, is_question)
        at += len(line)


def iter_passages(prose: str) -> Iterator[tuple[int, int]]:
    """Yield where passages begin and end: lines with those that continue their sentence, without a list item's mark."""
    start = end = 0
    previous = ""
    for line in prose.splitlines(keepends=True):
        bare = line.strip()
        goes_on = (
            bool(previous and bare)
            and not _LINE_ENDS.search(previous)
            and not _BULLET.match(line)
            and (bare[0].islower() or len(previous) >= _WRAPPED_MIN or previous.split()[-1] in _OPEN_ENDED)
        )
        if not goes_on:
            yield from _without_bullet(prose, start, end)
            start = end
        end += len(line)
        previous = line.rstrip()
    yield from _without_bullet(prose, start, end)


def _without_bullet(prose: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    if prose[start:end].strip():
        bullet = _BULLET.match(prose, start, end)
        yield (bullet.end() if bullet else start), end
