"""Reads the explicit statements in prose: "gnommoweb is a repo of Glitch University"."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Set
from dataclasses import replace
from itertools import groupby
from typing import Final, NamedTuple

from memory.domain.authorship.parts import find_voices, find_voices_at_once, voice_of
from memory.domain.authorship.voice import Voice
from memory.domain.channels import OTHERS, READ_TRUST, channel_in
from memory.domain.cues.matches import CueMatch
from memory.domain.cues.modality import SentenceContext, SpeechAct
from memory.domain.cues.noun_phrases import Vocabulary
from memory.domain.cues.patterns import OPERATORS, SUBJECT_BEHIND, Cue, Form, find_forms
from memory.domain.cues.sentence_reader import read_sentence
from memory.domain.language.english import nouns, verbs
from memory.domain.text.function_words import CLOSED_CLASS, is_closed_class
from memory.domain.text.machine_output import OutputFinder
from memory.domain.text.sentences import MASK, SentenceFinder, blank_signs, mask
from memory.domain.text.tokenizer import NamesInside
from memory.domain.text.unicode import normalise
from memory.domain.types import NAMES

__all__ = [
    "CueMatch", "PossibleCues", "SpeechAct", "Vocabulary", "find_cues", "find_possible_cues",
    "has_name_near_cue", "iter_cues",
]  # fmt: skip

_GLANCE: Final = 100  # characters; three words are hardly longer
_PLURAL_AHEAD: Final = re.compile(
    r"(?:[ *_\"'`\x10]+[\w.+/&'-]+){0,5}?[ *_\"'`\x10]+[\w-]*(?:s|people|men|mice|children)\b"
)
_SET_OFF_MAX: Final = 60  # characters between two commas
_MARKED_NAME: Final = re.compile(r"`([\w.-]{2,64})`")
_BY_WHAT_FOLLOWS: Final = {Form.MOVED: "from", Form.RENAMED: " to "}  # a known name follows
# Another subject may still be found before the others.
_NO_SUBJECTS: Final = CLOSED_CLASS - verbs.NEUTRAL_ADVERBS - {"which", "who"}
_BESIDE: Final = " *_\"'\u2019\u201d`\x10"


def find_cues(
    text: str,
    role: str = "user",
    *,
    vocabulary: Vocabulary,
    characters_max: int | None = None,
    as_typed: bool = False,
) -> list[CueMatch]:
    """Return the statements of a text in order. Linear in the length of the text.

    Reads the first sentences with a cue that together have no more than ``characters_max``. ``as_typed`` keeps the
    words of a parent as they are, for callers that mean each of them."""
    return list(iter_cues(text, role, vocabulary=vocabulary, characters_max=characters_max, as_typed=as_typed))


class PossibleCues(NamedTuple):
    """The cues of a text, before its sentences are read; ``hopeful``: the starts of those that may have a subject."""

    cues: list[Cue]
    hopeful: set[int]

    @property
    def hopes(self) -> Iterator[Cue]:
        return (cue for cue in self.cues if cue.start in self.hopeful)


def find_possible_cues(text: str, vocabulary: Vocabulary) -> PossibleCues:
    text = blank_signs(text)
    cues = find_forms(text)
    # Names that are marked anywhere in the text may be ordinary words.
    marked = {name.lower() for name in _MARKED_NAME.findall(text)} if "`" in text else set[str]()
    return PossibleCues(cues, {cue.start for cue in cues if _may_have_subject(text, cue, vocabulary, marked)})


def iter_cues(
    text: str,
    role: str = "user",
    *,
    vocabulary: Vocabulary,
    characters_max: int | None = None,
    as_typed: bool = False,
    possible: PossibleCues | None = None,
) -> Iterator[CueMatch]:
    """Yield the statements of a text as they are found, for callers that need only the first ones. ``possible``: the
    possible cues, if the caller has found them already."""
    # Most texts have no cue with a subject, and masking costs more than the search: so the search comes first.
    forms, hopeful = possible or find_possible_cues(text, vocabulary)
    if not hopeful:
        return
    prose = mask(text)
    if prose is not text:
        forms = [cue for cue in forms if MASK not in prose[cue.start : cue.end + 1]]
    known = _Acquainted(vocabulary)
    voices = None
    for match in _read_prose(prose, forms, hopeful, known, characters_max, as_typed):
        if voices is None:  # computed only once something was found, which is rare
            voices = find_voices(text) if characters_max is None else find_voices_at_once(text)
        voice = voice_of(voices, match.start, match.end)
        if voice is Voice.NOBODYS:
            continue
        via = channel_in(voice, role)
        if via not in OTHERS and not match.is_hedged:
            known.concepts.add(match.subject)
            if match.dimension == NAMES:
                known.concepts.add(match.parent)
        confidence, written = round(match.confidence * READ_TRUST[via], 4), text[match.start : match.end]
        yield replace(match, confidence=confidence, channel=via, written=written)


def _read_prose(
    prose: str,
    forms: list[Cue],
    hopeful: set[int],
    vocabulary: Vocabulary,
    characters_max: int | None,
    as_typed: bool,
) -> Iterator[CueMatch]:
    """Yield what sentences state, in order, whoever says it."""
    names_inside, characters = NamesInside(prose), 0
    for start, sentence, cues in _find_assertions(prose, forms, hopeful):
        characters += len(sentence)
        if characters_max is not None and characters > characters_max:
            return
        hopeful_here = {cue.start for cue in cues if cue.start + start in hopeful}
        end = start + len(sentence)
        around = SentenceContext(prose[max(0, start - _GLANCE) : start], prose[end : end + _GLANCE])
        for match in read_sentence(
            sentence, cues, hopeful_here, vocabulary, names_inside, around=around, as_typed=as_typed
        ):
            yield replace(match, start=start + match.start, end=start + match.end)


class _Acquainted:
    """The vocabulary, extended by the concepts that the text itself has stated something about."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self.concepts = set[str]()
        self.is_common = vocabulary.is_common
        self.is_place = vocabulary.is_place
        self.find_dimension = vocabulary.find_dimension

    def is_concept(self, token: str) -> bool:
        return token in self.concepts or self._vocabulary.is_concept(token)


