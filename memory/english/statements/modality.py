"""Tells how a sentence says what it states: asserted, doubted, only believed, taken back, corrected."""

import re
from bisect import bisect_left, bisect_right, insort
from enum import StrEnum
from functools import cached_property
from operator import attrgetter
from typing import Final, NamedTuple

from memory.english.statements.patterns import Cue
from memory.english.words import modality as english


class SpeechAct(StrEnum):
    """The effect of a statement on earlier statements."""

    STATES = "states"
    RETRACTS = "retracts"  # takes the triple back
    CHANGES = "changes"  # says what is true from now on
    CORRECTS = "corrects"  # corrects an earlier mistake
    ADDS = "adds"  # says something else about the subject of an earlier statement in the same message


CLAUSE_BREAK: Final = re.compile(
    r"[,;:)|\x1a\u2013\u2014\u2192]|[-=]>|(?<!\bif )\(|\s--?\s|\b(?:but|because|since|although|though|whereas)\b",
    re.IGNORECASE,
)
_DOUBT: Final = re.compile(rf"\b(?:{english.DOUBTS})\b")
_CONDITION: Final = re.compile(rf"\b(?:{english.CONDITIONS})\b")
_HARMLESS: Final = re.compile(rf"\b(?:{english.HARMLESS})\b")
_REVOCATION: Final = re.compile(rf"(?<!\w)(?:{english.REVOCATIONS})(?!\w)")
_HEDGE: Final = re.compile(rf"\b(?:{english.HEDGES})\b")
_HEARSAY: Final = re.compile(rf"\b{english.HEARSAY}\b")
_HEDGE_AFTER: Final = re.compile(rf"(?<!\w)(?:{english.HEDGES_AFTER})(?!\w)")
_NEXT_CLAUSE: Final = re.compile(r"[*_\"'\u201d\x10]*, (?!(?:and|that|which|who)\b)")
_SEMICOLON: Final = re.compile(";")
_SAID: Final = re.compile(r"\b(?:i|we) (?:said|told you|wrote|claimed|mentioned)\b")
_CORRECTION: Final = re.compile(
    rf"\W*(?:(?:{english.BEFORE_CORRECTIONS})\b[,\s]+)*(?:{english.CORRECTIONS})(?!\w)(?! (?:that|if|for|about|to)\b)"
)
# The same as a sentence of its own: `Scratch that. S.`, and `S. Scratch that.`
_ONLY_CORRECTION: Final = re.compile(rf"(?:\A|[.!?\n])\W*(?:{english.CORRECTIONS})\W*\Z")
_TAKEN_BACK: Final = re.compile(rf"\W*(?:{english.TAKEN_BACK})(?!\w)")
_RETRACTION: Final = re.compile(
    rf"(?:^\W*|[,;:.!\u2013\u2014] ?|\s-\s|\b(?:{english.BEFORE_RETRACTIONS}),? )(?:{english.RETRACTIONS})(?!\w)"
)
# `that the tool flarn`: what may come between the words that take a statement back and its subject.
_DIRECTLY: Final = re.compile(r"(?: (?:the|our|my|your))?(?: [\w-]{1,30})?[\s*_\"'\u201c\x10:]*")
_DIRECTLY_MAX: Final = 48  # characters


class SentenceContext(NamedTuple):
    """The text around a sentence."""

    before: str = ""  # a piece of the text
    after: str = ""


ALONE: Final = SentenceContext()


