"""Finds the unknown names that a user may be asked about: names of their own, of which they speak in sentences. A model
already knows everything else, or has no use for it: ordinary words, technology, files, identifiers from code."""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Final

from memory.attribution.prose import find_identifiers, mask_all_but_prose
from memory.cache.state import Cache
from memory.english.frequent_words import FREQUENT
from memory.english.function_words import (
    AUXILIARIES,
    DEMONSTRATIVES,
    DETERMINERS,
    QUANTIFIERS,
    is_closed_class,
    split_words,
)
from memory.english.lexicon import load_words
from memory.english.noun_phrases import Passage, read_passage
from memory.english.sentences import SentenceFinder
from memory.english.tokenizer import NamesInside, find_words
from memory.questions import known_words

TEXT_MAX: Final = 65_536  # characters of a message
LETTERS_MIN: Final = 3
ACRONYM_MAX: Final = 4  # letters: a longer word in capitals is a name
SENTENCES_MAX: Final = 100  # that are read of a text: some 40 microseconds each
SENTENCE_MAX: Final = 1_000  # characters: nobody mentions a name in a longer one

_JOINTS: Final = re.compile(r"[_\-.'@+]")
_VERSION: Final = re.compile(r"[-_.]?v?\d[\d.]*\Z")
_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_CAMEL: Final = re.compile(r"[a-z\d][A-Z]")
_RUN: Final = re.compile(r"[^\W_]+")
# The signs around a name that is no part of a path, a call, a label, an option.
_BEFORE: Final = ("", *" \t\"'*_(\u201c\u2018\u2014\u2013\x10")
_AFTER: Final = re.compile(r"\Z|[ \t\"'*_)\u201d\u2019\u2014\u2013\x10,;!?\u2026]|\.(?![^\W_])")
_INDEFINITE: Final = frozenset({"a", "an"}) | QUANTIFIERS | DEMONSTRATIVES
_AMBIGUOUS_NAMES: Final = load_words("ambiguous_names")
_GIVEN_NAMES: Final = load_words("given_names")
_IMPERATIVES: Final = load_words("imperatives")
_MONTHS_AND_DAYS: Final = load_words("months_and_days")
_AFTER_NAMES: Final = AUXILIARIES | load_words("verbs_after_names")
# Affixes that derive words: `summarise` from summary, `redeploys` from deploy.
_ENDINGS: Final = split_words(
    "s es ed d ing er ers or ors ly able ible ness less ful ize izes ized izing ise ises ised ising ization isation "
    "ify ifies ified ification al ish y ies ment ments ability ity ation"
)
_BEGINNINGS: Final = split_words(
    "anti auto back co counter cross de dis down inter mis multi non out over post pre re self semi sub super un under "
    "up"
)
STEM_MIN: Final = 3  # letters


def read_spoken(cache: Cache, text: str) -> dict[str, str]:
    """Return the unknown names in the English sentences of a user's message that its code does not use for itself, each
    as it is written there."""
    text = text[:TEXT_MAX]
    prose = mask_all_but_prose(text)
    words = find_words(prose)
    unknown = {
        word
        for word in (words.tokens | words.emphasised) - cache.nameless
        if not cache.is_concept(word) and _may_be_asked(word, cache)
    }
    found: dict[str, str] = {}
    names_inside = NamesInside(prose)
    for sentence in islice(_iter_naming(prose, unknown), SENTENCES_MAX):
        passage = read_passage(sentence, (), cache, names_inside)
        if _is_english([token.text for token in passage.tokens], cache):
            found = _read_names(passage, unknown, cache) | found
    identifiers = find_identifiers(text) if found and prose != text else set()
    return {name: written for name, written in found.items() if name not in identifiers}


def _may_be_asked(token: str, cache: Cache) -> bool:
    """True if a word could, judging by itself, be a name of somebody's own."""
    letters = sum(map(str.isalpha, token))
    if letters < LETTERS_MIN or is_closed_class(token) or _is_ordinary(token, cache):
        return False
    if token in _GIVEN_NAMES or token in _AMBIGUOUS_NAMES or token in _MONTHS_AND_DAYS:
        return False
    # A name of several words has `_`; the others are addresses, files, modules: `nginx.conf`, `self.registry`.
    if any(sign in token for sign in ".@+"):
        return False
    stem = _VERSION.sub("", token)
    if stem != token and (len(stem) < LETTERS_MIN or _is_ordinary(stem, cache)):
        return False
    parts = _JOINTS.split(token)
    if parts[0] in _GIVEN_NAMES and "_" in token:
        return False
    if len(parts) > 1 and all(_is_ordinary(part, cache) for part in parts):
        # `web-0`, `GitHub Issue`: but `Glitch University` and `price-engine` may be names.
        return not any(part.isdigit() or ("_" in token and known_words.is_known(part)) for part in parts)
    return True