def has_name_near_cue(text: str, names: Collection[str], cues: Iterable[Cue]) -> bool:
    """True if one of the names occurs shortly before a cue, or where a cue's subject may be."""
    # `find_cues` takes no other name as a subject, and this costs a fraction of its time.
    parts = [[part[:-1] if len(part) > 3 else part for part in name.split("_")] for name in names]
    for cue in cues:
        around = text[max(0, cue.start - _GLANCE) : cue.start]
        if cue.form in SUBJECT_BEHIND:
            around += text[cue.end : cue.end + _GLANCE]
        spelled = unicodedata.normalize("NFKC", normalise(around).text.lower())
        if any(all(part in spelled for part in of_name) for of_name in parts):
            return True
    return False


def _find_assertions(prose: str, forms: list[Cue], hopeful: set[int]) -> Iterator[tuple[int, str, list[Cue]]]:
    """Yield the sentences with hopeful cues that are not questions: where each begins, its text, its cues relative to
    that."""
    output = OutputFinder(prose)
    for line_start, line_end, cues in _find_lines(prose, forms):
        if all(cue.start not in hopeful for cue in cues) or output.is_output(line_start, line_end):
            continue
        line = SentenceFinder(prose[line_start:line_end])
        for sentence, within in groupby(cues, key=lambda cue: line.sentence_at(cue.start - line_start)):
            members = list(within)
            if not sentence.is_question and any(cue.start in hopeful for cue in members):
                start = line_start + sentence.start
                yield start, prose[start : line_start + sentence.end], [cue.shift(-start) for cue in members]


def _find_lines(prose: str, forms: list[Cue]) -> Iterator[tuple[int, int, list[Cue]]]:
    """Yield the lines with cues: start, end, cues."""
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


def _may_have_subject(sentence: str, cue: Cue, vocabulary: Vocabulary, marked: Set[str]) -> bool:
    """False if the words before a cue rule out a subject; most cues follow a pronoun or an ordinary noun."""
    # Checked before the sentence is read, which costs a hundred times as much.
    form, start = cue.form, cue.start
    if form in _BY_WHAT_FOLLOWS:
        return _BY_WHAT_FOLLOWS[form] in sentence[start : cue.end + _GLANCE]
    head = sentence[max(0, start - _GLANCE) : start].rstrip(_BESIDE)
    if not head[-1:].isalnum():
        if head.endswith(","):  # `the worker, feedbridge, is a`, `feedbridge, the worker, is a`
            return head.count(",", max(0, len(head) - _SET_OFF_MAX)) > 1
        head = head[:-1].rstrip(_BESIDE) if head.endswith(")") else ""  # `the worker (feedbridge) is a`
        if not head[-1:].isalnum():
            return False
    before = head.rsplit(None, 3)[-3:]
    last = before[-1].lower()
    if last in _NO_SUBJECTS and form is not Form.CALLED:  # nearly always, unless it is an ordinary word
        return False
    if form is Form.CALLED:
        last = before[-2].lower() if last == "is" and len(before) > 1 else last
        return last not in nouns.CODE_NOUNS and last not in nouns.CALLED_CODE_NOUNS and not is_closed_class(last)
    if form is Form.ARE and _PLURAL_AHEAD.match(sentence, cue.end) is None:
        return False
    if last in ("which", "who"):
        is_parted = len(before) > 1 and (before[-2].endswith(",") or last == "who")
        return is_parted and not _is_ordinary(before[-2].removesuffix(","), vocabulary)
    while last in verbs.NEUTRAL_ADVERBS and len(before) > 1:
        before.pop()
        last = before[-1].lower()
    if is_closed_class(last):
        return False
    if marked and not marked.isdisjoint(word.lower() for word in before[-2:]):
        return True
    return form in OPERATORS or not all(_is_ordinary(word, vocabulary) for word in before[-2:])


def _is_ordinary(word: str, vocabulary: Vocabulary) -> bool:
    if not word.isalpha():
        return word.endswith((",", ";", ":", ".", ")"))  # then it is not part of the phrase
    if is_closed_class(word.lower()):
        return True
    return word.islower() and vocabulary.is_common(word) and not vocabulary.is_concept(word)
