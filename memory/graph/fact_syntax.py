"""Parses the language of ``gutask iknowthat``: ``<concept> -isa|-ispart <parent> [in context of <dimension>]``, and
facts as the pages show them: ``mimir runs on tyr``. Also says what cannot be a fact, whoever states it."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from memory.english.function_words import is_closed_class
from memory.english.lexicon import load_words
from memory.english.phrases import VERBS
from memory.english.tokenizer import find_leftovers, is_name, tokenise
from memory.types import MEMBERSHIP, TYPE, Triple

HINT = "write: <concept> -isa|-ispart <parent> [in context of <dimension>]"
PROSE = f"{HINT}; any other sentence goes to POST /memory (gutask remember)"
ONE_NAME = 'a name of several words is quoted ("glitch university") or capitalised (Glitch University)'

A_NAME = "a name is letters and digits, joined by _ - . ' @ or +, 64 at most, and no number alone"
A_THIRD = "name a third concept as the dimension"
A_NOUN = 'name a thing, or write a name of several words: "the project"'
AROUND = " .,;:!?'\u2019`"

_WORD = re.compile(r'"[^"]*"|\S+')
# A fact as memory.english.phrases phrases it: up to its parent; then what follows that. No part may backtrack over
# many blanks: prompts wait while it is read.
_SHOWN = re.compile(
    rf"(?P<concept>.*?\S)\s++(?P<relation>is an?|has|{'|'.join(VERBS.values())})\s++(?:(?:an?|the)\s++)?", re.IGNORECASE
)
_SHOWN_DIMENSION = re.compile(
    r"\[(?P<dimension>[^\[\]]+)\]\Z|\bin (?:the )?context of (?P<context>.+)\Z|\bas its (?P<value>.+)\Z",
    re.IGNORECASE | re.DOTALL,
)
_NOT_IN_PARENTS = frozenset(",;:!?()[]")
_DIMENSIONS = {verb: dimension for dimension, verb in VERBS.items()}
_NOT_IN_NAMES = load_words("neutral_adverbs") | load_words("closing_adverbs")
PARENT_WORDS_MAX = 3
_CONTEXT = re.compile(r"\sin\s+context\s+of\s", re.IGNORECASE)
_RELATIONS = {"-isa": True, "-ispart": False, "isa": True, "ispart": False}


class FactMistake(ValueError):
    """The text is not a fact."""

    def __init__(self, message: str, position: int, hint: str = HINT) -> None:
        super().__init__(message)
        self.position = position  # of the character at which the mistake shows, from 0
        self.hint = hint


class FactToForget(NamedTuple):
    """A concept or fact to be forgotten. ``fact`` is None if everything known of the concept is meant;
    ``names_dimension``: false if the dimension is the usual one."""

    concept: str
    fact: Triple | None = None
    names_dimension: bool = False


class _Word(NamedTuple):
    text: str
    start: int


def parse_fact(text: str) -> Triple:
    """Parse the fact that the text states. Raises FactMistake."""
    words = [_Word(match.group(), match.start()) for match in _WORD.finditer(text)]
    if not words:
        raise FactMistake("the fact is empty", 0)
    at = next((i for i, word in enumerate(words) if word.text.lower() in ("-isa", "-ispart")), None)
    if at is None:  # without the dash only in capitals: a concept may be called isa
        at = next((i for i, word in enumerate(words) if word.text in ("ISA", "ISPART")), None)
    if at is None:
        return _parse_shown(text)
    is_isa = _RELATIONS[words[at].text.lower()]
    parent, dimension = _split_context(words[at + 1 :])
    after_relation = words[at].start + len(words[at].text)
    default = TYPE if is_isa else MEMBERSHIP
    fact = Triple(
        concept=_name(words[:at], "concept", words[at].start),
        parent=_name(parent, "parent", after_relation),
        dimension=default if dimension is None else _name(dimension, "dimension", len(text.rstrip())),
        is_isa=is_isa,
    )
    _refuse_circles(fact, words[at + 1].start)
    return fact


def _parse_shown(text: str) -> Triple:
    """Parse a fact in the words in which facts are shown, each name as it is typed."""
    start = len(text) - len(text.lstrip())
    end = len(text)
    while end > start and (text[end - 1] == "." or text[end - 1].isspace()):
        end -= 1
    found = _SHOWN.match(text, start, end)
    if found is None:
        raise FactMistake("there is no -isa or -ispart", len(text.rstrip()), PROSE)
    at = found.end()
    named = _SHOWN_DIMENSION.search(text, at, end)
    shown = text[at : named.start() if named is not None else end]
    parent = [token.text for token in tokenise(shown)] if _NOT_IN_PARENTS.isdisjoint(shown) else []
    relation = found["relation"].lower()
    dimension = (named["dimension"] or named["context"] or named["value"]) if named is not None else ""
    if not _is_value(parent) or (relation == "has") != bool(named is not None and named["value"]):
        raise FactMistake("there is no -isa or -ispart", len(text.rstrip()), PROSE)
    usual = _DIMENSIONS.get(relation, TYPE)
    fact = Triple(
        concept=_name([_Word(found["concept"], start)], "concept", start),
        parent=_name([_Word(f'"{shown.strip(AROUND)}"', at)], "parent", at),
        dimension=_name([_Word(dimension, start)], "dimension", start) if dimension else usual,
        is_isa=relation not in _DIMENSIONS,
    )
    _refuse_circles(fact, at)
    return fact


def parse_concept(text: str) -> str:
    """Parse a whole text as one concept, of however many words. Raises FactMistake."""
    return _name([_Word(f'"{text.strip()}"', 0)], "concept", 0)


def parse_forgotten(text: str) -> FactToForget | None:
    """Parse what is to be forgotten: a concept with all its facts, or one fact; None for a sentence. Raises
    FactMistake."""
    words = [_Word(match.group(), match.start()) for match in _WORD.finditer(text)]
    has_relation = any(word.text.lower() in ("-isa", "-ispart") for word in words)
    if not has_relation:
        try:
            return FactToForget(_name(words, "concept", 0))
        except FactMistake:
            if len(words) < 2:
                raise
    try:
        fact = parse_fact(text)
    except FactMistake:
        if has_relation:
            raise
        return None
    return FactToForget(fact.concept, fact, names_dimension=not has_relation or _CONTEXT.search(text) is not None)


def _split_context(words: list[_Word]) -> tuple[list[_Word], list[_Word] | None]:
    for i in range(len(words) - 2):
        if [word.text.lower() for word in words[i : i + 3]] == ["in", "context", "of"]:
            return words[:i], words[i + 3 :]
    return words, None


def _name(words: list[_Word], role: str, position: int) -> str:
    """Return the one token that the words name."""
    if not words:
        raise FactMistake(f"the {role} is missing", position)
    quoted = len(words) == 1 and words[0].text.startswith('"')
    text = words[0].text.strip('"') if quoted else " ".join(word.text for word in words)
    is_one = quoted or (role == "parent" and _is_value([word.text.lower() for word in words]))
    # A number is part of a value that has a unit: 4.8 kg.
    tokens = tokenise("_".join(text.split()) if is_one and any(map(str.isdigit, text)) else text)
    if not tokens or "".join(find_leftovers(text, tokens)).strip(AROUND):
        raise FactMistake(f"{text!r} cannot be a {role}", words[0].start, A_NAME)
    if len(tokens) > 1 and not is_one:
        raise FactMistake(f"{text!r} is more than one name", words[0].start, ONE_NAME)
    name = "_".join(token.text for token in tokens)
    if not is_name(name):
        raise FactMistake(f"{text!r} cannot be a {role}", words[0].start, A_NAME)
    if role != "parent" and (mistake := find_name_mistake(name)):
        raise FactMistake(mistake, words[0].start, A_NOUN)
    return name


def _is_value(words: Sequence[str]) -> bool:
    """True if unquoted lower-case words are one name. Longer ones, and those with words that occur in no name, are
    sentences, which are read where a user says them."""
    return 0 < len(words) <= PARENT_WORDS_MAX and not any(is_closed_class(t) or t in _NOT_IN_NAMES for t in words)


def _refuse_circles(fact: Triple, position: int) -> None:
    if mistake := _find_circle(fact):
        raise FactMistake(mistake, position, HINT if fact.concept == fact.parent else A_THIRD)


def _find_circle(fact: Triple) -> str:
    if fact.concept == fact.parent:
        return f"{fact.concept} cannot be its own parent"
    return f"{fact.dimension} cannot be its own dimension" if fact.dimension in (fact.concept, fact.parent) else ""


def find_mistake(fact: Triple) -> str:
    """Return what is wrong with the fact in itself; "" if nothing is."""
    # A fact about a function word would be in every prompt. A parent may be one: IT and US lose their capitals.
    for mistake in map(find_name_mistake, (fact.concept, fact.dimension)):
        if mistake:
            return mistake
    if not is_name(fact.parent):
        return f"{fact.parent!r} is not a name"
    return _find_circle(fact)


def find_name_mistake(word: str) -> str:
    """Return why no fact can be about this word; "" if it can be a name."""
    if not is_name(word):
        return f"{word!r} is not a name"
    return f"{word!r} is a function word, not a name" if is_closed_class(word) else ""