def _is_ordinary(word: str, cache: Cache) -> bool:
    return word.isdigit() or len(word) == 1 or _is_common(word, cache) or known_words.is_known(word)


def _is_common(word: str, cache: Cache) -> bool:
    return cache.is_common(word) or word in FREQUENT  # a new cache has no dictionary yet


def _iter_naming(prose: str, tokens: Collection[str]) -> Iterator[str]:
    """Yield the sentences that may contain one of the tokens."""
    runs = {run[0] for run in map(_RUN.search, tokens) if run is not None}
    for line in prose.split("\n") if runs else ():
        for start, end, _ in SentenceFinder(line):
            sentence = line[start:end]
            if len(sentence) <= SENTENCE_MAX and not runs.isdisjoint(_RUN.findall(sentence.lower())):
                yield sentence


def _is_english(words: Sequence[str], cache: Cache) -> bool:
    """True if half of the words beside a name are known, and more are English grammar than that of other languages."""
    grammar = sum(map(is_closed_class, words)) + any(word in _IMPERATIVES for word in words[:1])
    ordinary = sum(is_closed_class(word) or _is_ordinary(word, cache) for word in words)
    return grammar > sum(map(known_words.is_foreign, words)) and 2 * ordinary >= len(words) - 1


def _read_names(passage: Passage, tokens: Collection[str], cache: Cache) -> dict[str, str]:
    found: dict[str, str] = {}
    for at, token in enumerate(passage.tokens):
        stands_alone = passage.text[token.start - 1 : token.start] in _BEFORE and _AFTER.match(passage.text, token.end)
        if token.text in tokens and stands_alone:
            written = passage.text[token.start : token.end].removesuffix("'s").removesuffix("\u2019s")
            if _is_written_as_name(written, passage, at, cache):
                found.setdefault(token.text, written)
    return found


def _is_written_as_name(written: str, passage: Passage, at: int, cache: Cache) -> bool:
    token, before = passage.tokens[at], passage.tokens[at - 1].text if at else ""
    is_ordinary = all(_is_ordinary(part, cache) for part in _JOINTS.split(token.text))
    if "_" in written:
        return False
    if " " in written:
        return not (is_ordinary and token.is_initial)  # `Thread Safety` may be a heading
    if is_ordinary:
        # Ordinary words with hyphens are hardly ever a name, unless marked as one, or before a verb without an article.
        return passage.is_marked(token) or (before not in DETERMINERS and passage.word_after(at) in _AFTER_NAMES)
    if written.isupper():
        return sum(map(str.isalpha, written)) > ACRONYM_MAX
    if _CAMEL.search(written):  # `useBasketTotals`, `CartDrawer`; but `DissoBench` is no English
        humps = [hump.lower() for hump in _HUMP.findall(written)]
        return written[0].isupper() and not all(_is_ordinary(hump, cache) for hump in humps)
    if token.is_capitalised and not token.is_initial:
        return True
    return before not in _INDEFINITE and not _is_english_word(token.text, cache)  # `a zorblat` is a kind of thing


def _is_english_word(word: str, cache: Cache) -> bool:
    """True if a lower-case word is English, or derived or composed from English words."""

    def is_listed(stem: str) -> bool:
        return len(stem) >= STEM_MIN and (_is_ordinary(stem, cache) or known_words.is_rare_english(stem))

    # `debounced` of debounce, `mutexes`, `retrying`, `flattening`, `stopper`.
    endings = (word.removesuffix(ending) for ending in _ENDINGS if word.endswith(ending))
    for stem in (*endings, *(word.removeprefix(start) for start in _BEGINNINGS if word.startswith(start))):
        doubled = stem[:-1] if stem[-2:-1] == stem[-1:] else stem
        if any(map(is_listed, (stem, f"{stem}e", f"{stem}y", doubled))):
            return True
    # A compound of two words: `changefeed`, `scrollspy`.
    halves = ((word[:at], word[at:]) for at in range(STEM_MIN + 1, len(word) - STEM_MIN))
    return is_listed(word) or any(_is_common(one, cache) and _is_common(other, cache) for one, other in halves)
