"""Tells whether a cue says more about the subject of the statement before it: `that belongs to Z`, `and runs on Q`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from memory.domain.cues.clauses import Subject
from memory.domain.cues.parents import Parent
from memory.domain.cues.patterns import CONTINUING, ELLIPTICAL, FINITE, OPERATORS, PLACES, USING, Cue, Form
from memory.domain.language.english import verbs

_MARKS: Final = " *_\"'\u201c\u201d\u2019\x10"
_ADVERBS: Final = rf"(?: (?:{'|'.join(sorted(verbs.NEUTRAL_ADVERBS))}))*"
# What may come between a statement and a cue that says more about the same thing.
_RELATIVE: Final = re.compile(rf",? ?(?:(?:and|but) )?(?:that|which|who){_ADVERBS}\Z")
_AND: Final = re.compile(rf",? ?(?:and|but){_ADVERBS}\Z")
_COMMA_ONLY: Final = re.compile(rf",{_ADVERBS}\Z")
_WHICH: Final = re.compile(rf",? ?which{_ADVERBS}\Z")
_CLOSING: Final = re.compile(rf"[,)](?:,)?{_ADVERBS}\Z")
# `a hotel in Mittenwald and belongs to`: after a noun, a verb has no other subject.
_PHRASE_AND: Final = re.compile(rf" (?:in|from|at|near|for|with|on)(?: [\w-]{{1,30}}){{1,4}},? (?:and|but){_ADVERBS}\Z")
_REDUCED: Final = re.compile(r"(?:,? and|,)(?: also)?\Z")
# Also after where it is, or with what: `a village on the shore; it belongs to`.
_PRONOUN: Final = re.compile(
    r"(?: (?:in|from|at|near|for|with|on|by)(?: [\w-]{1,30}){1,4})?(?: \([^()]{1,40}\))?"
    rf"(?:(?:[,;:\u2013\u2014]| --?)(?: (?:and|but|so))?| and) (?:it|s?he|they){_ADVERBS}\Z"
)
_LATER: Final = re.compile(rf".{{0,80}}[,;\u2013\u2014-] ?(?:now |since \w+ )?(?:it|they|s?he){_ADVERBS}\Z")
_ITSELF: Final = re.compile(r"\b(?:it|them|him|her)\b")
_BETWEEN_MAX: Final = 200  # characters; the bound keeps a long sentence linear
# `It` after these is the thing they describe: not a language, an owner or a place.
_TELLING: Final = frozenset(
    {Form.IS_WRITTEN, Form.WRITTEN, Form.IS_OWNED_BY, Form.OWNED_BY, Form.IS_LOCATED, Form.LOCATED}
)
_PRONOUNS: Final = ("it", "they", " he", "she")


@dataclass(frozen=True, slots=True)
class Last:
    """The previous statement of the same sentence."""

    subjects: Sequence[Subject]
    parent: Parent
    is_apposition: bool
    is_denied: bool
    end: int
    has_pronoun: bool = False  # as its subject: `It runs on tyr`


def continued_subjects(text: str, last: Last | None, cue: Cue) -> list[Subject]:
    """Return the subjects of the previous statement if the cue says more about them, or that statement's parent."""
    if last is None or cue.form in OPERATORS:
        return []
    if cue.start - last.end > _BETWEEN_MAX:
        return []
    written = text[last.end : cue.start].rstrip(_MARKS)
    between = written.lower()
    name = last.parent.name
    if cue.form is Form.APPOSITION:
        return [name] if name is not None and not between and not last.parent.form.is_isa else []
    subjects = list(last.subjects)
    if len(subjects) > 1 and not cue.is_plural:
        return []
    spoken = f"{between} it" if cue.is_pronominal else between
    has_pronoun = spoken.endswith(_PRONOUNS)
    if last.parent.form is Form.MOVED:  # `it uses` speaks of the thing that was moved, not of where it is now
        is_moved = (
            cue.form in USING | {Form.IS_WRITTEN} and not cue.is_plural and has_pronoun and _PRONOUN.match(spoken)
        )
        return subjects if is_moved else [name] if name is not None and _WHICH.match(between) else []
    if last.is_denied and has_pronoun and _goes_on(written, spoken):
        return subjects
    if last.is_apposition and _CLOSING.match(between):
        return subjects
    is_elliptical = cue.form in ELLIPTICAL or cue.form in CONTINUING
    is_direct = not between and cue.form in (Form.OWNED_BY, Form.LOCATED)  # `a worker owned by Team Blue`
    if is_elliptical and last.parent.form.is_isa and (is_direct or _REDUCED.match(between)):
        return subjects
    if _AND.match(between) or (_COMMA_ONLY.match(between) and cue.form in FINITE):
        return subjects
    is_of_subject = (
        last.parent.form in _TELLING
        or (last.has_pronoun and not last.parent.form.is_isa)  # `It runs on tyr and it is owned by Ada`: the same thing
        or (last.parent.form in PLACES and cue.form is Form.IS_WRITTEN)
    )
    if is_of_subject and not last.is_denied and has_pronoun and _PRONOUN.match(spoken):
        return subjects
    if not last.parent.form.is_isa:
        return [name] if name is not None and _WHICH.match(between) else []
    if _PHRASE_AND.match(between) and (cue.form in FINITE or text.startswith("is", cue.start)):
        return subjects
    if last.parent.context or (cue.is_denied and not last.is_denied):
        return []
    return subjects if _RELATIVE.match(between) or (has_pronoun and _PRONOUN.match(spoken)) else []


def _goes_on(written: str, spoken: str) -> bool:
    """True if words between a denial and a pronoun leave it the same thing: `not in Zig, Marit rewrote it, it's`."""
    if _LATER.match(spoken) is None:
        return False
    between = written.rpartition(",")[0] or written
    return _ITSELF.search(between.lower()) is not None or between == between.lower()
