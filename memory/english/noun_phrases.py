"""Reads noun phrases, as far as word order and function words show them: where one ends, what its head is, and whether
that is a name."""

import re
from bisect import bisect_left
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Protocol

from memory.english.forms import Cue, Verb
from memory.english.function_words import ARTICLES, POSSESSIVES, is_closed_class, split_words
from memory.english.lexicon import load_words
from memory.english.sentences import NAME_MARK
from memory.english.tokenizer import NamesInside, Token, tokenise

MAX_UNITS: Final = 4
# Tokens after the cue within which a phrase must begin and end; the bound keeps a long sentence linear.
_REACH: Final = 24

ADJECTIVES: Final = load_words("adjectives")
CLOSING_ADVERBS: Final = load_words("closing_adverbs")
ED_NOUNS: Final = load_words("ed_nouns")
GIVEN_NAMES: Final = load_words("given_names")
ING_NOUNS: Final = load_words("ing_nouns")
IRREGULAR_PLURALS: Final = dict(pair.split("/") for pair in load_words("irregular_plurals"))
MONTHS_AND_DAYS: Final = load_words("months_and_days")
RELATIONAL_NOUNS: Final = load_words("relational_nouns")
TRADE_NOUNS: Final = load_words("trade_nouns")
_ABSTRACT_ENDINGS: Final = tuple(load_words("abstract_endings"))
_ADJECTIVE_ENDINGS: Final = tuple(load_words("adjective_endings"))
_DESCRIPTIVE: Final = load_words("descriptive") | load_words("number_words") | CLOSING_ADVERBS
_LISTED_NOUNS: Final = RELATIONAL_NOUNS | TRADE_NOUNS | load_words("code_nouns")
_NAME_OPENERS: Final = (
    GIVEN_NAMES | load_words("ambiguous_names") | load_words("place_openers") | load_words("honorifics")
)
_GOVERNING: Final = CLOSING_ADVERBS | load_words("transitive_participles")
_IRREGULAR_PARTICIPLES: Final = load_words("irregular_participles")
_NOUNS_LIKE_ADJECTIVES: Final = load_words("nouns_like_adjectives")

_S_SINGULARS: Final = load_words("s_singulars")
_TITLES: Final = load_words("titles")

_COORDINATORS: Final = split_words("and or but yet")
_OPENING: Final = re.compile(r"[\s*_\"'\u2018\u201c\x10]*\Z")
_WITHIN: Final = re.compile(
    r"(?:\+\+|#)?[\s*_\"\u201c\u201d\x10]+\Z|/\Z|\s?&\s?\Z|['\u2019][sS]\s+\Z|\s+(?:\d{1,4}|\d+\.[\d.]+)\s+\Z"
)
_COMMA: Final = re.compile(r",\s+\Z")
_TITLE_MAX: Final = 8  # characters, with the gap before the name
_THOUGHT: Final = re.compile(r" (?:think|believe|guess|suppose|assume|heard|hope|hear|reckon|suspect|was|am|know)\b")
_NOISE_AFTER: Final = re.compile(r"\s+\w")


class Vocabulary(Protocol):
    """The knowledge about words and the graph that the reader of statements needs."""

    def is_common(self, token: str) -> bool:
        """True if it is an ordinary English word."""

    def is_concept(self, token: str) -> bool:
        """True if something is already known about it."""

    def is_location(self, token: str) -> bool:
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

    def is_location(self, token: str) -> bool:
        return True

    def find_dimension(self, concept: str, parent: str) -> str | None:
        return None


