"""Normalises to NFKC with a way back: which characters of the source a normalised text was made from."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

# Every combining mark is below this, except the variation selectors, which are invisible and split.
_LAST_MARK: Final = 0x1E94B
# Marks that enclose, or show nothing: never part of a word.
_NOT_OF_A_WORD: Final = frozenset(
    code
    for first, last in [(0x34F, 0x34F), (0x488, 0x489), (0x180B, 0x180F), (0x1ABE, 0x1ABE), (0x20D0, 0x20FF)]
    for code in range(first, last + 1)
) | frozenset([0xA670, 0xA671, 0xA672, *range(0xFE00, 0xFE10)])


def character_class(codes: list[int]) -> str:
    """Return the inside of a regular expression's brackets for ascending code points, runs folded to ranges."""
    ranges: list[list[int]] = []
    for code in codes:
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)


_MARK_CODES: Final = [code for code in range(0x300, _LAST_MARK) if unicodedata.category(chr(code))[0] == "M"]
_LETTER_MARK_CODES: Final = [code for code in _MARK_CODES if code not in _NOT_OF_A_WORD]
# Marks that belong to the letter before them: a Devanagari word is one word.
LETTER_MARKS: Final = frozenset(map(chr, _LETTER_MARK_CODES))
LETTER_MARK_CLASS: Final = character_class(_LETTER_MARK_CODES)

# Characters that NFKC may attach to the one before: marks, and the half-width Katakana sound marks.
_ATTACHING_CODES: Final = [*(code for code in _MARK_CODES if not 0xFE00 <= code < 0xFE10), 0xFF9E, 0xFF9F]
_ATTACHING: Final = f"[{character_class(_ATTACHING_CODES)}]"
# Hangul letters, plain, circled and half-width, which NFKC composes into syllables.
_JAMO_CODES: Final = [*range(0x1100, 0x1200), *range(0x3131, 0x318F), *range(0x3260, 0x327F), *range(0xFFA0, 0xFFDD)]
_JAMO: Final = f"[{character_class(_JAMO_CODES)}]"
_JOINING: Final = frozenset(map(chr, _ATTACHING_CODES + _JAMO_CODES))
_SEGMENT: Final = re.compile(rf"[\uac00-\ud7a3]?{_JAMO}+|[\x00-\x7f]+(?!{_ATTACHING})|.{_ATTACHING}*", re.DOTALL)
# NFKC sorts a run of marks in quadratic time. Real text stays far below this length, which is also the limit of UAX 15
# (Stream-Safe Text Format); marks beyond it become spaces, one for one.
_OVERLONG_MARKS: Final = re.compile(rf"({_ATTACHING}{{30}})({_ATTACHING}+)")

_LINE_ENDS: Final = re.compile(r"\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")

# Replacing a character throughout is faster than NFKC of the whole text up to so many of them.
_FEW: Final = 16

