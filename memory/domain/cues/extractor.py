"""Reads the explicit statements in prose: "gnommoweb is a repo of Glitch University"."""

import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Final

from memory.domain.channels import READ_TRUST, Channel, channel_of_role
from memory.domain.cues import lexicon
from memory.domain.cues.noun_phrases import Passage, Phrase, is_adjective, is_plural, read_passage, read_phrase
from memory.domain.cues.patterns import OPERATORS, PLACES, Cue, Form, find_forms
from memory.domain.cues.subjects import CLAUSE_BREAK, Vocabulary, read_subject
from memory.domain.steps import Steps, finish
from memory.domain.text.function_words import is_closed_class
from memory.domain.text.quotations import find_quotations, is_quoted
from memory.domain.text.sentences import SentenceFinder, mask
from memory.domain.text.unicode import normalise

__all__ = ["CueMatch", "Vocabulary", "find_cues", "iter_cues", "iter_names_near_cues", "names_near_cues"]

# With adjectives between, "is a ... kind of" and "is a ... part of" are two cues that say one thing.
_SPELLED_OUT: Final = {Form.KIND_OF: Form.IS_KIND_OF, Form.PART_OF: Form.IS_PART_OF}
_CUES_AHEAD: Final = 8  # more of them cannot stand within the words of one phrase

_GLANCE: Final = 100  # characters; three words are hardly longer

