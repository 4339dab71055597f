"""Tells whether a cue says more about the subject of the statement before it: `that belongs to Z`, `and runs on Q`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memory.english.statements.clauses import Subject
from memory.english.statements.parents import Parent
from memory.english.statements.patterns import CONTINUING, ELLIPTICAL, FINITE, OPERATORS, Cue, Form
from memory.english.words import verbs

_MARKS: Final = " *_\"'\u201c\u201d\u2019\x10"
_ADVERBS: Final = rf"(?: (?:{'|'.join(sorted(verbs.NEUTRAL_ADVERBS))}))*"
# What may come between a statement and a cue that says more about the same thing.
_RELATIVE: Final = re.compile(rf",? ?(?:(?:and|but) )?(?:that|which|who){_ADVERBS}\Z")
_AND: Final = re.compile(rf",? ?(?:and|but){_ADVERBS}\Z")
# `a hotel in Mittenwald and belongs to`: after a noun, a verb has no other subject.
_WHERE: Final = r"(?: (?:in|from|at|near|for|with|on|by)(?: [\w-]{1,30}){1,4})?"
_AND_AFTER: Final = re.compile(rf"{_WHERE},? (?:and|but){_ADVERBS}\Z")
_COMMA_ONLY: Final = re.compile(rf",{_ADVERBS}\Z")
_CLOSING: Final = re.compile(rf"[,)](?:,)?{_ADVERBS}\Z")
_REDUCED: Final = re.compile(r"(?:,? and|,)(?: also)?\Z")
# Also after where it is, or with what: `a village on the shore; it belongs to`.
_PRONOUN: Final = re.compile(
    rf"{_WHERE}(?: \([^()]{{1,40}}\))?(?: any ?(?:more|longer))?"
    rf"(?:(?:[,;:\u2013\u2014]| --?)(?: (?:and|but|so))?| and) (?:it|s?he|they){_ADVERBS}\Z"
)
_DIRECT: Final = (Form.OWNED_BY, Form.LOCATED)  # `a worker owned by Team Blue`
_BETWEEN_MAX: Final = 200  # characters; the bound keeps a long sentence linear


@dataclass(frozen=True, slots=True)
class Last:
    """The previous statement of the same sentence."""

    subjects: Sequence[Subject]
    parent: Parent
    is_denied: bool
    end: int


def continued_subjects(text: str, last: Last | None, cue: Cue) -> list[Subject]:
    """Return the subjects of the previous statement if the cue says more about them."""
    if last is None or cue.form in OPERATORS or cue.form is Form.APPOSITION:
        return []
    if cue.start - last.end > _BETWEEN_MAX or (len(last.subjects) > 1 and not cue.is_plural):
        return []
    between = text[last.end : cue.start].rstrip(_MARKS).lower()
    spoken = f"{between} it" if cue.is_pronominal else between
    is_isa = last.parent.form.is_isa
    is_of_one = is_isa and not last.parent.context and (last.is_denied or not cue.is_denied)
    is_elliptical = cue.form in ELLIPTICAL or cue.form in CONTINUING
    goes_on = (
        (last.parent.form is Form.APPOSITION and _CLOSING.match(between))
        or (is_isa and is_elliptical and _REDUCED.match(between))
        or (is_isa and cue.form in _DIRECT and not between)
        or _AND.match(between)
        or (is_isa and cue.form in FINITE and _AND_AFTER.match(between))
        or (cue.form in FINITE and _COMMA_ONLY.match(between))
        or (is_of_one and _RELATIVE.match(between))
        or ((is_of_one or last.is_denied) and _PRONOUN.match(spoken))
    )
    return list(last.subjects) if goes_on else []