class Modality:
    """The modality of one sentence. Positions are offsets in it."""

    def __init__(self, sentence: str, cues: list[Cue], around: SentenceContext) -> None:
        small = sentence.lower().replace("\u2019", "'")
        self._small = small if len(small) == len(sentence) else sentence
        self._cues = cues
        self._around = around
        self._found: dict[re.Pattern[str], list[int]] = {}

    @cached_property
    def _breaks(self) -> list[int]:
        return [found.end() for found in CLAUSE_BREAK.finditer(self._small)]

    @cached_property
    def _retractions(self) -> list[tuple[int, int]]:
        return [found.span() for found in _RETRACTION.finditer(self._small)]

    @cached_property
    def _harmless(self) -> list[tuple[int, int]]:
        denials = [(cue.start, cue.end) for cue in self._cues if cue.is_denied]
        return sorted([*denials, *self._retractions, *(found.span() for found in _HARMLESS.finditer(self._small))])

    @cached_property
    def _doubts(self) -> list[int]:
        return self._find_harmful(_DOUBT)

    @cached_property
    def _conditions(self) -> list[int]:
        return self._find_harmful(_CONDITION)

    @cached_property
    def _hedges(self) -> list[int]:
        hearsay = (found for found in _HEARSAY.finditer(self._small) if found[1] not in english.OWN_VOICES)
        return sorted([found.end() for found in (*_HEDGE.finditer(self._small), *hearsay)])

    def clause_start(self, position: int) -> int:
        before = bisect_right(self._breaks, position)
        return self._breaks[before - 1] if before else 0

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
        if self._has_been_said(start, end):
            return True
        return bisect_left(self._conditions, clause) != bisect_left(self._conditions, end)

    def _has_been_said(self, start: int, end: int) -> bool:
        """True for `Let me correct this: I said that S`."""
        said = self._find(_SAID)
        is_said = bool(said) and self.clause_start(start) <= said[-1] < start
        return is_said and (self.is_correction() or "actually " in self._small[end:])

    def is_revoked(self, end: int) -> bool:
        """True if what follows doubts or revokes a statement that ends there."""
        return self._follows(self._find(_REVOCATION), end) or _TAKEN_BACK.match(self._around.after.lower()) is not None

    def is_hedged(self, start: int, end: int) -> bool:
        """True if a statement there is only believed or passed on."""
        if self._hedges and self._hedges[0] < start:
            return True
        hedges = self._find(_HEDGE_AFTER)
        if not self._follows(hedges, end):
            return False
        # `A is an X, B belongs to Y I think`: this applies only to B.
        hedge = hedges[bisect_left(hedges, end)]
        after = bisect_left(self._cues, end, key=attrgetter("start"))
        is_other = after < len(self._cues) and self._cues[after].start < hedge
        return not (is_other and _NEXT_CLAUSE.match(self._small, end) is not None)

    def is_taken_back(self, start: int) -> bool:
        """True if a statement whose subject is there is named only to be forgotten."""
        ends = [end for _, end in self._retractions if start - _DIRECTLY_MAX <= end <= start]
        return any(_DIRECTLY.fullmatch(self._small, end, start) for end in ends)

    def is_correction(self) -> bool:
        """True if the sentence opens with words that correct what was said before."""
        return (
            _CORRECTION.match(self._small) is not None
            or _ONLY_CORRECTION.search(self._around.before.lower()) is not None
        )

    def _find(self, pattern: re.Pattern[str]) -> list[int]:
        if pattern not in self._found:
            self._found[pattern] = [found.start() for found in pattern.finditer(self._small)]
        return self._found[pattern]

    def _find_harmful(self, pattern: re.Pattern[str]) -> list[int]:
        return [position for position in self._find(pattern) if not self._is_harmless(position)]

    def _is_harmless(self, position: int) -> bool:
        before = bisect_right(self._harmless, (position, len(self._small) + 1))
        return bool(before) and position < self._harmless[before - 1][1]

    def _is_in_one_part(self, position: int, other: int) -> bool:
        """True if there is no semicolon between two positions."""
        semicolons = self._find(_SEMICOLON)
        return bisect_left(semicolons, position) == bisect_left(semicolons, other)

    def _follows(self, positions: list[int], end: int) -> bool:
        """True if one of the positions comes after ``end`` and before the next semicolon."""
        after = bisect_left(positions, end)
        return after < len(positions) and self._is_in_one_part(end, positions[after])
