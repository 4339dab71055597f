"""Reads one sentence: what each of its cues states, and about what."""

import re
from collections.abc import Iterator
from typing import Final

from memory.english.statements.clauses import Subject, is_code_part, tells_place
from memory.english.statements.continuations import Last, continued_subjects
from memory.english.statements.matches import HEDGED_TRUST, CueMatch
from memory.english.statements.modality import ALONE, Modality, SentenceContext, SpeechAct
from memory.english.statements.moves import read_called, read_move, read_names
from memory.english.statements.noun_phrases import Passage, Vocabulary, read_passage, read_phrase
from memory.english.statements.parents import Parent, find_stops, make_parent, read_list, read_parent
from memory.english.statements.patterns import CONTINUING, NAMING, SUBJECT_BEHIND, USING, VERB, Cue, Form
from memory.english.statements.subjects import ends_apposition, read_apposed, read_subjects
from memory.english.tokenizer import NamesInside

_CUES_AHEAD: Final = 8  # no more than these fit within one phrase

_MARKS: Final = " *_\"'\u201c\u201d\u2019\x10"
_WEAKENING: Final = frozenset({"yet", "per", "alone", "only", "just", "solely", "exclusively"})
# `not a service but a repo`, `no longer owned by Anna but by Bob`.
_BUT: Final = re.compile(
    r",?\s+but (?:now |rather |instead )?(?:(?:is|are|runs|belongs|owned|hosted) )?"
    r"(?:by|on|in|to|at|of|an?|our|my|the)\b"
)
# `no longer uses SQLite but Postgres`
_BUT_USES: Final = re.compile(r"(?: any ?more| any longer)?,? but (?:(?:now|rather|instead|only) )?(?:uses )?")
# `is a relay, not a worker`; `runs on tyr instead of baldur`; `is a brigantine, forget the lugger`
_CONTRAST: Final = re.compile(
    r"[*_\"'\u201d\x10]*"
    r"(?:,? (?:and )?(?P<not>not|instead of|rather than)|[,;] (?:so )?forget(?: about)? (?:the|that)) "
)
_ARTICLE: Final = re.compile(r"an? ")
_PREPOSITION: Final = re.compile(r"(?:on|in|by|with|to|at) |(?=[A-Z\d`]|[a-z]+[-_.]?\d)")
_NOW: Final = re.compile(r"\bnow\b")
_ACTUALLY: Final = re.compile(r"\bactually\b")


def read_sentence(
    sentence: str,
    cues: list[Cue],
    vocabulary: Vocabulary,
    names_inside: NamesInside,
    *,
    around: SentenceContext = ALONE,
    as_typed: bool = False,
) -> Iterator[CueMatch]:
    """Yield what a sentence states, cue by cue."""
    modality = Modality(sentence, cues, around)
    if all(modality.is_doubted(cue.start) for cue in cues):
        return
    reader = _SentenceReader(read_passage(sentence, cues, vocabulary, names_inside), modality, vocabulary, as_typed)
    for index, cue in enumerate(cues):
        if cue.start < reader.barrier:
            continue
        if modality.is_doubted(cue.start):
            continue
        found = reader.read(cue, cues[index + 1 : index + 1 + _CUES_AHEAD])
        if cue.is_denied and not found:  # a negation like any other
            modality.add_doubt(cue.start)
        yield from found


