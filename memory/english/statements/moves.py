"""Reads the forms whose subject may come after the cue (`a VM called zwiebel`, `we moved kvasir from tyr to baldur`),
and two names of one thing (`we renamed kvasir to ran`)."""

import re
from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from memory.english.function_words import is_closed_class, split_words
from memory.english.statements.clauses import Subject
from memory.english.statements.modality import Modality, SpeechAct
from memory.english.statements.naming import is_distinctive, is_name_called
from memory.english.statements.noun_phrases import Passage, Phrase, Vocabulary, read_phrase
from memory.english.statements.parents import find_stops, make_parent
from memory.english.statements.patterns import Cue, Form
from memory.english.statements.subjects import read_apposed, read_subjects
from memory.english.words import names, nouns
from memory.types import NAMES, TYPE

_UNITS_MAX: Final = 5  # words between `a` and `called`
_OWN: Final = split_words("our my")
_DEFINITE: Final = split_words("our my his her its their the")
_INDEFINITE: Final = split_words("a an one")
# Before `a VM called zwiebel` these say that it exists; `create a VM called zwiebel` does not.
_EXISTS: Final = split_words(
    "is has have own owns run runs use uses keep keeps got running building built wrote bought adopted launched opened "
    "started founded rented maintain developed developing"
)
_AUXILIARIES: Final = split_words("has have was were got been just now recently already finally since")
_NEVER_BEFORE: Final = split_words("be being to will get gets getting")
_PATTERN: Final = frozenset("_[(*")  # `called FOO_{name}`: the word is only part of the name
_MARK: Final = re.compile(r"\d|[^\W_][-_.@+][^\W_]")


@dataclass(frozen=True, slots=True)
class Named:
    """A triple and its position."""

    subject: str
    parent: str
    dimension: str
    is_isa: bool
    start: int
    end: int
    kind: SpeechAct = SpeechAct.STATES


def read_called(
    passage: Passage, cue: Cue, following: Collection[Cue], barrier: int, vocabulary: Vocabulary
) -> Sequence[Named]:
    """Return what is called by the name after the cue; nothing if the text does not say that it exists, or if it
    describes programs. It begins after the ``barrier``."""
    last = bisect_left(passage.starts, cue.start) - 1
    is_stated = last > 0 and passage.tokens[last].text == "is"  # `our tavern is called The Raven`
    index = last = last - is_stated
    while index > max(-1, last - _UNITS_MAX) and not is_closed_class(passage.tokens[index].text):
        index -= 1
    if index in (-1, last) or not _exists(passage, index, is_stated=is_stated):
        return ()
    stops = find_stops(cue, following)
    phrase = read_phrase(passage, passage.tokens[index + 1].start, {*stops, cue.start})
    if phrase is None or phrase.end != passage.tokens[last].end or phrase.start < barrier:
        return ()
    parent = make_parent(passage, Form.CALLED, phrase, stops, vocabulary)
    name = read_phrase(passage, cue.end, stops)
    if parent is None or name is None or name.is_numbered or name.head == parent.token:
        return ()
    named = [token for token in name.tokens if token.text not in names.TITLES]
    is_code = phrase.head in nouns.CODE_NOUNS or phrase.head in nouns.CALLED_CODE_NOUNS
    if len(named) != 1 or is_code or passage.text[name.end : name.end + 1] in _PATTERN:
        return ()
    is_name = is_distinctive if is_stated else is_name_called
    if not is_name(passage, named[0], vocabulary):
        return ()
    return [Named(name.head, parent.token, TYPE, True, phrase.start, name.end)]


def _exists(passage: Passage, index: int, *, is_stated: bool) -> bool:
    """True if the determiner there, and what is before it, say that there is such a thing."""
    determiner = passage.tokens[index].text
    before = passage.tokens[index - 1].text if index else ""
    if is_stated:
        opens = not index or bool(passage.gap_before(index).strip(" ")) or before in ("and", "but", "so", "because")
        return determiner in _DEFINITE and opens
    return determiner in _OWN or (determiner in _INDEFINITE and before in _EXISTS)


