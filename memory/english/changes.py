"""Reads the forms in which something gets a name or a new one (`a VM called zwiebel`, `we renamed kvasir to ran`) or is
moved (`we moved kvasir from tyr to baldur`)."""

import re
from bisect import bisect_left
from collections.abc import Collection, Sequence
from typing import Final, NamedTuple

from memory.english.clauses import CODE_NOUNS, find_stops, make_parent, read_apposed, read_subjects
from memory.english.doubt import Modality, SpeechAct
from memory.english.forms import ALIAS, CALLED, MOVED, RENAMED, Cue
from memory.english.function_words import is_closed_class, split_words
from memory.english.lexicon import load_words
from memory.english.noun_phrases import Passage, Phrase, is_name_called, read_phrase
from memory.english.tokenizer import Token
from memory.types import NAMES, TYPE

_CALLED_CODE_NOUNS: Final = CODE_NOUNS | load_words("called_code_nouns")
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
_PLANNED: Final = split_words("be being to will")  # `will have renamed`
_MARK: Final = re.compile(r"\d|[^\W_][-_.@+][^\W_]")


class Change(NamedTuple):
    """A triple, and where it is stated."""

    subject: str
    parent: str
    dimension: str
    start: int
    end: int
    kind: SpeechAct = SpeechAct.STATES


def read_change(
    passage: Passage, cue: Cue, following: Collection[Cue], barrier: int, modality: Modality
) -> Sequence[Change]:
    """Return what a cue of such a form states, after the ``barrier``."""
    stops = find_stops(cue, following)
    if cue.form is CALLED:
        return _read_called(passage, cue, stops, barrier)
    read = _read_move if cue.form is MOVED else _read_names
    return read(passage, cue, stops, modality, barrier)


def _read_called(passage: Passage, cue: Cue, stops: set[int], barrier: int) -> Sequence[Change]:
    """Return what is called by the name after the cue; nothing if the text does not say that it exists, or if it
    describes programs."""
    last = bisect_left(passage.starts, cue.start) - 1
    is_stated = last > 0 and passage.tokens[last].text == "is"  # `our tavern is called The Raven`
    index = last = last - is_stated
    while index > max(-1, last - _UNITS_MAX) and not is_closed_class(passage.tokens[index].text):
        index -= 1
    if index in (-1, last) or not _exists(passage, index, is_stated=is_stated):
        return ()
    phrase = read_phrase(passage, passage.tokens[index + 1].start, {*stops, cue.start})
    if phrase is None or phrase.end != passage.tokens[last].end or phrase.start < barrier:
        return ()
    parent, name = make_parent(passage, cue, phrase, stops), read_phrase(passage, cue.end, stops)
    if parent is None or name is None or name.is_numbered or name.head == parent.token or len(name.tokens) > 1:
        return ()
    if phrase.head in _CALLED_CODE_NOUNS:
        return ()
    if not (passage.is_distinctive(name.tokens[0]) if is_stated else is_name_called(passage, name.tokens[0])):
        return ()
    return [Change(name.head, parent.token, TYPE, phrase.start, name.end)]


def _exists(passage: Passage, index: int, *, is_stated: bool) -> bool:
    """True if the determiner there, and what is before it, say that there is such a thing."""
    determiner = passage.tokens[index].text
    before = passage.tokens[index - 1].text if index else ""
    if is_stated:
        opens = not index or bool(passage.gap_before(index).strip(" ")) or before in ("and", "but", "so", "because")
        return determiner in _DEFINITE and opens
    return determiner in _OWN or (determiner in _INDEFINITE and before in _EXISTS)


def _read_move(passage: Passage, cue: Cue, stops: set[int], modality: Modality, barrier: int) -> Sequence[Change]:
    """Return from where to where something was moved; nothing unless both are given, and the dimension is clear."""
    if passage.text[: cue.end].endswith("from"):
        subject, at = _read_changed(passage, cue, modality, barrier), cue.end
    else:
        subject, at = _read_object(passage, cue, stops, "from")
    origin = read_phrase(passage, at, stops) if subject is not None else None
    destination = read_phrase(passage, origin.next_end, stops) if origin and origin.next_word == "to" else None
    if subject is None or origin is None or destination is None:
        return ()
    parents = [make_parent(passage, cue, phrase, stops) for phrase in (origin, destination)]
    source, target = (parent.token if parent is not None else "" for parent in parents)
    if not source or not target or len({subject.text, source, target}) < 3:
        return ()
    is_machine = any(_MARK.search(passage.text, phrase.start, phrase.end) for phrase in (origin, destination))
    dimension = passage.vocabulary.find_dimension(subject.text, source) or (cue.form.dimension if is_machine else "")
    if not dimension or dimension in (subject.text, source, target):
        return ()
    start = min(subject.start, cue.start)
    return (
        Change(subject.text, source, dimension, start, origin.end, SpeechAct.RETRACTS),
        Change(subject.text, target, dimension, start, destination.end, SpeechAct.CHANGES),
    )


def _read_names(passage: Passage, cue: Cue, stops: set[int], modality: Modality, barrier: int) -> Sequence[Change]:
    """Return two names of one thing, with the concept's own as the parent; nothing unless something is known about one
    of them. A change says that the name holds from now on."""
    at = cue.end
    first: Token | None
    if cue.form is ALIAS:
        first = next(iter(read_apposed(passage, cue, modality)), None)
    elif cue.form is RENAMED and not passage.text[: cue.end].endswith("to"):
        first, at = _read_object(passage, cue, stops, "to")
    else:
        first = _read_changed(passage, cue, modality, barrier)
    phrase = read_phrase(passage, at, stops) if first is not None and not cue.is_denied else None
    second = _read_name(passage, phrase)
    if first is None or phrase is None or second is None or phrase.determiner in _INDEFINITE | _OWN:
        return ()
    if first.text == second.text or not any(map(passage.vocabulary.is_concept, (first.text, second.text))):
        return ()
    is_new = cue.form is RENAMED or " now " in passage.text[cue.start : cue.end]
    own, other = (second, first) if is_new else (first, second)
    kind = SpeechAct.CHANGES if is_new else SpeechAct.STATES
    return [Change(other.text, own.text, NAMES, min(first.start, cue.start), second.end, kind)]


def _read_changed(passage: Passage, cue: Cue, modality: Modality, barrier: int) -> Token | None:
    """Return the subject of `kvasir (was) moved from`."""
    index = bisect_left(passage.starts, cue.start)
    while index and passage.tokens[index - 1].text in _AUXILIARIES:
        index -= 1
    start = passage.tokens[index].start if index < len(passage.tokens) else cue.start
    before = cue._replace(start=min(start, cue.start))
    return next(iter(read_subjects(passage, before, modality, barrier)), None)


def _read_object(passage: Passage, cue: Cue, stops: set[int], joint: str) -> tuple[Token | None, int]:
    """Return the name in `we moved kvasir from`, and where that ends."""
    index = bisect_left(passage.starts, cue.start)
    is_planned = any(token.text in _PLANNED for token in passage.tokens[max(0, index - 2) : index])
    phrase = read_phrase(passage, cue.end, stops)
    if phrase is None or phrase.next_word != joint or is_planned:
        return None, 0
    return _read_name(passage, phrase), phrase.next_end


def _read_name(passage: Passage, phrase: Phrase | None) -> Token | None:
    """Return the only name of a phrase, if the phrase ends with it."""
    named = [token for token in phrase.tokens if passage.is_distinctive(token)] if phrase else []
    is_one = phrase is not None and not phrase.is_numbered and named == [phrase.tokens[-1]]
    return named[0] if is_one else None
