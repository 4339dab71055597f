"""Reads the explicit statements in prose: "gnommoweb is a repo of Glitch University"."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from itertools import groupby
from typing import Final

from memory.attribution.parts import find_voices, find_voices_at_once, voice_of
from memory.channels import READ_TRUST, channel_in
from memory.english.function_words import is_closed_class
from memory.english.machine_output import OutputFinder
from memory.english.sentences import MASK, SentenceFinder, blank_signs, mask
from memory.english.statements.matches import CueMatch
from memory.english.statements.modality import SentenceContext, SpeechAct
from memory.english.statements.noun_phrases import Vocabulary
from memory.english.statements.patterns import OPERATORS, SUBJECT_BEHIND, Cue, find_forms
from memory.english.statements.sentence_reader import read_sentence
from memory.english.tokenizer import NamesInside
from memory.english.unicode import normalise
from memory.english.words import verbs
from memory.voice import Voice

__all__ = ["CueMatch", "SpeechAct", "Vocabulary", "find_cues", "has_name_near_cue", "iter_cues"]

_LINE_BREAK: Final = re.compile("\n")
_GLANCE: Final = 100  # characters; three words are hardly longer
_MARKS: Final = "*_\"'\u2019\u201d`\x10()"
_WORDS_BEFORE: Final = 3  # the name, a noun and an adverb: `the kvasir service now`


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


def iter_cues(
    text: str,
    role: str = "user",
    *,
    vocabulary: Vocabulary,
    characters_max: int | None = None,
    as_typed: bool = False,
) -> Iterator[CueMatch]:
    """Yield the statements of a text as they are found, for callers that need only the first ones."""
    # Most texts have no cue with a subject, and masking costs more than the search: so the search comes first.
    clear = blank_signs(text)
    forms = find_forms(clear)
    hopeful = {cue.start for cue in forms if _may_have_subject(clear, cue, vocabulary)}
    if not hopeful:
        return
    prose = mask(text)
    if prose is not text:
        forms = [cue for cue in forms if MASK not in prose[cue.start : cue.end + 1]]
    voices = None
    for match in _read_prose(prose, forms, hopeful, vocabulary, characters_max, as_typed):
        if voices is None:  # computed only once something was found, which is rare
            voices = find_voices(text) if characters_max is None else find_voices_at_once(text)
        voice = voice_of(voices, match.start, match.end)
        if voice is Voice.NOBODYS:
            continue
        via = channel_in(voice, role)
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
        end = start + len(sentence)
        around = SentenceContext(prose[max(0, start - _GLANCE) : start], prose[end : end + _GLANCE])
        for match in read_sentence(sentence, cues, vocabulary, names_inside, around=around, as_typed=as_typed):
            yield replace(match, start=start + match.start, end=start + match.end)


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
    breaks = [-1, *(found.start() for found in _LINE_BREAK.finditer(prose)), len(prose)]
    for number, cues in groupby(forms, key=lambda cue: bisect_left(breaks, cue.start)):
        line_start, line_end = breaks[number - 1] + 1, breaks[number]
        members = list(cues)
        if all(cue.start not in hopeful for cue in members) or output.is_output(line_start, line_end):
            continue
        line = SentenceFinder(prose[line_start:line_end])
        for sentence, within in groupby(members, key=lambda cue: line.sentence_at(cue.start - line_start)):
            found = list(within)
            if not sentence.is_question and any(cue.start in hopeful for cue in found):
                start = line_start + sentence.start
                yield start, prose[start : line_start + sentence.end], [cue.shift(-start) for cue in found]


def _may_have_subject(text: str, cue: Cue, vocabulary: Vocabulary) -> bool:
    """False if a function word or only ordinary words are before a cue, as nearly always."""
    # Checked before the sentence is read, which costs a hundred times as much.
    if cue.form in SUBJECT_BEHIND or cue.form in OPERATORS:
        return True
    before = [word.strip(_MARKS) for word in text[max(0, cue.start - _GLANCE) : cue.start].split()[-_WORDS_BEFORE:]]
    while before[1:] and before[-1] in verbs.NEUTRAL_ADVERBS:
        before.pop()
    if not before or is_closed_class(before[-1].lower()):
        return False
    return "`" in text or not all(_is_ordinary(word, vocabulary) for word in before)


def _is_ordinary(word: str, vocabulary: Vocabulary) -> bool:
    if is_closed_class(word.lower()):
        return True
    return word.islower() and vocabulary.is_common(word) and not vocabulary.is_concept(word)
