"""Noun phrases, as far as word order and the closed classes show them: where one ends, and what its head is."""

import re
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from memory.domain import cue_words
from memory.domain.closed_class import ARTICLES, POSSESSIVES, is_closed_class, listed
from memory.domain.tokens import Token, tokenise

# Characters that are looked at on either side of a cue: room for two noun phrases of four words, and for what leads up
# to a subject. The bound keeps a sentence of a megabyte linear.
WINDOW: Final = 400
MAX_UNITS: Final = 4

_SKIPPED: Final = ARTICLES | POSSESSIVES
_COORDINATORS: Final = listed("and or but yet")
_OPENING: Final = re.compile(r"[\s*_\"'\u2018\u201c]*\Z")
_WITHIN: Final = re.compile(r"(?:\+\+|#)?[\s*_\"\u201c\u201d]+\Z|\s?[/&]\s?\Z|['\u2019][sS]\s+\Z|\s+[\w.+\-]+\s+\Z")
_COMMA: Final = re.compile(r",\s+\Z")
_NOISE_AFTER: Final = re.compile(r"\s+\w")


@dataclass(frozen=True, slots=True)
class Phrase:
    """The words of a noun phrase, its span in the text it was read from, and what follows it.

    `next_word` is the token that only white space parts from the phrase, else empty; its span follows.
    `is_numbered` says that a number or other noise follows directly. `is_name`: its first word has a capital.
    """

    units: tuple[str, ...]
    is_name: bool
    start: int
    end: int
    next_word: str
    next_start: int
    next_end: int
    is_numbered: bool

    @property
    def head(self) -> str:
        return self.units[-1]


def read_phrase(text: str, at: int, stops: Iterable[int] = ()) -> Phrase | None:
    """The noun phrase that begins at a position, articles and possessives skipped; None if there is none.

    It ends at punctuation, a closed-class word, a participle that governs what follows, and at any of the `stops`.
    A phrase of more than four words is taken for none: its head cannot be told.
    """
    piece = text[at : at + WINDOW]
    tokens = tokenise(piece)
    units = _read_units(piece, tokens, _first_unit(piece, tokens), {stop - at for stop in stops})
    if not 0 < len(units) <= MAX_UNITS:
        return None
    return _phrase(piece, tokens, units, at)


def is_adjective(word: str) -> bool:
    if word in cue_words.ADJECTIVES:
        return True
    endings = cue_words.HYPHENATED_ADJECTIVE_ENDINGS if "-" in word else cue_words.ADJECTIVE_ENDINGS
    return len(word) > 4 and word.endswith(endings) and word not in cue_words.NOUNS_LIKE_ADJECTIVES


def is_plural(word: str) -> bool:
    """Whether an ordinary word is in the plural, or a verb in the third person, going by its last letters."""
    return word.endswith("s") and not word.endswith(("ss", "us", "is")) and word not in cue_words.S_SINGULARS


def is_participle(word: str) -> bool:
    if word.endswith("ing"):
        return len(word) > 4 and word not in cue_words.ING_NOUNS
    if word.endswith("ed"):
        return len(word) > 4 and word not in cue_words.ED_NOUNS
    return word in cue_words.IRREGULAR_PARTICIPLES


def _first_unit(piece: str, tokens: Sequence[Token]) -> int:
    """The index of the first token that is no article or possessive; behind the last if anything else leads to it."""
    end = 0
    for index, token in enumerate(tokens):
        if not _OPENING.match(piece[end : token.start]):
            break
        if token.text not in _SKIPPED:
            return index
        end = token.end
    return len(tokens)


def _read_units(piece: str, tokens: Sequence[Token], first: int, stops: Container[int]) -> list[int]:
    """The indices of the tokens of the phrase that begins at the first."""
    units: list[int] = []
    for index in range(first, len(tokens)):
        token = tokens[index]
        follows_adjective = bool(units) and _qualifies(tokens[units[-1]].text)
        gap = piece[tokens[index - 1].end : token.start]
        if units and not (_WITHIN.match(gap) or (follows_adjective and _COMMA.match(gap))):
            break
        if follows_adjective and token.text in _COORDINATORS:
            continue
        if is_closed_class(token.text) or token.start in stops or (units and _governs(piece, tokens, index)):
            break
        units.append(index)
    return units


def _qualifies(word: str) -> bool:
    """Whether a coordinated word may be only the first of several that describe a noun: `a fast and small cache`."""
    return is_adjective(word) or (word.endswith("ing") and word not in cue_words.ING_NOUNS)


def _governs(piece: str, tokens: Sequence[Token], index: int) -> bool:
    """Whether the phrase before a token is over, because the token is a participle or adverb of its own."""
    word = tokens[index].text
    if tokens[index].is_capitalised:
        return False
    if word in cue_words.CLOSING_ADVERBS or word in cue_words.TRANSITIVE_PARTICIPLES:
        return True
    following = _word_after(piece, tokens, index)
    if not is_participle(word):
        return False
    if word.endswith("ing"):
        # A gerund is a noun after an adjective and before `of`: "a logical grouping of names".
        is_noun = following == "of" or is_adjective(tokens[index - 1].text)
        return not is_noun and (is_closed_class(following) or is_plural(following))
    return not following or is_closed_class(following) or following in cue_words.CLOSING_ADVERBS


def _word_after(piece: str, tokens: Sequence[Token], index: int) -> str:
    """The token after this one, if nothing but white space lies between; else empty."""
    if index + 1 >= len(tokens) or piece[tokens[index].end : tokens[index + 1].start].strip():
        return ""
    return tokens[index + 1].text


def _phrase(piece: str, tokens: Sequence[Token], units: list[int], at: int) -> Phrase:
    last = units[-1]
    next_word = _word_after(piece, tokens, last)
    return Phrase(
        units=tuple(tokens[index].text for index in units),
        is_name=tokens[units[0]].is_capitalised,
        start=at + tokens[units[0]].start,
        end=at + tokens[last].end,
        next_word=next_word,
        next_start=at + tokens[last + 1].start if next_word else at + tokens[last].end,
        next_end=at + tokens[last + 1].end if next_word else at + tokens[last].end,
        is_numbered=not next_word and _NOISE_AFTER.match(piece, tokens[last].end) is not None,
    )
