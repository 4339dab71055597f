"""Reads the forms whose subject may come after the cue (`a VM called zwiebel`, `we moved kvasir from tyr to baldur`),
and two names of one thing (`we renamed kvasir to ran`)."""

import re
from bisect import bisect_left
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Final

from memory.domain.cues.clauses import Subject
from memory.domain.cues.continuations import Last
from memory.domain.cues.modality import Modality, SpeechAct
from memory.domain.cues.naming import is_distinctive, is_name_called
from memory.domain.cues.noun_phrases import Passage, Phrase, Vocabulary, read_phrase
from memory.domain.cues.parents import find_stops, make_parent
from memory.domain.cues.patterns import Cue, Form
from memory.domain.cues.subjects import read_apposed, read_subjects
from memory.domain.language.english import names, nouns
from memory.domain.text.function_words import is_closed_class, split_words
from memory.domain.text.tokenizer import Token
from memory.domain.types import NAMES, TYPE

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
_POSSESSIVE: Final = re.compile(r"['\u2019]s? ")
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
    said: Last | None = None  # the rest of the sentence may say more about it


def read_called(
    passage: Passage, cue: Cue, following: Collection[Cue], barrier: int, allowed: int, vocabulary: Vocabulary
) -> Named | None:
    """Return what is called by the name after the cue,; None if the text does not say that it exists, or if it
    describes programs. It begins after the ``barrier``, or at ``allowed``."""
    last = bisect_left(passage.starts, cue.start) - 1
    is_stated = last > 0 and passage.tokens[last].text == "is"  # `our tavern is called The Raven`
    last -= is_stated
    index = last
    while index > max(-1, last - _UNITS_MAX) and not is_closed_class(passage.tokens[index].text):
        index -= 1
        if _POSSESSIVE.match(passage.gap_before(index + 1)):
            break
    following_word = "is" if is_stated else passage.word_at(cue.start)
    if index < 0 or index == last or passage.word_after(last) != following_word:
        return None
    stops = find_stops(cue, following)
    phrase = read_phrase(passage, passage.tokens[index + 1].start, {*stops, cue.start})
    if phrase is None or phrase.end != passage.tokens[last].end:
        return None
    if not (_opens_clause(passage, index) if is_stated else _exists(passage, index, phrase, allowed)):
        return None
    if phrase.start < barrier and phrase.start != allowed:
        return None
    parent = make_parent(passage, Form.CALLED, phrase, stops, vocabulary)
    name = read_phrase(passage, cue.end, stops)
    if parent is None or name is None or name.is_numbered:
        return None
    named = [token for token in name.tokens if token.text not in names.TITLES]
    if len(named) != 1:
        return None
    is_code = phrase.head in nouns.CODE_NOUNS or phrase.head in nouns.CALLED_CODE_NOUNS
    if is_code or name.head == parent.token:
        return None
    if is_stated and not is_distinctive(passage, named[0], vocabulary):
        return None
    if passage.text[name.end : name.end + 1] in _PATTERN or not is_name_called(passage, named[0], vocabulary):
        return None
    subject = Subject(name.head, named[0].start, name.end)
    said = Last([subject], parent, is_denied=False, end=name.end)
    return Named(name.head, parent.token, TYPE, True, phrase.start, name.end, said)


def _opens_clause(passage: Passage, index: int) -> bool:
    """True if a clause begins with this word, and the word says whose the noun after it is, or that there is only
    one."""
    if _POSSESSIVE.match(passage.gap_before(index + 1)):  # `the band's drummer`
        index -= index > 0 and passage.tokens[index - 1].text in _DEFINITE
    elif passage.tokens[index].text not in _DEFINITE:
        return False
    gap = passage.gap_before(index)
    return not index or bool(gap.strip(" ")) or passage.tokens[index - 1].text in ("and", "but", "so", "because")


def _exists(passage: Passage, index: int, phrase: Phrase, allowed: int) -> bool:
    determiner = passage.tokens[index].text
    if determiner in _OWN or phrase.start == allowed:
        return True
    before = [token.text for token in passage.tokens[max(0, index - 2) : index]]
    if determiner not in _INDEFINITE or not before:
        return False
    is_place = phrase.head in nouns.PLACE_NOUNS and phrase.head != "branch"
    return (before[-1] in _EXISTS and before[0] != "to") or (is_place and before[-1] in ("in", "on", "at"))


