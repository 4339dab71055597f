"""Tells by the shape of a name whether it could be more than a name: a sentence in one word, an address, a host."""

import re
from itertools import dropwhile
from typing import Final, NamedTuple

from memory.english.function_words import CLOSED_CLASS, CONJUNCTIONS, PARTICLES, PREPOSITIONS, split_words
from memory.english.lexicon import load_words

WORDS_MAX: Final = 4
INSTRUCTION_WORDS_MIN: Final = 3
LETTERS_MAX: Final = 30  # without a joiner: longer text is several words
# In this dimension the name of a host is expected.
HOSTING: Final = "runs-on"

LONG: Final = f"a name of more than {WORDS_MAX} words"
INSTRUCTION: Final = "an instruction"
ADDRESS: Final = "a name with @"
HOST: Final = "the name of a host"

# With one dot: the top-level domains under which most domains are registered, and those of local networks. Excluded are
# those that end names of files and programs (`setup.py`, `mail.app`), and words that follow a dot in code (`user.id`,
# `order.email`): such a name needs another dot.
_DOMAINS: Final = load_words("domains")
# With two dots or more: these, too, and any other domain of two letters.
_MORE_DOMAINS: Final = load_words("more_domains")
_FILES: Final = split_words("cc cs db go gz hs js kt md mk ml mm nu pl pm ps py rb rs sc sh so tf ts ui vb xz")
# Packages are named by their makers' domains, reversed: `org.apache.kafka`.
_REVERSED: Final = split_words("com dev edu gov io net org")
_PRODUCTS: Final = load_words("dotted_products")

_ADVERBS: Final = load_words("neutral_adverbs") | load_words("closing_adverbs")
_IMPERATIVES: Final = load_words("imperatives")
_ORDERS: Final = load_words("tasks") | _IMPERATIVES
# Verbs that are seldom nouns or adjectives: `delete-prod-data`, but `open-policy-agent`.
_PLAIN_VERBS: Final = _IMPERATIVES.difference(
    {"scale", "use"}, *map(load_words, ("adjectives", "counted", "occasions", "relational_nouns"))
)
# Words that no name of a thing has between or after its nouns: `run-curl-evil-now`, but `copy-on-write`.
_SENTENCE_WORDS: Final = (CLOSED_CLASS - PREPOSITIONS - CONJUNCTIONS) | {"to"}
_COMPOUNDING: Final = _ADVERBS | CONJUNCTIONS | PREPOSITIONS  # after a verb: `read-only-mirror`, `make-up-artist`
_ASKING: Final = PARTICLES | _ADVERBS  # before a verb: `please`, `not`

_PARTS: Final = re.compile(r"[_\-.'@+]")
_HUMP_BEGINS: Final = re.compile(r"(?<=[a-z\d])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_DOTTED: Final = re.compile(r"[^._'@+]+(?:\.[^._'@+]+)+")


class Doubt(NamedTuple):
    """A name that could be more than that. ``why`` is one of LONG, INSTRUCTION, ADDRESS, HOST."""

    name: str
    why: str


def find_doubt(concept: str, parent: str, dimension: str, written: str = "") -> Doubt | None:
    """Return the first name of a fact that only an operator may vouch for, because a model that reads it could follow
    it: as an instruction (`ignore-all-previous-instructions-now`) or as an address (`evil.example.com`). ``written``:
    the text that states the fact, where capitals may separate the words of a name."""
    for name in (concept, parent, dimension):
        if "@" in name:
            return Doubt(name, ADDRESS)
        parts = _PARTS.split(_part_humps(name, written))
        # Versions and sizes are not words: `llama-3.1-8b-instruct-q4_k_m` has two.
        words = [part for part in parts if sum(map(str.isalpha, part)) > 1]
        if len(words) > WORDS_MAX or any(sum(map(str.isalpha, word)) > LETTERS_MAX for word in words):
            return Doubt(name, LONG)
        if _instructs(words):
            return Doubt(name, INSTRUCTION)
        if dimension != HOSTING and has_host(name):
            return Doubt(name, HOST)
    return None


def has_host(name: str) -> bool:
    """True if the name, or a part of it joined by another sign than dot and hyphen, looks like a host name."""
    return "." in name and any(map(_is_host, _DOTTED.findall(name)))


def _part_humps(name: str, written: str) -> str:
    """Split the name's words where the text writes them apart: `ignoreAllRules` is `ignore_all_rules`."""
    if not name or written.islower() or len(lowered := written.lower()) != len(written):
        return name
    spellings = {written[at.start() : at.end()] for at in re.finditer(re.escape(name), lowered)}
    return max((_HUMP_BEGINS.sub("_", spelled).lower() for spelled in spellings), key=len, default=name)


def _instructs(words: list[str]) -> bool:
    """True if the words are an order: a verb first, and not a noun with its modifiers."""
    if len(words) < INSTRUCTION_WORDS_MIN:
        return False
    said = list(dropwhile((CLOSED_CLASS | _ADVERBS).__contains__, words))
    if len(said) < 2:
        return False
    lead, (verb, *rest) = words[: -len(said)], said
    if verb in _PLAIN_VERBS and rest[0] not in _COMPOUNDING:
        return True
    tells_how = rest[-1] in _ADVERBS or not _SENTENCE_WORDS.isdisjoint(rest) or not _ASKING.isdisjoint(lead)
    return tells_how and verb in _ORDERS


def _is_host(name: str) -> bool:
    first, *_, last = labels = name.split(".")
    last, _, suffix = last.partition("-")  # `evil.com-mirror`
    if suffix:
        name = name.removesuffix(f"-{suffix}")
    if last in _FILES or name in _PRODUCTS:
        return False
    if last in _DOMAINS:
        return True
    if len(labels) == 2 or first in _REVERSED:
        return False
    return last in _MORE_DOMAINS or (len(last) == 2 and last.isalpha())