@dataclass(frozen=True, slots=True)
class Passage:
    """A sentence with its tokens in order. ``starts``: their first characters, for bisection."""

    text: str
    tokens: list[Token]
    starts: list[int]
    names_inside: NamesInside  # of the whole text
    vocabulary: Vocabulary

    def gap_before(self, index: int) -> str:
        """Return the text between a token and the one before it."""
        return self.text[self.tokens[index - 1].end if index else 0 : self.tokens[index].start]

    def word_after(self, index: int) -> str:
        """Return the token after this one if only white space is between them; otherwise ""."""
        if index + 1 >= len(self.tokens) or self.gap_before(index + 1).strip():
            return ""
        return self.tokens[index + 1].text

    def is_marked(self, token: Token) -> bool:
        """True if a name is in back-ticks."""
        return self.text[token.end : token.end + 1] == NAME_MARK

    def is_distinctive(self, token: Token) -> bool:
        """True if a word is a name of its own, not an ordinary word."""
        word, vocabulary = token.text, self.vocabulary
        if word in MONTHS_AND_DAYS:
            return False
        if token.is_emphasised or self.is_marked(token) or vocabulary.is_concept(word):
            return True
        # `Her tracker is Furnace. Furnace is a tracker.`
        is_name_elsewhere = token.is_initial and self.text[token.start : token.end] in self.names_inside
        if is_name_elsewhere or (token.is_capitalised and word in GIVEN_NAMES):
            return True
        before = self.text[max(0, token.start - _TITLE_MAX) : token.start].split()[-1:]
        if token.is_capitalised and before and before[0].endswith(".") and before[0][:-1].lower() in _TITLES:
            return True
        is_ordinary = vocabulary.is_common(word) or singular_of(word) in _LISTED_NOUNS
        return not is_ordinary and not (len(word) > 8 and word.endswith(_ABSTRACT_ENDINGS))


def read_passage(
    sentence: str, cues: Iterable[Cue], vocabulary: Vocabulary, names_inside: NamesInside | None = None
) -> Passage:
    """Tokenise a sentence, with its cues in lower case. ``names_inside`` are those of the whole text."""
    # In capitals ("Kvasir Is A Worker") a cue's words would be read as part of the name before them.
    pieces, at = [], 0
    for cue in cues:
        if cue.form.verb is not Verb.OPERATOR:
            pieces += [sentence[at : cue.start], sentence[cue.start : cue.end].lower()]
            at = cue.end
    text = "".join([*pieces, sentence[at:]])
    names_inside = names_inside or NamesInside(text)
    tokens: list[Token] = []
    for token in tokenise(text, names_inside):
        if token.parts and token.text.endswith("_i") and _THOUGHT.match(text, token.end):
            token = _without_pronoun(token)
        if token.is_initial and len(token.parts) > 1 and not vocabulary.is_concept(token.text):
            is_opened = opens_sentence(token.parts[0], token.parts[1:], vocabulary.is_common)
            if is_opened and text[token.start : token.end] not in names_inside:
                tokens += _split_opener(text, token)
                continue
        tokens.append(token)
    return Passage(text, tokens, [token.start for token in tokens], names_inside, vocabulary)


def _without_pronoun(token: Token) -> Token:
    """Remove the pronoun from `Husqvarna I` in `belongs to Husqvarna I think`."""
    rest = token.text.removesuffix("_i")
    parts = tuple(part for part in token.parts[:-1] if part != rest)
    return token._replace(text=rest, end=token.end - 2, parts=parts)


def opens_sentence(first: str, others: Iterable[str], is_common: Callable[[str], bool]) -> bool:
    """True if the first word of a name at the beginning of a sentence is not part of it: an ordinary word before words
    that are not."""
    return first not in _NAME_OPENERS and is_common(first) and not any(map(is_common, others))


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
    here = first = bisect_left(passage.starts, at)
    end, last = at, min(here + _REACH, len(passage.tokens))
    while first < last and _OPENING.match(passage.text[end : passage.starts[first]]):
        if passage.tokens[first].text not in ARTICLES | POSSESSIVES:
            break
        end, first = passage.tokens[first].end, first + 1
    else:
        return None
    units = _read_units(passage, range(first, last), stops)
    telling = [index for index in units if not is_descriptive(passage.tokens[index])]
    if not units or len(telling) > MAX_UNITS:  # a longer one is not taken for a phrase: its head is unclear
        return None
    head = passage.tokens[units[-1]]
    next_word = passage.word_after(units[-1])
    following = passage.tokens[units[-1] + 1] if next_word else None
    return Phrase(
        tokens=tuple(passage.tokens[index] for index in units),
        gaps=tuple(passage.text[passage.tokens[a].end : passage.tokens[b].start] for a, b in pairwise(units)),
        determiner=passage.tokens[first - 1].text if first > here else "",
        next_word=next_word,
        next_start=following.start if following else head.end,
        next_end=following.end if following else head.end,
        is_numbered=not next_word and _NOISE_AFTER.match(passage.text, head.end) is not None,
    )


