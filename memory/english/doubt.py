"""Tells how a sentence says what it states: asserted, doubted, only believed, taken back, corrected."""

import re
from bisect import bisect_left, bisect_right, insort
from enum import StrEnum
from functools import cached_property
from operator import attrgetter
from typing import Final

from memory.english.forms import Cue
from memory.english.lexicon import load_words, read_pattern


class SpeechAct(StrEnum):
    """The effect of a statement on earlier statements."""

    STATES = "states"
    RETRACTS = "retracts"  # takes the triple back
    CHANGES = "changes"  # says what is true from now on
    CORRECTS = "corrects"  # corrects an earlier mistake
    ADDS = "adds"  # says something else about the subject of an earlier statement in the same message


_CLAUSE_BREAK: Final = re.compile(
    r"[,;:)|\x1a\u2013\u2014\u2192]|[-=]>|(?<!\bif )\(|\s--?\s|\b(?:but|because|since|although|though|whereas)\b",
    re.IGNORECASE,
)
_DOUBT: Final = re.compile(rf"\b{read_pattern('doubts')}\b")
_CONDITION: Final = re.compile(rf"\b{read_pattern('conditions')}\b")
_HARMLESS: Final = re.compile(rf"\b{read_pattern('harmless')}\b")
_REVOCATION: Final = re.compile(rf"(?<!\w){read_pattern('revocations')}(?!\w)")
_HEDGE: Final = re.compile(rf"\b{read_pattern('hedges')}\b")
_HEARSAY: Final = re.compile(rf"\b{read_pattern('hearsay')}\b")
_HEDGE_AFTER: Final = re.compile(rf"(?<!\w){read_pattern('hedges_after')}(?!\w)")
_OWN_VOICES: Final = load_words("own_voices")
_NEXT_CLAUSE: Final = re.compile(r"[*_\"'\u201d\x10]*, (?!(?:and|that|which|who)\b)")
_SEMICOLON: Final = re.compile(";")
_SAID: Final = re.compile(r"\b(?:i|we) (?:said|told you|wrote|claimed|mentioned)\b")
_CORRECTION: Final = re.compile(
    rf"\W*(?:{read_pattern('before_corrections')}\b[,\s]+)*{read_pattern('corrections')}(?!\w)"
    r"(?! (?:that|if|for|about|to)\b)"
)
# The same as a sentence of its own: `Oops, that was wrong. S.`, and `S. Scratch that.`
_ONLY_CORRECTION: Final = re.compile(
    rf"(?:\A|[.!?\n])\W*(?:{read_pattern('corrections')}\b\W+){{0,3}}{read_pattern('corrections')}\W*\Z"
)
_TAKEN_BACK: Final = re.compile(rf"\W*{read_pattern('taken_back')}(?!\w)")
_RETRACTION: Final = re.compile(
    rf"(?:^\W*|[,;:.!\u2013\u2014] ?|\s-\s|\b{read_pattern('before_retractions')},? )"
    rf"{read_pattern('retractions')}(?!\w)"
)
# `that the tool flarn`: what may come between the words that take a statement back and its subject.
_DIRECTLY: Final = re.compile(r"(?: (?:the|our|my|your))?(?: [\w-]{1,30})?[\s*_\"'\u201c\x10:]*")
_DIRECTLY_MAX: Final = 48  # characters


