"""Reads noun phrases, as far as word order and function words show them: where one ends, and what its head is."""

import re
from bisect import bisect_left
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from itertools import pairwise
from string import ascii_uppercase
from typing import Final, Protocol

from memory.english.function_words import ARTICLES, POSSESSIVES, is_closed_class, split_words
from memory.english.statements.patterns import OPERATORS, Cue
from memory.english.tokenizer import NamesInside, Token, tokenise
from memory.english.words import adjectives, names, nouns, verbs

MAX_UNITS: Final = 4
# Tokens after the cue within which a phrase must begin and end; the bound keeps a long sentence linear.
_REACH: Final = 24

_SMALL: Final = {ord(letter): letter.lower() for letter in ascii_uppercase}
_SKIPPED: Final = ARTICLES | POSSESSIVES
_COORDINATORS: Final = split_words("and or but yet")
_OPENING: Final = re.compile(r"[\s*_\"'\u2018\u201c\x10]*\Z")
_NUMBERED: Final = re.compile(r"\s+\d{1,4}\s+\Z")
_WITHIN: Final = re.compile(
    r"(?:\+\+|#)?[\s*_\"\u201c\u201d\x10]+\Z|/\Z|\s?&\s?\Z|['\u2019][sS]\s+\Z|\s+(?:\d{1,4}|\d+\.[\d.]+)\s+\Z"
)
_JOINED: Final = re.compile(r":[:\w]")  # `Ti:Sapphire`, `std::map`
_CUT: Final = frozenset("/\\{<=$")  # a path or a pattern that the word is part of
_THOUGHT: Final = re.compile(r" (?:think|believe|guess|suppose|assume|heard|hope|hear|reckon|suspect|was|am|know)\b")
_COMMA: Final = re.compile(r",\s+\Z")
_NOISE_AFTER: Final = re.compile(r"\s+\w")


class Vocabulary(Protocol):
    """The knowledge about words and the graph that the reader of cues needs."""

    def is_common(self, token: str) -> bool:
        """True if it is an ordinary English word."""

    def is_concept(self, token: str) -> bool:
        """True if something is already known about it."""

    def is_place(self, token: str) -> bool:
        """True if something is known to be in it, in the dimension `geography`."""

    def find_dimension(self, concept: str, parent: str) -> str | None:
        """Return the dimension in which the concept is in this parent; if ``parent`` is empty, that of the only fact
        that says what the concept is. None if there is no such fact."""