def _read_units(passage: Passage, reach: range, stops: Container[int]) -> list[int]:
    """Return the indices of the tokens of the phrase at the beginning of ``reach``."""
    units: list[int] = []
    for index in reach:
        token = passage.tokens[index]
        follows_adjective = False
        if units:
            # Coordinated words may all describe the noun that follows: `a fast and small cache`.
            last = passage.tokens[units[-1]].text
            follows_adjective = is_adjective(last) or (last.endswith("ing") and last not in ING_NOUNS)
            gap = passage.gap_before(index)
            if gap == ". " and last in _TITLES:  # `Prof. Lindqvist`
                gap = " "
            if not (_WITHIN.match(gap) or (follows_adjective and _COMMA.match(gap))):
                break
        if follows_adjective and token.text in _COORDINATORS:
            continue
        is_grammar = is_closed_class(token.text) and passage.text[token.start : token.end] not in ("IT", "US")
        if is_grammar or token.start in stops or (units and _governs(passage, index)):
            break
        units.append(index)
    return units


def _governs(passage: Passage, index: int) -> bool:
    """True if the phrase ends before a token, because that is a participle or adverb of its own."""
    token = passage.tokens[index]
    word = token.text
    if token.is_capitalised:
        return False
    if word in _GOVERNING:
        return True
    following = passage.word_after(index)
    ends = not following or is_closed_class(following)
    if ends_like_adverb(word):
        return ends
    if not is_participle(word):
        return False
    if word.endswith("ing"):
        # A gerund is a noun after an adjective and before `of`: "a logical grouping of names".
        is_noun = following == "of" or is_adjective(passage.tokens[index - 1].text)
        return not is_noun and (is_closed_class(following) or is_plural(following))
    return ends or following in CLOSING_ADVERBS


def is_descriptive(token: Token) -> bool:
    """True if a word before a noun describes without telling kinds apart, or counts: `an old mail relay` is a mail
    relay, but a `virtual machine` is more specific than a machine."""
    word = token.text
    if token.is_capitalised and not token.is_initial:
        return False
    if word in _DESCRIPTIVE:
        return True
    if "-" in word:
        return word[0].isdigit() or is_adjective(word)
    return ends_like_adverb(word) or (is_participle(word) and not word.endswith("ing"))


def ends_like_adverb(word: str) -> bool:
    return len(word) > 4 and word.endswith("ly") and word not in _NOUNS_LIKE_ADJECTIVES


def is_adjective(word: str) -> bool:
    _, hyphen, tail = word.rpartition("-")
    if hyphen:
        return word in ADJECTIVES or is_participle(tail)
    is_spelled_so = len(word) > 4 and word.endswith(_ADJECTIVE_ENDINGS) and word not in _NOUNS_LIKE_ADJECTIVES
    return is_spelled_so or word in ADJECTIVES


def is_plural(word: str) -> bool:
    """True if an ordinary word is in the plural, or a verb in the third person, going by its last letters."""
    if word in IRREGULAR_PLURALS:
        return True
    return word.endswith("s") and not word.endswith(("ss", "us", "is")) and word not in _S_SINGULARS


def singular_of(word: str) -> str:
    """Return the singular of an ordinary word in the plural, and any other word as it is."""
    if word in IRREGULAR_PLURALS or not is_plural(word):
        return IRREGULAR_PLURALS.get(word, word)
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("sses", "shes", "ches", "xes", "zzes")) else word.removesuffix("s")


def is_name_called(passage: Passage, name: Token) -> bool:
    """True if a word after `a VM called` is a name: any word is, unless it is an adjective or adverb."""
    is_described = is_adjective(name.text) or name.text.endswith("ly")
    return passage.is_distinctive(name) or not is_described


def is_participle(word: str) -> bool:
    if word.endswith("ing"):
        return len(word) > 4 and word not in ING_NOUNS
    if word.endswith("ed"):
        return len(word) > 4 and word not in ED_NOUNS
    return word in _IRREGULAR_PARTICIPLES
