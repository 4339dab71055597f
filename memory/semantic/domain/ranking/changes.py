"""What says that something has changed which a message before it told, and what has nothing to do with that."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from functools import lru_cache
from typing import Final

from memory.domain.cues.noun_phrases import is_adjective
from memory.domain.language.english import changing, memory_phrases
from memory.domain.recall.passages import TEXTS_KEPT
from memory.domain.text.function_words import ARTICLES, AUXILIARIES, PREPOSITIONS, is_closed_class, split_words
from memory.semantic.domain.ranking.candidates import RankedText

SAYS_CHANGE: Final = re.compile(changing.MENTIONS_CHANGE, re.IGNORECASE)
_CORRECTION: Final = re.compile(
    rf"\W*(?:{memory_phrases.BEFORE_CORRECTIONS}\W+)*(?:{memory_phrases.CORRECTIONS}\b\W*)+", re.IGNORECASE
)
_CLAUSE_ENDS: Final = re.compile(r"[.!?]+(?=\s|\Z)|[,;:()\n]|\s[-\u2013\u2014]\s|\b(?:and|but|so)\b", re.IGNORECASE)
_WORD: Final = re.compile(r"[^\W_](?:[\w'’.@+-]*\w)?")
# Who speaks is the subject of anything; such words only refer to what was spoken of before.
_SPEAKERS: Final = split_words("i we i'm i've i'd i'll we're we've we'd we'll im ive")
_POSSESSORS: Final = split_words("my our")
_REFERRING: Final = split_words(
    "it it's its that that's this these those they they're their them he he's his him she she's her hers there one "
    "same make both"
)
SHARED_MIN: Final = 2  # words that a message has in common with another of the same
FRAGMENT_MAX: Final = 2  # content words of what is no whole sentence: `the blue one`, `30 days`
_STEM_MIN: Final = 3  # letters


@lru_cache(maxsize=TEXTS_KEPT)
def says_change(text: str) -> bool:
    return SAYS_CHANGE.search(text) is not None


@lru_cache(maxsize=TEXTS_KEPT)
def opens_correction(text: str) -> bool:
    return _CORRECTION.match(text) is not None


def find_changes(
    order: Iterable[int],
    given: Sequence[int],
    candidates: Sequence[RankedText],
    matched: Sequence[Set[str]],
    named: Set[str],
) -> list[int]:
    """What is not alike enough by itself, but newer than a message that is given, and says of the same that something
    has changed: without it that would be given as if it held. ``named``: the lexemes of the question, of which each has
    the ``matched`` ones."""
    found = []
    for at in order:
        newer = candidates[at]
        is_correction = opens_correction(newer.text)
        if at in given or not (is_correction or (matched[at] and says_change(newer.text))):
            continue
        said = newer.lexemes - _lexemes_in(_opening(newer.text), newer.lexemes)
        for older in (candidates[other] for other in given if candidates[other].said_at < newer.said_at):
            is_near = older.id in newer.follows or len(older.lexemes & said) >= SHARED_MIN
            if is_near and is_about(newer, older.lexemes | named, may_refer=bool(matched[at] or newer.follows)):
                found.append(at)
                break
    return found


def is_about(text: RankedText, lexemes: Collection[str], *, may_refer: bool) -> bool:
    """Whether it is about something that has these lexemes: by the subject of one of its clauses or, where it names
    none, because it can only mean what was spoken of before (``may_refer``)."""
    subjects = find_subjects(text.text)
    if subjects is None:
        return may_refer
    return not _lexemes_in(subjects, text.lexemes).isdisjoint(lexemes)


@lru_cache(maxsize=TEXTS_KEPT)
def find_subjects(text: str) -> frozenset[str] | None:
    """The words of content, in small letters, of what a message, behind the word that corrects, is about; None where it
    names nothing of its own: `no wait, it's 30 days`, `sorry, on Tuesdays`."""
    words: set[str] = set()
    for clause in _iter_clauses(text[_end_of_opening(text) :]):
        subject = _find_subject(clause)
        if subject is None and not words:
            return None
        words.update(subject or ())
    return frozenset(words) or None


def _find_subject(clause: Sequence[str]) -> Collection[str] | None:
    content = [word for word in clause if not is_closed_class(word)]
    if clause[0] in _SPEAKERS:
        return content
    if clause[0] in ARTICLES or clause[0] in _POSSESSORS:
        clause = clause[1:]
    first = clause[0]
    if first in _REFERRING or first in PREPOSITIONS or first[0].isdigit():
        return None
    end = next((at for at, word in enumerate(clause) if word in AUXILIARIES or word in PREPOSITIONS - {"of"}), None)
    if end is not None and clause[end] in AUXILIARIES:  # `mimir's retention is`
        return [word for word in clause[:end] if not is_closed_class(word)]
    if len(content) <= FRAGMENT_MAX:
        return None
    return next(([word] for word in content if not is_adjective(word)), content[:1])


def _iter_clauses(text: str) -> Iterator[list[str]]:
    for clause in _CLAUSE_ENDS.split(text.lower().replace("’", "'")):
        words = [word.removesuffix("'s") if word[:-2] else word for word in _WORD.findall(clause)]
        if any(not is_closed_class(word) for word in words):
            yield words


def _opening(text: str) -> list[str]:
    return _WORD.findall(text[: _end_of_opening(text)].lower())


def _end_of_opening(text: str) -> int:
    found = _CORRECTION.match(text)
    return found.end() if found is not None else 0


def _lexemes_in(words: Collection[str], lexemes: Set[str]) -> set[str]:
    """Those of the lexemes that are the stems of these words, as far as can be told."""
    stems: dict[str, list[str]] = {}
    for lexeme in lexemes:
        if len(lexeme) >= _STEM_MIN:
            stems.setdefault(lexeme[: max(_STEM_MIN, len(lexeme) - 1)], []).append(lexeme)
    found = {word for word in words if word in lexemes}
    for word in words:
        for length in range(_STEM_MIN, len(word) + 1):
            found.update(stems.get(word[:length], ()))
    return found