# One character for one, so that offsets stay: the typographic apostrophe and quotes, the hyphens that NFKC leaves
# alone, and trade marks, which are not letters of the name they follow.
_FOLDED: Final = (
    {"\u2019": "'", "\u2010": "-", "\u2011": "-", "\u2122": " ", "\u2120": " "}
    | dict.fromkeys("\u2018\u201a\u201b\u201c\u201d\u201e\u201f\u00ab\u00bb", '"')
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class NormalText:
    """A text in NFKC; segment i begins at `normal_starts[i]` in it and at `source_starts[i]` in the source. Both end
    with the lengths of the texts. Both are empty if the two texts agree in every offset."""

    text: str
    normal_starts: list[int]
    source_starts: list[int]

    def source_span(self, start: int, end: int) -> tuple[int, int]:
        """Return the span of the source from which `text[start:end]` was made; a changed segment counts as a whole."""
        if not self.normal_starts:
            return start, end
        first = bisect_right(self.normal_starts, start) - 1
        last = bisect_left(self.normal_starts, end) - 1
        source_start = self.source_starts[first]
        if self._is_unchanged(first):
            source_start += start - self.normal_starts[first]
        source_end = self.source_starts[last + 1]
        if self._is_unchanged(last):
            source_end -= self.normal_starts[last + 1] - end
        return source_start, source_end

    def _is_unchanged(self, segment: int) -> bool:
        normal_length = self.normal_starts[segment + 1] - self.normal_starts[segment]
        return normal_length == self.source_starts[segment + 1] - self.source_starts[segment]


def normalise(text: str) -> NormalText:
    """Return the text in NFKC, folded, with the way back to the source."""
    if text.isascii():
        return NormalText(text, [], [])
    folded = _fold(text, set(text))
    if unicodedata.is_normalized("NFKC", folded):
        return NormalText(folded, [], [])
    # NFKC changes lengths (one ligature becomes two letters, a letter and its accent become one), but a token must
    # point at the source. So the text is normalised in segments that NFKC cannot join, and their borders are kept.
    pieces: list[str] = []
    normal_starts, source_starts = [0], [0]
    for match in _SEGMENT.finditer(folded):
        piece = unicodedata.normalize("NFKC", match[0])
        pieces.append(piece)
        normal_starts.append(normal_starts[-1] + len(piece))
        source_starts.append(match.end())
    return NormalText("".join(pieces), normal_starts, source_starts)


def reveal(text: str) -> NormalText:
    r"""Return the text with each character in NFKC, without format characters (Cf), and with lines ended by ``\n``.
    Nothing is joined or folded."""
    text = _LINE_ENDS.sub(lambda end: " \n" if len(end[0]) == 2 else "\n", text)
    if text.isascii():
        return NormalText(text, [], [])
    characters = set(text)
    forms = dict.fromkeys((one for one in characters if unicodedata.category(one) == "Cf"), "")
    forms |= {one: form for one in characters - forms.keys() if (form := _normal_form(one)) != one}
    revealed = text.translate({ord(character): form for character, form in forms.items()})
    resized = {character for character, form in forms.items() if len(form) != 1}
    if not resized:
        return NormalText(revealed, [], [])
    normal_starts, source_starts = [0], [0]
    for at in (index for index, character in enumerate(text) if character in resized):
        for end, length in ((at, at - source_starts[-1]), (at + 1, len(forms[text[at]]))):
            normal_starts.append(normal_starts[-1] + length)
            source_starts.append(end)
    normal_starts.append(len(revealed))
    source_starts.append(len(text))
    return NormalText(revealed, normal_starts, source_starts)


@lru_cache(maxsize=4)  # the same text comes up to four times in a row
def normal_text(text: str) -> str | None:
    """Return a text with the tokens of `normalise(text).text`, in less time; None if marks or Hangul letters prevent
    it."""
    # Signs beyond ASCII that are not letters become a bar: most texts are ASCII then, which Python searches faster.
    characters = set(text)
    changing = {character: form for character in characters if (form := _plain_form(character)) != character}
    if not _JOINING.isdisjoint(characters.union(*changing.values())):
        return None
    if len(changing) > _FEW:
        return unicodedata.normalize("NFKC", _fold(text, characters))
    for character, form in changing.items():
        text = text.replace(character, form)
    return text


@lru_cache(maxsize=8192)
def _plain_form(character: str) -> str:
    form = _normal_form(_fold_of(character))
    return "|" if len(form) == 1 and not (form.isascii() or form.isalnum() or form in _JOINING) else form


def _fold(text: str, characters: set[str]) -> str:
    """Correct what NFKC leaves or does wrong, with every character at its offset."""
    for character in characters:
        fold = _fold_of(character)
        if fold != character:
            text = text.replace(character, fold)
    if not characters.isdisjoint(_JOINING):
        text = _OVERLONG_MARKS.sub(lambda match: match[1] + " " * len(match[2]), text)
    return text


@lru_cache(maxsize=8192)
def _normal_form(character: str) -> str:
    return unicodedata.normalize("NFKC", character)


@lru_cache(maxsize=8192)
def _fold_of(character: str) -> str:
    """Return the one character that replaces this one before NFKC; mostly itself."""
    # A sign that spells several words or brackets (a/c in one character, a bracketed digit) is a separator: no span of
    # the source could tell its words apart.
    if character in _FOLDED:
        return _FOLDED[character]
    spelled = _normal_form(character)
    if len(spelled) < 2 or all(c.isalnum() or c in "_-.'@+" or c in LETTER_MARKS for c in spelled):
        return character
    return " " if any(c.isalnum() for c in spelled) else character