class Modality:
    """The modality of one sentence. Positions are offsets in it; ``before`` and ``after`` are pieces of the text around
    it."""

    def __init__(self, sentence: str, cues: list[Cue], before: str = "", after: str = "") -> None:
        small = sentence.lower().replace("\u2019", "'")
        self._small = small if len(small) == len(sentence) else sentence
        self._cues = cues
        self._before, self._after = before.lower(), after.lower()
        self._found: dict[re.Pattern[str], list[tuple[int, int]]] = {}

    def _find(self, pattern: re.Pattern[str]) -> list[tuple[int, int]]:
        if pattern not in self._found:
            self._found[pattern] = [found.span() for found in pattern.finditer(self._small)]
        return self._found[pattern]

    @cached_property
    def _harmless(self) -> list[tuple[int, int]]:
        denials = [(cue.start, cue.end) for cue in self._cues if cue.is_denied]
        return sorted([*denials, *self._find(_RETRACTION), *self._find(_HARMLESS)])

    @cached_property
    def _doubts(self) -> list[int]:
        return self._find_harmful(_DOUBT)

    @cached_property
    def _conditions(self) -> list[int]:
        return self._find_harmful(_CONDITION)

    @cached_property
    def _first_hedge(self) -> int:
        """The end of the first hedge, or of the sentence."""
        said = (found.end() for found in _HEARSAY.finditer(self._small) if found[1] not in _OWN_VOICES)
        return min([*(end for _, end in self._find(_HEDGE)), *said], default=len(self._small))

    def _find_harmful(self, pattern: re.Pattern[str]) -> list[int]:
        starts = (start for start, _ in self._find(pattern))
        return [start for start in starts if not self._is_harmless(start)]

    def _is_harmless(self, position: int) -> bool:
        before = bisect_right(self._harmless, (position, len(self._small) + 1))
        return bool(before) and position < self._harmless[before - 1][1]

    def clause_start(self, position: int) -> int:
        breaks = self._find(_CLAUSE_BREAK)
        before = bisect_right(breaks, position, key=lambda span: span[1])
        return breaks[before - 1][1] if before else 0

    def is_doubted(self, position: int) -> bool:
        """True if a doubt comes anywhere before the position, with no semicolon in between."""
        before = bisect_left(self._doubts, position)
        return bool(before) and self._is_in_one_part(self._doubts[before - 1], position)

    def add_doubt(self, position: int) -> None:
        """Count a negation that takes nothing back as a doubt of what follows."""
        insort(self._doubts, position)

    def is_conditional(self, start: int, end: int) -> bool:
        """True if there is a condition between the beginning of the clause around ``start``, and ``end``."""
        clause = self.clause_start(start)
        said = self._find(_SAID)
        if said and clause <= said[-1][0] < start and (self.is_correction() or "actually " in self._small[end:]):
            return True  # `Let me correct this: I said that S`
        return bisect_left(self._conditions, clause) != bisect_left(self._conditions, end)

    def is_revoked(self, end: int) -> bool:
        """True if what follows doubts or revokes a statement that ends there."""
        return self._find_after(_REVOCATION, end) is not None or _TAKEN_BACK.match(self._after) is not None

    def is_hedged(self, start: int, end: int) -> bool:
        """True if a statement there is only believed or passed on."""
        if self._first_hedge < start:
            return True
        hedge = self._find_after(_HEDGE_AFTER, end)
        if hedge is None:
            return False
        # `A is an X, B belongs to Y I think`: this applies only to B.
        after = bisect_left(self._cues, end, key=attrgetter("start"))
        is_other = after < len(self._cues) and self._cues[after].start < hedge
        return not (is_other and _NEXT_CLAUSE.match(self._small, end) is not None)

    def is_taken_back(self, start: int) -> bool:
        """True if a statement whose subject is there is named only to be forgotten."""
        ends = [end for _, end in self._find(_RETRACTION) if start - _DIRECTLY_MAX <= end <= start]
        return any(_DIRECTLY.fullmatch(self._small, end, start) for end in ends)

    def is_correction(self) -> bool:
        """True if the sentence opens with words that correct what was said before."""
        return _CORRECTION.match(self._small) is not None or _ONLY_CORRECTION.search(self._before) is not None

    def _find_after(self, pattern: re.Pattern[str], end: int) -> int | None:
        """Return where the pattern is found after ``end`` and before the next semicolon; None if it is not."""
        found = self._find(pattern)
        after = bisect_left(found, (end, 0))
        is_near = after < len(found) and self._is_in_one_part(end, found[after][0])
        return found[after][0] if is_near else None

    def _is_in_one_part(self, position: int, other: int) -> bool:
        """True if there is no semicolon between two positions."""
        semicolons = self._find(_SEMICOLON)
        return bisect_left(semicolons, (position, 0)) == bisect_left(semicolons, (other, 0))