class AnyName:
    """A vocabulary in which each word may be the name of something."""

    def is_common(self, token: str) -> bool:
        return False

    def is_concept(self, token: str) -> bool:
        return True

    def is_place(self, token: str) -> bool:
        return True

    def find_dimension(self, concept: str, parent: str) -> str | None:
        return None


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence with its tokens in order; `starts` are their first characters, for bisection."""

    text: str
    tokens: list[Token]
    starts: list[int]
    names_inside: NamesInside  # of the whole text

    def gap_before(self, index: int) -> str:
        """Return the text between a token and the one before it."""
        return self.text[self.tokens[index - 1].end if index else 0 : self.tokens[index].start]

    def word_at(self, position: int) -> str:
        """Return the first token at or after a position; "" if there is none."""
        index = bisect_left(self.starts, position)
        return self.tokens[index].text if index < len(self.tokens) else ""

    def word_after(self, index: int) -> str:
        """Return the token after this one if only white space is between them; otherwise ""."""
        if index + 1 >= len(self.tokens) or self.gap_before(index + 1).strip():
            return ""
        return self.tokens[index + 1].text


def read_passage(
    sentence: str, cues: Iterable[Cue], vocabulary: Vocabulary, names_inside: NamesInside | None = None
) -> Passage:
    """Tokenise a sentence, with its cues in lower case. ``names_inside`` are those of the whole text."""
    # In capitals ("Kvasir Is A Worker") a cue's words would be read as part of the name before them.
    pieces, at = [], 0
    for cue in cues:
        if cue.form not in OPERATORS:
            pieces += [sentence[at : cue.start], sentence[cue.start : cue.end].translate(_SMALL)]
            at = cue.end
    text = "".join([*pieces, sentence[at:]])
    names_inside = names_inside or NamesInside(text)
    tokens: list[Token] = []
    for token in tokenise(text, names_inside):
        if token.parts and token.text.endswith("_i") and _THOUGHT.match(text, token.end):
            tokens.append(_without_pronoun(token))
        elif token.is_initial and len(token.parts) > 1 and _has_opener(text, token, vocabulary, names_inside):
            tokens += _split_opener(text, token)
        else:
            tokens.append(token)
    return Passage(text, tokens, [token.start for token in tokens], names_inside)


def _without_pronoun(token: Token) -> Token:
    """Remove the pronoun from `Husqvarna I` in `belongs to Husqvarna I think`."""
    rest = token.text.removesuffix("_i")
    parts = tuple(part for part in token.parts[:-1] if part != rest)
    return token._replace(text=rest, end=token.end - 2, parts=parts)


def _has_opener(text: str, token: Token, vocabulary: Vocabulary, names_inside: NamesInside) -> bool:
    """True if a name at the beginning of a sentence starts with a word that is not part of it."""
    first, *others = token.parts
    is_opened = not vocabulary.is_concept(token.text) and opens_sentence(first, others, vocabulary.is_common)
    return is_opened and text[token.start : token.end] not in names_inside


def opens_sentence(first: str, others: Iterable[str], is_common: Callable[[str], bool]) -> bool:
    """True if the first word of a name at the beginning of a sentence is not part of it: an ordinary word before words
    that are not."""
    return first not in names.NAME_OPENERS and is_common(first) and not any(map(is_common, others))


def _split_opener(text: str, token: Token) -> tuple[Token, Token]:
    first, *others = token.parts
    end = text.index(" ", token.start)
    rest = token.text[len(first) + 1 :]
    parts = tuple(part for part in others if not part.startswith(f"{first}_"))
    opener = Token(first, token.start, end, is_capitalised=True, is_initial=True)
    return opener, Token(rest, end + 1, token.end, True, True, parts if (rest,) != parts else ())


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase without articles and possessives, and what follows it."""

    tokens: tuple[Token, ...]
    gaps: tuple[str, ...]  # the text between each two tokens
    determiner: str  # the article or possessive in front, or ""
    next_word: str  # the token that only white space separates from the phrase, or ""
    next_start: int
    next_end: int
    is_numbered: bool  # a number or other noise follows directly
    is_counting: bool = False  # a number precedes it: `a 48 TB QNAP`

    @property
    def head(self) -> str:
        return self.tokens[-1].text

    @property
    def start(self) -> int:
        return self.tokens[0].start

    @property
    def end(self) -> int:
        return self.tokens[-1].end


def read_phrase(passage: Passage, at: int, stops: Container[int] = ()) -> Phrase | None:
    """Return the noun phrase that begins at a position, skipping articles and possessives; None if there is none. It
    ends at punctuation, a closed-class word, a participle that governs what follows, or any of the `stops`."""
    here = bisect_left(passage.starts, at)
    reach = range(here, min(here + _REACH, len(passage.tokens)))
    nouns_reach = _skip_articles(passage, at, reach)
    units = _read_units(passage, nouns_reach, stops)
    telling = [index for index in units if not is_descriptive(passage.tokens[index])]
    if not units or len(telling) > MAX_UNITS:  # a longer one is not taken for a phrase: its head is unclear
        return None
    last = passage.tokens[units[-1]]
    if passage.text[last.end : last.end + 1] in _CUT or _JOINED.match(passage.text, last.end):
        return None
    next_word = passage.word_after(units[-1])
    following = passage.tokens[units[-1] + 1] if next_word else None
    return Phrase(
        tokens=tuple(passage.tokens[index] for index in units),
        gaps=tuple(passage.text[passage.tokens[a].end : passage.tokens[b].start] for a, b in pairwise(units)),
        is_counting=_NUMBERED.match(passage.gap_before(units[0])) is not None,
        determiner=passage.tokens[nouns_reach.start - 1].text if nouns_reach.start > here else "",
        next_word=next_word,
        next_start=following.start if following else last.end,
        next_end=following.end if following else last.end,
        is_numbered=not next_word and _NOISE_AFTER.match(passage.text, last.end) is not None,
    )


def is_descriptive(token: Token) -> bool:
    """True if a word before a noun describes without telling kinds apart, or counts: `an old mail relay` is a mail
    relay, but a `virtual machine` is more specific than a machine."""
    word = token.text
    if token.is_capitalised and not token.is_initial:
        return False
    if word in adjectives.DESCRIPTIVE or word in names.NUMBER_WORDS or word in verbs.CLOSING_ADVERBS:
        return True
    if "-" in word:
        return word[0].isdigit() or is_adjective(word)
    if len(word) > 4 and word.endswith("ly"):
        return word not in adjectives.NOUNS_LIKE_ADJECTIVES
    return is_participle(word) and not word.endswith("ing")