_DOUBT: Final = re.compile(rf"\b(?:{lexicon.DOUBTS})\b", re.IGNORECASE)
_CONDITION: Final = re.compile(rf"\b(?:{lexicon.CONDITIONS})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CueMatch:
    """One statement: the subject is in the parent, in a dimension; all three are tokens."""

    subject: str
    parent: str
    dimension: str
    is_isa: bool
    confidence: float  # in [0, 1]
    start: int  # `source[start:end]` reaches from the subject to the last word that was used
    end: int
    channel: Channel = Channel.USER


@dataclass(frozen=True, slots=True)
class _Place:
    """A cue in its passage."""

    passage: Passage
    cue: Cue
    following: list[Cue]  # the cues after it
    clause_start: int
    barrier: int  # where the last match ended

    @property
    def stops(self) -> set[int]:
        """Where a phrase ends because another cue begins."""
        # `ISA` in the words of a verb's cue is the acronym, and ends nothing.
        takes_operators = self.cue.form in OPERATORS
        return {other.start for other in self.following if takes_operators or other.form not in OPERATORS}


def find_cues(
    text: str, role: str = "user", *, vocabulary: Vocabulary, characters_max: int | None = None
) -> list[CueMatch]:
    """The statements of a text in order; their spans do not overlap. Linear in the length of the text.

    Of the sentences with a cue, the first are read that have no more than ``characters_max`` together."""
    steps = iter_cues(text, role, vocabulary=vocabulary, characters_max=characters_max)
    return [match for match in steps if match is not None]


def iter_cues(
    text: str, role: str = "user", *, vocabulary: Vocabulary, characters_max: int | None = None
) -> Iterator[CueMatch | None]:
    """The same step by step, for a caller that must not keep the processor for long: None where a step found nothing.
    A step takes some 40 ns a character of the text, or 10 µs a character of one cue's clause."""
    # Most texts have no cue, and masking costs more than the search: so cues are looked for first, and again in prose.
    forms = list(find_forms(text))
    yield None
    if not forms:
        return
    prose = mask(text)
    yield None
    if prose is not text:
        forms = list(find_forms(prose))
    if not any(_may_have_subject(prose, cue, vocabulary) for cue in forms):
        return
    channel, quotations = channel_of_role(role), None
    characters = 0
    for start, sentence, cues in _find_assertions(prose, forms):
        characters += len(sentence)
        if characters_max is not None and characters > characters_max:
            return
        yield None
        for match in _read_sentence(sentence, cues, vocabulary):
            if match is None:
                yield None
                continue
            if quotations is None:  # looked for once something was found, which is rare
                quotations = find_quotations(text)
            first, last = start + match.start, start + match.end
            via = Channel.QUOTED if is_quoted(quotations, first, last) else channel
            confidence = round(match.confidence * READ_TRUST[via], 4)
            yield replace(match, confidence=confidence, start=first, end=last, channel=via)


def names_near_cues(text: str, names: Collection[str], *, as_parents: bool = False) -> set[str]:
    """Those of the names that stand shortly before a cue (or after it, ``as_parents``)."""
    return finish(iter_names_near_cues(text, names, as_parents=as_parents))


def iter_names_near_cues(text: str, names: Collection[str], *, as_parents: bool = False) -> Steps[set[str]]:
    """The same step by step: one for each cue, which is compared with each name."""
    # Of no other name does `find_cues` make a subject, and this takes a fraction of its time.
    near: set[str] = set()
    for cue in find_forms(text):
        around = text[max(0, cue.start - _GLANCE) : cue.start]
        if as_parents:
            around += text[cue.end : cue.end + _GLANCE]
        spelled = unicodedata.normalize("NFKC", normalise(around).text.lower())
        joined = spelled.replace(" ", "_")  # as a name of several words is
        near.update(name for name in names if name in spelled or name in joined)
        yield
    return near


def _find_assertions(prose: str, forms: list[Cue]) -> Iterator[tuple[int, str, list[Cue]]]:
    """The sentences with cues that are no questions: where each begins, its text, its cues relative to that."""
    for line_start, line_end, cues in _find_lines(prose, forms):
        line = SentenceFinder(prose[line_start:line_end])
        for sentence, within in groupby(cues, key=lambda cue: line.sentence_at(cue.start - line_start)):
            if not sentence.is_question:
                start = line_start + sentence.start
                text = prose[start : line_start + sentence.end]
                yield start, text, [Cue(cue.form, cue.start - start, cue.end - start) for cue in within]


def _find_lines(prose: str, forms: list[Cue]) -> Iterator[tuple[int, int, list[Cue]]]:
    """The lines with cues: start, end, cues."""
    start, end, cues = 0, -1, list[Cue]()
    for cue in forms:
        if cue.start >= end:
            if cues:
                yield start, end, cues
            start, end, cues = prose.rfind("\n", 0, cue.start) + 1, prose.find("\n", cue.start), []
            end = len(prose) if end < 0 else end
        cues.append(cue)
    if cues:
        yield start, end, cues


def _read_sentence(sentence: str, cues: list[Cue], vocabulary: Vocabulary) -> Iterator[CueMatch | None]:
    likely = [index for index, cue in enumerate(cues) if _may_have_subject(sentence, cue, vocabulary)]
    asserted = list(_find_asserted(sentence, cues, likely)) if likely else []
    if not asserted:
        return
    passage = read_passage(sentence, cues)
    barrier = 0  # the words of one match start no other
    for index, clause_start in asserted:
        if cues[index].start < barrier:
            continue
        place = _Place(passage, cues[index], cues[index + 1 : index + 1 + _CUES_AHEAD], clause_start, barrier)
        match = _read_cue(place, vocabulary)
        if match is not None:
            barrier = match.end
        yield match


def _find_asserted(sentence: str, cues: list[Cue], likely: list[int]) -> Iterator[tuple[int, int]]:
    """Those cues that are neither doubted nor conditional: index, and where the clause begins."""
    # Doubt reaches over the rest of the sentence, a condition only to the end of its clause.
    clauses = [0, *(found.end() for found in CLAUSE_BREAK.finditer(sentence))]
    conditions = [found.start() for found in _CONDITION.finditer(sentence)]
    doubt = _DOUBT.search(sentence)
    for index in likely:
        start = cues[index].start
        if doubt and doubt.start() < start:
            return
        clause_start = clauses[bisect_right(clauses, start) - 1]
        if bisect_left(conditions, clause_start) == bisect_left(conditions, start):
            yield index, clause_start


def _may_have_subject(sentence: str, cue: Cue, vocabulary: Vocabulary) -> bool:
    """False if the words before a cue settle that it has none; most cues follow a pronoun or an ordinary noun."""
    # Asked before the sentence is read, which costs a hundred times as much.
    before = sentence[max(0, cue.start - _GLANCE) : cue.start].split()[-3:]
    if not before or (is_closed_class(before[-1].lower()) and before[-1].lower() not in lexicon.NEUTRAL_ADVERBS):
        return False
    return cue.form in OPERATORS or not all(_is_ordinary(word, vocabulary) for word in before)


def _is_ordinary(word: str, vocabulary: Vocabulary) -> bool:
    if not word.isalpha():
        return False
    if is_closed_class(word.lower()):
        return True
    return word.islower() and vocabulary.is_common(word) and not vocabulary.is_concept(word)


def _read_cue(place: _Place, vocabulary: Vocabulary) -> CueMatch | None:
    form, phrase = _read_object(place)
    if phrase is None or not _is_object(phrase, form, vocabulary):
        return None
    of_what = form.is_isa and phrase.next_word == "of"
    context = read_phrase(place.passage, phrase.next_end, place.stops) if of_what else None
    subject = read_subject(
        place.passage,
        place.cue,
        clause_start=place.clause_start,
        barrier=place.barrier,
        allows_initial=form is Form.IS_KIND_OF or (context is not None and context.is_name),
        vocabulary=vocabulary,
    )
    dimension = context.head if context else form.dimension
    if subject is None or len({subject.concept, phrase.head, dimension}) < 3:  # nothing is in itself
        return None
    end = context.end if context else phrase.end
    return CueMatch(subject.concept, phrase.head, dimension, form.is_isa, form.confidence, subject.start, end)


def _read_object(place: _Place) -> tuple[Form, Phrase | None]:
    """The phrase after the cue; where that shows the cue to go on ("an important part of X"), the one after."""
    form = place.cue.form
    phrase = read_phrase(place.passage, place.cue.end, place.stops)
    if form is Form.IS_A and phrase is not None and place.following:
        after = place.following[0]
        if after.start == phrase.next_start and after.form in _SPELLED_OUT:
            return _SPELLED_OUT[after.form], read_phrase(place.passage, after.end, place.stops)
    return form, phrase


def _is_object(phrase: Phrase, form: Form, vocabulary: Vocabulary) -> bool:
    """Whether a phrase says what something is or belongs to, and not how it is liked or when it happens."""
    head = phrase.head
    is_ordinary = vocabulary.is_common(head) and not phrase.head_is_name
    is_inflected = is_ordinary and (is_plural(head) or head.endswith(("ed", "ly")))
    if form in OPERATORS:
        return not is_inflected
    if head.rpartition("_")[2] in lexicon.EVALUATIONS or len(head) == 1:
        return False
    # The last word of a name of several is no adjective: "Privet Drive".
    if is_adjective(head) and "_" not in head:
        return False
    if form in PLACES:
        return lexicon.OCCASIONS.isdisjoint((phrase.units[0], head))
    if form.is_isa:
        return not (is_inflected or phrase.is_numbered or phrase.units[0] in lexicon.DEGREES)
    return True