def read_move(
    passage: Passage,
    cue: Cue,
    following: Collection[Cue],
    barrier: int,
    modality: Modality,
    vocabulary: Vocabulary,
) -> Collection[Named]:
    """Return from where to where something was moved; nothing unless both are given, and the dimension is clear."""
    stops = find_stops(cue, following)
    if passage.text[: cue.end].endswith("from"):
        subject = _read_moved(passage, cue, barrier, modality, vocabulary)
        at = cue.end
    else:
        subject, at = _read_object(passage, cue, stops, vocabulary)
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
    first = Named(subject.concept, source, dimension, dimension == TYPE, start, origin.end)
    return first, replace(first, parent=target, end=destination.end)


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


def _read_object(passage: Passage, cue: Cue, stops: set[int], vocabulary: Vocabulary) -> tuple[Subject | None, int]:
    """Return the name in `we moved kvasir from`, and where that ends."""
    index = bisect_left(passage.starts, cue.start)
    before = passage.tokens[index - 1].text if index else ""
    phrase = read_phrase(passage, cue.end, stops)
    if phrase is None or phrase.next_word != "from" or before in _NEVER_BEFORE:
        return None, 0
    named: list[Token] = [token for token in phrase.tokens if is_distinctive(passage, token, vocabulary)]
    if len(named) != 1 or named[0] not in phrase.tokens[-2:]:
        return None, 0
    return Subject(named[0].text, named[0].start, named[0].end), phrase.next_end


def read_names(
    passage: Passage,
    cue: Cue,
    following: Collection[Cue],
    barrier: int,
    modality: Modality,
    vocabulary: Vocabulary,
) -> tuple[Named, SpeechAct] | None:
    """Return two names of one thing, with the concept's own as the parent; None unless something is known about one of
    them. A change says that the name holds from now on."""
    stops, words = find_stops(cue, following), passage.text[cue.start : cue.end]
    first: Subject | None
    if cue.form is not Form.RENAMED or words.endswith("to"):
        first, at = _read_called(passage, cue, barrier, modality, vocabulary), cue.end
    else:
        phrase = read_phrase(passage, cue.end, stops)
        first = _read_name(passage, phrase, vocabulary)
        at = phrase.next_end if phrase is not None and phrase.next_word in ("to", "as") else -1
        index = bisect_left(passage.starts, cue.start)
        before = {token.text for token in passage.tokens[max(0, index - 2) : index]}
        if words == "renamed" and not _NEVER_BEFORE.isdisjoint(before):
            return None
    phrase = read_phrase(passage, at, stops) if first is not None and at >= 0 and not cue.is_denied else None
    second = _read_name(passage, phrase, vocabulary)
    if first is None or phrase is None or second is None or phrase.determiner in (*_INDEFINITE, *_OWN):
        return None
    pair = first.concept, second.concept
    if len(set(pair)) == 1 or not any(map(vocabulary.is_concept, pair)):
        return None
    is_other_first = cue.form is Form.RENAMED or cue.adverb == "now"
    other, own = pair if is_other_first else (second.concept, first.concept)
    kind = SpeechAct.CHANGES if cue.form is Form.RENAMED or cue.adverb == "now" else SpeechAct.STATES
    return Named(other, own, NAMES, False, min(first.start, cue.start), second.end), kind


def _read_called(
    passage: Passage, cue: Cue, barrier: int, modality: Modality, vocabulary: Vocabulary
) -> Subject | None:
    """Return the subject before the words that give it another name."""
    if cue.form is Form.RENAMED:
        return _read_moved(passage, cue, barrier, modality, vocabulary)
    if cue.form is Form.ALIASED:
        subjects = read_apposed(passage, cue, vocabulary)
    else:
        clause_start = modality.clause_start(cue.start)
        subjects = read_subjects(
            passage, cue, clause_start=clause_start, barrier=barrier, allows_initial=False, vocabulary=vocabulary
        )
    return subjects[0] if len(subjects) == 1 else None


def _read_name(passage: Passage, phrase: Phrase | None, vocabulary: Vocabulary) -> Subject | None:
    """Return the only name of a phrase, if the phrase ends with it."""
    named = [token for token in phrase.tokens if is_distinctive(passage, token, vocabulary)] if phrase else []
    if phrase is None or named != [phrase.tokens[-1]] or phrase.is_numbered:
        return None
    return Subject(named[0].text, named[0].start, named[0].end)