def is_adjective(word: str) -> bool:
    if word in adjectives.ADJECTIVES:
        return True
    _, hyphen, tail = word.rpartition("-")
    if hyphen:
        return is_participle(tail)
    return (
        len(word) > 4 and word.endswith(adjectives.ADJECTIVE_ENDINGS) and word not in adjectives.NOUNS_LIKE_ADJECTIVES
    )


def is_plural(word: str) -> bool:
    """True if an ordinary word is in the plural, or a verb in the third person, going by its last letters."""
    if word in nouns.IRREGULAR_PLURALS:
        return True
    return word.endswith("s") and not word.endswith(("ss", "us", "is")) and word not in nouns.S_SINGULARS


def singular_of(word: str) -> str:
    if word in nouns.IRREGULAR_PLURALS:
        return nouns.IRREGULAR_PLURALS[word]
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("sses", "shes", "ches", "xes", "zzes")) else word.removesuffix("s")


def is_participle(word: str) -> bool:
    if word.endswith("ing"):
        return len(word) > 4 and word not in verbs.ING_NOUNS
    if word.endswith("ed"):
        return len(word) > 4 and word not in verbs.ED_NOUNS
    return word in verbs.IRREGULAR_PARTICIPLES


def _skip_articles(passage: Passage, at: int, reach: range) -> range:
    """Return the tokens from the first that is not an article or possessive; none if anything else comes before it."""
    end = at
    for index in reach:
        token = passage.tokens[index]
        gap = passage.text[end : token.start]
        is_counted = _NUMBERED.match(gap) and passage.text.endswith((" a", " an", " the", " our", " my"), 0, end)
        if not _OPENING.match(gap) and not (is_counted and token.text not in _SKIPPED):
            break
        if token.text not in _SKIPPED:
            return reach[index - reach.start :]
        end = token.end
    return range(0)


def _read_units(passage: Passage, reach: range, stops: Container[int]) -> list[int]:
    """Return the indices of the tokens of the phrase at the beginning of ``reach``."""
    units: list[int] = []
    for index in reach:
        token = passage.tokens[index]
        follows_adjective = False
        if units:
            # Coordinated words may all describe the noun that follows: `a fast and small cache`.
            last = passage.tokens[units[-1]].text
            follows_adjective = is_adjective(last) or (last.endswith("ing") and last not in verbs.ING_NOUNS)
        gap = passage.gap_before(index)
        if units and _ends_title(passage, units[-1], gap):
            gap = " "
        if units and not (_WITHIN.match(gap) or (follows_adjective and _COMMA.match(gap))):
            break
        if follows_adjective and token.text in _COORDINATORS:
            continue
        if _is_grammar(passage, token) or token.start in stops or (units and _governs(passage, index)):
            break
        units.append(index)
    return units


def _ends_title(passage: Passage, index: int, gap: str) -> bool:
    """True if only the full stop of a title separates two words: `Prof. Lindqvist`."""
    return gap.startswith(". ") and not gap[1:].strip() and passage.tokens[index].text in names.TITLES


def _is_grammar(passage: Passage, token: Token) -> bool:
    """True if a word ends a phrase: `IT` in capitals is a noun."""
    return is_closed_class(token.text) and passage.text[token.start : token.end] not in ("IT", "US")


def _governs(passage: Passage, index: int) -> bool:
    """True if the phrase ends before a token, because that is a participle or adverb of its own."""
    token = passage.tokens[index]
    word = token.text
    if word in verbs.ASIDES:
        return True
    if token.is_capitalised:
        return False
    if word in verbs.CLOSING_ADVERBS or word in verbs.TRANSITIVE_PARTICIPLES:
        return True
    following = passage.word_after(index)
    if len(word) > 4 and word.endswith("ly") and word not in adjectives.LY_NOUNS:
        return not following or is_closed_class(following)
    if not is_participle(word):
        return False
    if word.endswith("ing"):
        # A gerund is a noun after an adjective and before `of`: "a logical grouping of names".
        is_noun = following == "of" or is_adjective(passage.tokens[index - 1].text)
        return not is_noun and (is_closed_class(following) or is_plural(following))
    return not following or is_closed_class(following) or following in verbs.CLOSING_ADVERBS