class _SentenceReader:
    def __init__(self, passage: Passage, modality: Modality, vocabulary: Vocabulary, as_typed: bool) -> None:
        self.barrier = 0  # the words of one match cannot begin another
        self._passage = passage
        self._modality = modality
        self._vocabulary = vocabulary
        self._as_typed = as_typed
        self._last: Last | None = None
        self._tells_of_code = False

    def read(self, cue: Cue, following: list[Cue]) -> list[CueMatch]:
        if cue.form in SUBJECT_BEHIND:
            return self._read_named(cue, following)
        continued = continued_subjects(self._passage.text, self._last, cue)
        if not continued and (cue.is_pronominal or cue.form in CONTINUING):
            return []
        parent = read_parent(self._passage, cue, following, self._vocabulary, as_typed=self._as_typed)
        if parent is None:
            return []
        if cue.form is Form.APPOSITION and not ends_apposition(self._passage.text, parent.phrase):
            return []
        subjects = continued or self._find_subjects(cue, parent)
        if not subjects or not self._is_asserted(subjects[0], cue, parent):
            return []
        if any(not self._fits(subject, cue, parent) for subject in subjects):
            return []
        instead_of = self._last.parent.token if continued and self._last is not None and self._last.is_denied else ""
        is_denied = cue.is_denied or self._modality.is_taken_back(subjects[0].start)
        stops = find_stops(cue, following)
        parents = read_list(self._passage, parent, stops, self._vocabulary, as_typed=self._as_typed)
        self.barrier = parents[-1].end
        self._last = Last(subjects, parent, is_denied, self.barrier)
        start = cue.start if continued else subjects[0].start
        return [match for one in parents for match in self._state(subjects, cue, one, start, stops, instead_of)]

    def _find_subjects(self, cue: Cue, parent: Parent) -> list[Subject]:
        if cue.form is Form.APPOSITION:
            return read_apposed(self._passage, cue, self._vocabulary)
        return read_subjects(
            self._passage,
            cue,
            clause_start=self._modality.clause_start(cue.start),
            barrier=self.barrier,
            allows_initial=parent.form is Form.IS_KIND_OF or bool(parent.context),
            vocabulary=self._vocabulary,
        )

    def _is_asserted(self, subject: Subject, cue: Cue, parent: Parent) -> bool:
        is_conditional = self._modality.is_conditional(min(subject.start, cue.start), cue.start)
        if is_conditional or self._modality.is_revoked(parent.end):
            return False
        # A mere belief that it is not so takes nothing back; `not yet`, `not in Go alone` deny nothing.
        is_weak = self._modality.is_hedged(cue.start, parent.end) or parent.phrase.next_word in _WEAKENING
        return not (cue.is_denied and is_weak)

    def _fits(self, subject: Subject, cue: Cue, parent: Parent) -> bool:
        """True if subject and parent go together in this form."""
        if len({subject.concept, parent.token, parent.dimension}) < 3:  # nothing is in itself
            return False
        is_of_code = self._tells_of_code or cue.form is Form.APPOSITION
        if parent.form.is_isa and is_code_part(self._passage, subject, parent.phrase.head, is_of_code=is_of_code):
            self._tells_of_code = True
            return False
        if parent.form is Form.IS_IN:
            last = parent.phrase.tokens[-1]
            if parent.phrase.determiner in ("a", "an"):
                return False
            is_place = self._vocabulary.is_place(parent.token)
            return is_place or (last.is_capitalised and tells_place(self._passage, subject))
        return True

    def _state(
        self, subjects: list[Subject], cue: Cue, parent: Parent, start: int, stops: set[int], instead_of: str
    ) -> list[CueMatch]:
        """Make the matches; ``instead_of``: the parent that was denied just before."""
        kind = self._find_kind(subjects[0], cue, parent, is_instead=bool(instead_of))
        found = [self._make(subject, parent, start, kind, instead_of) for subject in subjects]
        text, at = self._passage.text, parent.phrase.end
        contrast = _BUT.match(text, at) or (_BUT_USES.match(text, at) if parent.form in USING else None)
        if cue.is_denied and contrast:
            other = self._read_other(contrast, parent, stops)
            if other is not None:
                found += [self._make(subject, other, start, SpeechAct.CHANGES, parent.token) for subject in subjects]
                self.barrier = other.end
                self._last = Last(subjects, other, is_denied=False, end=other.end)
        return found

    def _read_other(self, contrast: re.Match[str], parent: Parent, stops: set[int]) -> Parent | None:
        """Read what comes after `but`."""
        phrase = read_phrase(self._passage, contrast.end(), stops)
        other = make_parent(self._passage, parent.form, phrase, stops, self._vocabulary, as_typed=self._as_typed)
        return other if other is not None and other.token != parent.token else None

    def _find_kind(self, subject: Subject, cue: Cue, parent: Parent, *, is_instead: bool) -> SpeechAct:
        between = self._passage.text[subject.end : cue.start].lower() if subject.end < cue.start else ""
        if cue.is_denied or (self._modality.is_taken_back(subject.start) and not is_instead):
            return SpeechAct.RETRACTS
        if is_instead or cue.adverb == "now" or parent.phrase.next_word == "now" or _NOW.search(between):
            return SpeechAct.CHANGES
        is_corrected = cue.adverb == "actually" or _ACTUALLY.search(between) or self._is_contrasted(parent)
        if is_corrected or self._modality.is_correction():
            return SpeechAct.CORRECTS
        return SpeechAct.STATES

    def _is_contrasted(self, parent: Parent) -> bool:
        """True if what follows says what it is not: `a relay, not a worker`."""
        text = self._passage.text
        contrast = _CONTRAST.match(text, parent.end)
        if contrast is None or contrast["not"] is None:
            return contrast is not None
        return (_ARTICLE if parent.form.is_isa else _PREPOSITION).match(text, contrast.end()) is not None

    def _make(self, subject: Subject, parent: Parent, start: int, kind: SpeechAct, instead_of: str = "") -> CueMatch:
        form = parent.form
        is_hedged = kind is not SpeechAct.RETRACTS and self._modality.is_hedged(start, parent.end)
        confidence = min(form.confidence, VERB) * HEDGED_TRUST if is_hedged else form.confidence
        dimension = parent.dimension
        if kind is not SpeechAct.STATES and form.is_isa and not parent.context:
            # `kvasir is now a gateway` is about the one fact that says what it is: `a relay of Glitch University`; what
            # comes instead of something that was denied, about the fact that says that.
            stated = parent.token if kind is SpeechAct.RETRACTS else instead_of
            dimension = self._vocabulary.find_dimension(subject.concept, stated) or dimension
        return CueMatch(
            subject.concept,
            parent.token,
            dimension,
            form.is_isa,
            round(confidence, 4),
            start,
            parent.end,
            kind=kind,
            is_hedged=is_hedged,
        )

    def _read_named(self, cue: Cue, following: list[Cue]) -> list[CueMatch]:
        """Read the forms whose subject may come after the cue, and those of two names."""
        if cue.form is Form.CALLED:
            named = read_called(self._passage, cue, following, self.barrier, self._vocabulary)
        else:
            read = read_names if cue.form in NAMING else read_move
            named = read(self._passage, cue, following, self.barrier, self._modality, self._vocabulary)
        found = []
        for statement in named:
            start, end, kind = statement.start, statement.end, statement.kind
            if self._modality.is_conditional(start, cue.start) or self._modality.is_revoked(end):
                return []
            is_hedged = self._modality.is_hedged(start, end)
            if is_hedged and kind is SpeechAct.RETRACTS:
                continue
            confidence = round(cue.form.confidence * (HEDGED_TRUST if is_hedged else 1.0), 4)
            triple = (statement.subject, statement.parent, statement.dimension, statement.is_isa)
            found.append(CueMatch(*triple, confidence, start, end, kind=kind, is_hedged=is_hedged))
            self.barrier = max(self.barrier, end)
        return found
