"""Reads the explicit statements in prose: "gnommoweb is a repo of Glitch University".

``forms`` has the phrases that state something, ``doubt`` tells what is supposed, believed, taken back or corrected,
``clauses`` reads the subjects and the object of a phrase, ``changes`` what is named, renamed and moved."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import groupby
from typing import Any, Final, NamedTuple

from memory.attribution.parts import find_voices, find_voices_at_once, voice_of
from memory.channels import READ_TRUST, Channel, channel_in
from memory.english.changes import read_change
from memory.english.clauses import Parent, ends_apposition, find_stops, fits, make_parent, read_apposed, read_subjects
from memory.english.doubt import Modality, SpeechAct
from memory.english.forms import APPOSITION, KIND_OF, Cue, Form, Takes, Verb, find_forms
from memory.english.function_words import is_closed_class
from memory.english.lexicon import load_words
from memory.english.machine_output import OutputFinder
from memory.english.noun_phrases import Passage, Vocabulary, read_passage, read_phrase
from memory.english.sentences import MASK, SentenceFinder, blank_signs, mask
from memory.english.tokenizer import NamesInside, Token
from memory.types import GEOGRAPHY, TYPE
from memory.voice import Voice

# The factor for what somebody only believes, or has from others, compared to what is asserted.
HEDGED_TRUST: Final = 0.7

_LINE_BREAK: Final = re.compile("\n")
_GLANCE: Final = 100  # characters; three words are hardly longer
_MARKS: Final = "*_\"'\u2019\u201d`\x10()"
_WORDS_BEFORE: Final = 3  # the name, a noun and an adverb: `the kvasir service now`
_NEUTRAL_ADVERBS: Final = load_words("neutral_adverbs")
_CUES_AHEAD: Final = 8  # no more than these fit within one phrase
_WEAKENING: Final = frozenset({"yet", "per", "alone", "only", "just", "solely", "exclusively"})
# `not a service but a repo`, `no longer owned by Anna but by Bob`, `no longer uses SQLite but Postgres`
_BUT: Final = re.compile(
    r"(?: any ?more| any longer)?,?\s+but (?:now |rather |instead )?(?:(?:is|are|runs|belongs|owned|hosted|uses) )?"
    r"(?:by|on|in|to|at|of|an?|our|my|the)?\b"
)
_JOINT: Final = re.compile(r"[*_\"'\u201d\x10]*(?:,?\s+(?P<and>and)\s+|,\s+)")
_LISTED_MAX: Final = 8
# `is a relay, not a worker`; `runs on tyr-1 instead of odin-2`; `is a brigantine, forget the lugger`
_CONTRAST: Final = re.compile(
    r"[*_\"'\u201d\x10]*(?:,? (?:and )?(?:not (?:(?P<article>an? )|(?:on |in |by |of )?(?=[A-Z]|[\w.-]{0,30}?[\d_-]))"
    r"|instead of |rather than )"
    r"|[,;] (?:so )?forget (?:about )?(?:the|that) )"
)
_ADVERBS: Final = rf"(?: (?:{'|'.join(sorted(_NEUTRAL_ADVERBS))}))*"
# What may come between a statement and a cue that says more about its subject: where it is, brackets, a mark, a
# conjunction, a pronoun.
_BETWEEN: Final = re.compile(
    r"(?P<where> (?:in|from|at|near|for|with|on|by)(?: (?!(?:and|but|so)\b)[\w-]{1,30}){1,4})?"
    r"(?P<aside> \([^()]{1,40}\))?"
    r"(?: any ?(?:more|longer))?(?P<mark>[,;:)\u2013\u2014],?| --?)?(?: ?(?P<and>and|but|so))?"
    rf"(?: ?(?:(?P<relative>that|which|who)|(?P<pronoun>it|s?he|they)))?{_ADVERBS}\Z"
)
_BETWEEN_MAX: Final = 200  # characters; the bound keeps a long sentence linear


@dataclass(frozen=True, slots=True)
class CueMatch:
    """One statement: the subject is in the parent, in a dimension; all three are tokens. One that retracts says that
    this is not so."""

    subject: str
    parent: str
    dimension: str
    is_isa: bool
    confidence: float  # in [0, 1]
    start: int  # `source[start:end]` reaches from the subject to the last word that was used
    end: int
    channel: Channel = Channel.USER
    kind: SpeechAct = SpeechAct.STATES
    is_hedged: bool = False  # believed or passed on: its confidence is lower
    written: str = field(default="", compare=False)  # `source[start:end]`


def describe_match(match: CueMatch) -> dict[str, Any]:
    """Return the statement for people and programs: in answers and in ``manage.py explain``."""
    described = asdict(match)
    del described["written"]
    span = [described.pop("start"), described.pop("end")]
    return described | {"span": span}


def find_cues(text: str, role: str = "user", *, vocabulary: Vocabulary, as_typed: bool = False) -> list[CueMatch]:
    """Return the statements of a text in order. Linear in the length of the text. ``as_typed`` keeps the words of a
    parent as they are, for callers that mean each of them."""
    return list(iter_cues(text, role, vocabulary=vocabulary, as_typed=as_typed))


def iter_cues(
    text: str,
    role: str = "user",
    *,
    vocabulary: Vocabulary,
    characters_max: int | None = None,
    as_typed: bool = False,
) -> Iterator[CueMatch]:
    """Yield the statements of a text as they are found, for callers that need only the first ones. Reads the first
    sentences with a cue that together have no more than ``characters_max``."""
    # Most texts have no cue with a subject, and masking costs more than the search: so the search comes first.
    clear = blank_signs(text)
    cues = find_forms(clear)
    hopeful = {cue.start for cue in cues if _may_have_subject(clear, cue, vocabulary)}
    if not hopeful:
        return
    prose, voices = mask(text), None
    if prose is not text:
        cues = [cue for cue in cues if MASK not in prose[cue.start : cue.end + 1]]
    for match in _read_prose(prose, cues, hopeful, vocabulary, characters_max, as_typed):
        if voices is None:  # computed only once something was found, which is rare
            voices = find_voices(text) if characters_max is None else find_voices_at_once(text)
        voice = voice_of(voices, match.start, match.end)
        if voice is Voice.NOBODYS:
            continue
        via = channel_in(voice, role)
        confidence, written = round(match.confidence * READ_TRUST[via], 4), text[match.start : match.end]
        yield replace(match, confidence=confidence, channel=via, written=written)


def _may_have_subject(text: str, cue: Cue, vocabulary: Vocabulary) -> bool:
    """False if a function word or only ordinary words are before a cue, as nearly always."""
    # Checked before the sentence is read, which costs a hundred times as much.
    if cue.form.is_change or cue.form.verb is Verb.OPERATOR:
        return True
    before = [word.strip(_MARKS) for word in text[max(0, cue.start - _GLANCE) : cue.start].split()[-_WORDS_BEFORE:]]
    while before[1:] and before[-1] in _NEUTRAL_ADVERBS:
        before.pop()
    if not before or is_closed_class(before[-1].lower()):
        return False
    return "`" in text or not all(_is_ordinary(word, vocabulary) for word in before)


def _is_ordinary(word: str, vocabulary: Vocabulary) -> bool:
    if is_closed_class(word.lower()):
        return True
    return word.islower() and vocabulary.is_common(word) and not vocabulary.is_concept(word)


def _read_prose(
    prose: str, cues: list[Cue], hopeful: set[int], vocabulary: Vocabulary, characters_max: int | None, as_typed: bool
) -> Iterator[CueMatch]:
    """Yield what sentences state, in order, whoever says it."""
    names_inside, characters = NamesInside(prose), 0
    for start, sentence, within in _find_assertions(prose, cues, hopeful):
        end = start + len(sentence)
        characters += len(sentence)
        if characters_max is not None and characters > characters_max:
            return
        modality = Modality(sentence, within, prose[max(0, start - _GLANCE) : start], prose[end : end + _GLANCE])
        if all(modality.is_doubted(cue.start) for cue in within):
            continue
        passage = read_passage(sentence, within, vocabulary, names_inside)
        for match in _SentenceReader(passage, modality, as_typed).read(within):
            yield replace(match, start=start + match.start, end=start + match.end)


def _find_assertions(prose: str, cues: list[Cue], hopeful: set[int]) -> Iterator[tuple[int, str, list[Cue]]]:
    """Yield the sentences with hopeful cues that are not questions: where each begins, its text, its cues relative to
    that."""
    output = OutputFinder(prose)
    breaks = [-1, *(found.start() for found in _LINE_BREAK.finditer(prose)), len(prose)]
    for number, of_line in groupby(cues, key=lambda cue: bisect_left(breaks, cue.start)):
        line_start, line_end = breaks[number - 1] + 1, breaks[number]
        members = list(of_line)
        if all(cue.start not in hopeful for cue in members) or output.is_output(line_start, line_end):
            continue
        line = SentenceFinder(prose[line_start:line_end])
        for sentence, of_sentence in groupby(members, key=lambda cue: line.sentence_at(cue.start - line_start)):
            found = list(of_sentence)
            if not sentence.is_question and any(cue.start in hopeful for cue in found):
                start = line_start + sentence.start
                yield start, prose[start : line_start + sentence.end], [cue.shift(-start) for cue in found]


class _PreviousStatement(NamedTuple):
    """The previous statement of the same sentence."""

    subjects: Sequence[Token]
    parent: Parent
    form: Form
    is_denied: bool
    end: int


class _SentenceReader:
    """Reads what one sentence states, cue by cue."""

    def __init__(self, passage: Passage, modality: Modality, as_typed: bool) -> None:
        self._barrier = 0  # the words of one statement cannot begin another
        self._passage = passage
        self._modality = modality
        self._as_typed = as_typed
        self._previous: _PreviousStatement | None = None

    def read(self, cues: list[Cue]) -> Iterator[CueMatch]:
        for index, cue in enumerate(cues):
            if cue.start < self._barrier or self._modality.is_doubted(cue.start):
                continue
            following = cues[index + 1 : index + 1 + _CUES_AHEAD]
            found = self._read_change(cue, following) if cue.form.is_change else self._read(cue, following)
            if cue.is_denied and not found:  # a negation like any other
                self._modality.add_doubt(cue.start)
            yield from found

    def _read(self, cue: Cue, following: list[Cue]) -> list[CueMatch]:
        continued = self._continued_subjects(cue)
        if not continued and (cue.has_pronoun or (cue.is_bare and cue.form.verb is Verb.BE_OR_MORE)):
            return []
        parent = self._read_parent(cue, following, cue.end)
        if parent is None:
            return []
        subjects = continued or self._find_subjects(cue, parent)
        if not subjects or not self._is_asserted(subjects[0], cue, parent):
            return []
        if not all(fits(self._passage, subject, parent, cue.form) for subject in subjects):
            return []
        denied = self._previous.parent.token if continued and self._previous and self._previous.is_denied else ""
        start = cue.start if continued else subjects[0].start
        kind = self._find_kind(subjects[0], cue, parent, is_instead=bool(denied))
        parents = [parent, *self._read_more(cue, following, parent)]
        found = [self._make(subject, each, cue, start, kind, denied) for each in parents for subject in subjects]
        is_denied = cue.is_denied or self._modality.is_taken_back(subjects[0].start)
        contrast = _BUT.match(self._passage.text, parent.phrase.end) if cue.is_denied else None
        other = self._read_parent(cue, following, contrast.end()) if contrast is not None else None
        if other is not None and other.token != parent.token:
            found += [self._make(subject, other, cue, start, SpeechAct.CHANGES, parent.token) for subject in subjects]
            parents, is_denied = [other], False
        self._barrier = parents[-1].end
        self._previous = _PreviousStatement(subjects, parents[0], cue.form, is_denied, self._barrier)
        return found

    def _read_parent(self, cue: Cue, following: list[Cue], at: int) -> Parent | None:
        stops = find_stops(cue, following)
        phrase = read_phrase(self._passage, at, stops)
        return make_parent(self._passage, cue, phrase, stops, as_typed=self._as_typed)

    def _read_more(self, cue: Cue, following: list[Cue], parent: Parent) -> list[Parent]:
        """Return the names that are listed after the first: `uses Redis, Kafka and NATS`."""
        found: list[Parent] = []
        while cue.form.takes is Takes.NAME and len(found) < _LISTED_MAX:
            joint = _JOINT.match(self._passage.text, found[-1].end if found else parent.end)
            other = self._read_parent(cue, following, joint.end()) if joint else None
            if joint is None or other is None or any(next.start == other.phrase.next_start for next in following):
                return []  # `uses Redis and odin uses`
            found.append(other)
            if joint["and"]:
                break
        return found

    def _find_subjects(self, cue: Cue, parent: Parent) -> list[Token]:
        if cue.form is APPOSITION:
            ends = ends_apposition(self._passage.text, parent.phrase)
            return read_apposed(self._passage, cue, self._modality) if ends else []
        takes_initial = parent.has_context or (cue.form is KIND_OF and not cue.is_bare)
        return read_subjects(self._passage, cue, self._modality, self._barrier, takes_initial=takes_initial)

    def _continued_subjects(self, cue: Cue) -> Sequence[Token]:
        """Return the subjects of the previous statement if the cue says more about them: `and runs on`."""
        last = self._previous
        if last is None or cue.form.verb in (Verb.OPERATOR, Verb.MARK) or cue.start - last.end > _BETWEEN_MAX:
            return []
        between = self._passage.text[last.end : cue.start].rstrip(" *_\"'\u201c\u201d\u2019\x10").lower()
        found = _BETWEEN.match(f"{between} it" if cue.has_pronoun else between)
        if found is None or (len(last.subjects) > 1 and not cue.is_plural):
            return []
        is_isa, is_finite = last.form.is_isa, cue.form.verb is Verb.OWN
        is_of_one = is_isa and not last.parent.has_context and (last.is_denied or not cue.is_denied)
        if found["pronoun"]:
            goes_on = (is_of_one or last.is_denied) and bool(found["mark"] or found["and"])
        elif found["where"] or found["aside"]:
            goes_on = is_isa and is_finite and found["and"] is not None
        elif found["relative"]:
            goes_on = is_of_one
        elif found["and"] or last.form is APPOSITION:
            goes_on = True
        elif found["mark"]:
            goes_on = (is_isa and cue.is_bare) or (is_finite and found["mark"] == ",")
        else:  # `a worker owned by Team Blue`
            goes_on = is_isa and cue.is_bare and cue.form.dimension in ("owned-by", GEOGRAPHY)
        return last.subjects if goes_on else []

    def _is_asserted(self, subject: Token, cue: Cue, parent: Parent) -> bool:
        is_conditional = self._modality.is_conditional(min(subject.start, cue.start), cue.start)
        if is_conditional or self._modality.is_revoked(parent.end):
            return False
        # A mere belief that it is not so takes nothing back; `not yet`, `not in Go alone` deny nothing.
        is_weak = self._modality.is_hedged(cue.start, parent.end) or parent.phrase.next_word in _WEAKENING
        return not (cue.is_denied and is_weak)

    def _find_kind(self, subject: Token, cue: Cue, parent: Parent, *, is_instead: bool) -> SpeechAct:
        between = self._passage.text[subject.end : cue.start].lower().split() if subject.end < cue.start else []
        if cue.is_denied or (self._modality.is_taken_back(subject.start) and not is_instead):
            return SpeechAct.RETRACTS
        if is_instead or "now" in (cue.adverb, parent.phrase.next_word, *between):
            return SpeechAct.CHANGES
        contrast = _CONTRAST.match(self._passage.text, parent.end)
        is_contrasted = contrast is not None and (contrast["article"] is None or cue.form.is_isa)
        if is_contrasted or "actually" in (cue.adverb, *between) or self._modality.is_correction():
            return SpeechAct.CORRECTS
        return SpeechAct.STATES

    def _make(self, subject: Token, parent: Parent, cue: Cue, start: int, kind: SpeechAct, denied: str) -> CueMatch:
        """Make a statement; ``denied``: the parent that was denied just before."""
        is_hedged = kind is not SpeechAct.RETRACTS and self._modality.is_hedged(start, parent.end)
        confidence = min(cue.confidence, 0.8) * HEDGED_TRUST if is_hedged else cue.confidence
        dimension = parent.dimension
        if kind is not SpeechAct.STATES and dimension == TYPE and cue.form.is_isa:
            # `kvasir is now a gateway` is about the one fact that says what it is: `a relay of Glitch University`; what
            # comes instead of something that was denied, about the fact that says that.
            stated = parent.token if kind is SpeechAct.RETRACTS else denied
            dimension = self._passage.vocabulary.find_dimension(subject.text, stated) or dimension
        said = subject.text, parent.token, dimension, cue.form.is_isa, round(confidence, 4)
        return CueMatch(*said, start, parent.end, kind=kind, is_hedged=is_hedged)

    def _read_change(self, cue: Cue, following: list[Cue]) -> list[CueMatch]:
        found = []
        for change in read_change(self._passage, cue, following, self._barrier, self._modality):
            start, end, kind = change.start, change.end, change.kind
            if self._modality.is_conditional(start, cue.start) or self._modality.is_revoked(end):
                return []
            is_hedged = self._modality.is_hedged(start, end)
            if is_hedged and kind is SpeechAct.RETRACTS:
                continue
            confidence = round(cue.confidence * (HEDGED_TRUST if is_hedged else 1.0), 4)
            said = change.subject, change.parent, change.dimension, cue.form.is_isa, confidence
            found.append(CueMatch(*said, start, end, kind=kind, is_hedged=is_hedged))
            self._barrier = max(self._barrier, end)
        return found
