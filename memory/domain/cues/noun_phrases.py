"""Reads noun phrases, as far as word order and function words show them: where one ends, and what its head is."""

import re
from bisect import bisect_left
from collections.abc import Container, Iterable
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Final

from memory.domain.cues import lexicon
from memory.domain.cues.patterns import OPERATORS, Cue
from memory.domain.text.function_words import ARTICLES, POSSESSIVES, is_closed_class, split_words
from memory.domain.text.tokenizer import Token, tokenise

MAX_UNITS: Final = 4
# Tokens from the cue on among which a phrase must begin and end; the bound keeps a long sentence linear.
_REACH: Final = 24

_SMALL: Final = {ord(letter): letter.lower() for letter in ascii_uppercase}
_SKIPPED: Final = ARTICLES | POSSESSIVES
_COORDINATORS: Final = split_words("and or but yet")
_OPENING: Final = re.compile(r"[\s*_\"'\u2018\u201c]*\Z")
_WITHIN: Final = re.compile(r"(?:\+\+|#)?[\s*_\"\u201c\u201d]+\Z|/\Z|\s?&\s?\Z|['\u2019][sS]\s+\Z|\s+[\w.+\-]+\s+\Z")
_COMMA: Final = re.compile(r",\s+\Z")
_NOISE_AFTER: Final = re.compile(r"\s+\w")


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence with its tokens in order; `starts` are their first characters, for bisection."""

    text: str
    tokens: list[Token]
    starts: list[int]

    def gap_before(self, index: int) -> str:
        """What stands between a token and the one before it."""
        return self.text[self.tokens[index - 1].end if index else 0 : self.tokens[index].start]

    def word_after(self, index: int) -> str:
        """The token after this one, if nothing but white space lies between; else empty."""
        if index + 1 >= len(self.tokens) or self.gap_before(index + 1).strip():
            return ""
        return self.tokens[index + 1].text


def read_passage(sentence: str, cues: Iterable[Cue]) -> Passage:
    """The sentence and its tokens, its cues in small letters."""
    # In capitals ("Kvasir Is A Worker") a cue's words would be read as part of the name before them.
    pieces, at = [], 0
    for cue in cues:
        if cue.form not in OPERATORS:
            pieces += [sentence[at : cue.start], sentence[cue.start : cue.end].translate(_SMALL)]
            at = cue.end
    text = "".join([*pieces, sentence[at:]])
    tokens = tokenise(text)
    return Passage(text, tokens, [token.start for token in tokens])


@dataclass(frozen=True, slots=True)
class Phrase:
    """The words of a noun phrase, its span in the text it was read from, and what follows it."""

    units: tuple[str, ...]
    is_name: bool  # the first word has a capital
    start: int
    end: int
    head_is_name: bool  # the last word has a capital
    next_word: str  # the token that only white space parts from the phrase, else empty
    next_start: int
    next_end: int
    is_numbered: bool  # a number or other noise follows directly

    @property
    def head(self) -> str:
        return self.units[-1]


def read_phrase(passage: Passage, at: int, stops: Container[int] = ()) -> Phrase | None:
    """The noun phrase that begins at a position, articles and possessives skipped; None if there is none. It ends at
    punctuation, a closed-class word, a participle that governs what follows, and at any of the `stops`."""
    here = bisect_left(passage.starts, at)
    reach = range(here, min(here + _REACH, len(passage.tokens)))
    units = _read_units(passage, _skip_articles(passage, at, reach), stops)
    if not 0 < len(units) <= MAX_UNITS:  # what is longer is taken for no phrase: its head cannot be told
        return None
    first, last = passage.tokens[units[0]], passage.tokens[units[-1]]
    next_word = passage.word_after(units[-1])
    following = passage.tokens[units[-1] + 1] if next_word else None
    return Phrase(
        units=tuple(passage.tokens[index].text for index in units),
        is_name=first.is_capitalised,
        start=first.start,
        end=last.end,
        head_is_name=last.is_capitalised,
        next_word=next_word,
        next_start=following.start if following else last.end,
        next_end=following.end if following else last.end,
        is_numbered=not next_word and _NOISE_AFTER.match(passage.text, last.end) is not None,
    )


def is_adjective(word: str) -> bool:
    if word in lexicon.ADJECTIVES:
        return True
    _, hyphen, tail = word.rpartition("-")
    if hyphen:
        return tail in lexicon.ADJECTIVE_TAILS or is_participle(tail)
    return len(word) > 4 and word.endswith(lexicon.ADJECTIVE_ENDINGS) and word not in lexicon.NOUNS_LIKE_ADJECTIVES


def is_plural(word: str) -> bool:
    """Whether an ordinary word is in the plural, or a verb in the third person, going by its last letters."""
    return word.endswith("s") and not word.endswith(("ss", "us", "is")) and word not in lexicon.S_SINGULARS


def is_participle(word: str) -> bool:
    if word.endswith("ing"):
        return len(word) > 4 and word not in lexicon.ING_NOUNS
    if word.endswith("ed"):
        return len(word) > 4 and word not in lexicon.ED_NOUNS
    return word in lexicon.IRREGULAR_PARTICIPLES


def _skip_articles(passage: Passage, at: int, reach: range) -> range:
    """The tokens from the first that is no article or possessive; none if anything else leads to it."""
    end = at
    for index in reach:
        token = passage.tokens[index]
        if not _OPENING.match(passage.text[end : token.start]):
            break
        if token.text not in _SKIPPED:
            return reach[index - reach.start :]
        end = token.end
    return range(0)


def _read_units(passage: Passage, reach: range, stops: Container[int]) -> list[int]:
    """The indices of the tokens of the phrase that begins with the reach."""
    units: list[int] = []
    for index in reach:
        token = passage.tokens[index]
        follows_adjective = False
        if units:
            # Coordinated words may all describe the noun that follows: `a fast and small cache`.
            last = passage.tokens[units[-1]].text
            follows_adjective = is_adjective(last) or (last.endswith("ing") and last not in lexicon.ING_NOUNS)
        gap = passage.gap_before(index)
        if units and not (_WITHIN.match(gap) or (follows_adjective and _COMMA.match(gap))):
            break
        if follows_adjective and token.text in _COORDINATORS:
            continue
        if is_closed_class(token.text) or token.start in stops or (units and _governs(passage, index)):
            break
        units.append(index)
    return units


def _governs(passage: Passage, index: int) -> bool:
    """Whether the phrase before a token is over, because the token is a participle or adverb of its own."""
    token = passage.tokens[index]
    word = token.text
    if token.is_capitalised:
        return False
    if word in lexicon.CLOSING_ADVERBS or word in lexicon.TRANSITIVE_PARTICIPLES:
        return True
    if not is_participle(word):
        return False
    following = passage.word_after(index)
    if word.endswith("ing"):
        # A gerund is a noun after an adjective and before `of`: "a logical grouping of names".
        is_noun = following == "of" or is_adjective(passage.tokens[index - 1].text)
        return not is_noun and (is_closed_class(following) or is_plural(following))
    return not following or is_closed_class(following) or following in lexicon.CLOSING_ADVERBS