def read_move(
    passage: Passage,
    cue: Cue,
    following: Collection[Cue],
    barrier: int,
    modality: Modality,
    vocabulary: Vocabulary,
) -> Sequence[Named]:
    """Return from where to where something was moved; nothing unless both are given, and the dimension is clear."""
    stops = find_stops(cue, following)
    if passage.text[: cue.end].endswith("from"):
        subject = _read_moved(passage, cue, barrier, modality, vocabulary)
        at = cue.end
    else:
        subject, at = _read_object(passage, cue, stops, ("from",), vocabulary)
    origin = read_phrase(passage, at, stops) if subject is not None else None
    destination = read_phrase(passage, origin.next_end, stops) if origin and origin.next_word == "to" else None
    if subject is None or origin is None or destination is None:
        return ()
    parents = [make_parent(passage, Form.MOVED, phrase, stops, vocabulary) for phrase in (origin, destination)]
    source, target = (parent.token if parent is not None else "" for parent in parents)
    if not source or not target or len({subject.concept, source, target}) < 3:
        return ()
    words = [
        word for phrase in (origin, destination) for token in phrase.tokens for word in token.parts or (token.text,)
    ]
    is_machine = any(map(_MARK.search, words)) or any(map(str.isdigit, f"{source}{target}"))
    dimension = vocabulary.find_dimension(subject.concept, source) or (Form.MOVED.dimension if is_machine else "")
    if not dimension or dimension in (subject.concept, source, target):
        return ()
    start = min(subject.start, cue.start)
    first = Named(subject.concept, source, dimension, dimension == TYPE, start, origin.end, SpeechAct.RETRACTS)
    return first, replace(first, parent=target, end=destination.end, kind=SpeechAct.CHANGES)


def _read_moved(passage: Passage, cue: Cue, barrier: int, modality: Modality, vocabulary: Vocabulary) -> Subject | None:
    """Return the subject of `kvasir (was) moved from`."""
    index = bisect_left(passage.starts, cue.start)
    while index and passage.tokens[index - 1].text in _AUXILIARIES:
        index -= 1
    start = passage.tokens[index].start if index < len(passage.tokens) else cue.start
    before = cue._replace(start=min(start, cue.start))
    clause_start = modality.clause_start(before.start)
    subjects = read_subjects(
        passage, before, clause_start=clause_start, barrier=barrier, allows_initial=False, vocabulary=vocabulary
    )
    return subjects[0] if subjects else None


def _read_object(
    passage: Passage, cue: Cue, stops: set[int], joints: Collection[str], vocabulary: Vocabulary
) -> tuple[Subject | None, int]:
    """Return the name in `we moved kvasir from`, and where that ends."""
    index = bisect_left(passage.starts, cue.start)
    before = {token.text for token in passage.tokens[max(0, index - 2) : index]}
    phrase = read_phrase(passage, cue.end, stops)
    if phrase is None or phrase.next_word not in joints or not _NEVER_BEFORE.isdisjoint(before):
        return None, 0
    return _read_name(passage, phrase, vocabulary), phrase.next_end


def read_names(
    passage: Passage,
    cue: Cue,
    following: Collection[Cue],
    barrier: int,
    modality: Modality,
    vocabulary: Vocabulary,
) -> Sequence[Named]:
    """Return two names of one thing, with the concept's own as the parent; nothing unless something is known about one
    of them. A change says that the name holds from now on."""
    stops, at = find_stops(cue, following), cue.end
    first: Subject | None
    if cue.form is Form.ALIASED:
        first = next(iter(read_apposed(passage, cue, vocabulary)), None)
    elif cue.form is Form.RENAMED and not passage.text[: cue.end].endswith("to"):
        first, at = _read_object(passage, cue, stops, ("to", "as"), vocabulary)
    else:
        first = _read_moved(passage, cue, barrier, modality, vocabulary)
    phrase = read_phrase(passage, at, stops) if first is not None and not cue.is_denied else None
    second = _read_name(passage, phrase, vocabulary)
    if first is None or phrase is None or second is None or phrase.determiner in (*_INDEFINITE, *_OWN):
        return ()
    if first.concept == second.concept or not any(map(vocabulary.is_concept, (first.concept, second.concept))):
        return ()
    is_new = cue.form is Form.RENAMED or cue.adverb == "now"
    own, other = (second, first) if is_new else (first, second)
    kind = SpeechAct.CHANGES if is_new else SpeechAct.STATES
    return [Named(other.concept, own.concept, NAMES, False, min(first.start, cue.start), second.end, kind)]


def _read_name(passage: Passage, phrase: Phrase | None, vocabulary: Vocabulary) -> Subject | None:
    """Return the only name of a phrase, if the phrase ends with it."""
    named = [token for token in phrase.tokens if is_distinctive(passage, token, vocabulary)] if phrase else []
    if phrase is None or named != [phrase.tokens[-1]] or phrase.is_numbered:
        return None
    return Subject(named[0].text, named[0].start, named[0].end)
