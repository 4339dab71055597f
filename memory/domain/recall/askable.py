"""Finds the unknown names that a user may be asked about: names of their own, of which they speak in sentences. A model
already knows everything else, or has no use for it: ordinary words, technology, files, identifiers from code."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, Protocol

from memory.domain.cues.naming import is_marked, is_ordinary_noun
from memory.domain.cues.noun_phrases import Passage, Vocabulary, is_adjective, is_participle, is_plural, read_passage
from memory.domain.language.english import names, verbs
from memory.domain.text.frequent_words import FREQUENT
from memory.domain.text.function_words import (
    ARTICLES,
    AUXILIARIES,
    DEMONSTRATIVES,
    DETERMINERS,
    PREPOSITIONS,
    PRONOUNS,
    QUANTIFIERS,
    is_closed_class,
    split_words,
)
from memory.domain.text.sentences import MASK, SentenceFinder
from memory.domain.text.tokenizer import NamesInside, Token

LETTERS_MIN: Final = 3
ACRONYM_MAX: Final = 4  # letters: a longer word in capitals is a name
SENTENCES_MAX: Final = 3  # that are read for one name
SENTENCE_MAX: Final = 1_000  # characters: nobody mentions a name in a longer one, and each name costs reading it
COMMON_SHARE: Final = 0.5  # of a sentence's other words

_JOINTS: Final = re.compile(r"[_\-.'@+]")
_IN_CODE_ONLY: Final = re.compile(r"[_.@+]")
_VERSION: Final = re.compile(r"[-_.]?v?\d[\d.]*\Z")
_HUMP: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_CAMEL: Final = re.compile(r"[a-z\d][A-Z]")
_BEFORE: Final = frozenset(" \t\n\"'*_(\u201c\u2018\u2014\u2013\x10")
_AFTER: Final = frozenset(" \t\n\"'*_)\u201d\u2019\u2014\u2013\x10.,:;!?\u2026")
_BETWEEN: Final = " \t*_\"'\u201c\u201d\u2018\u2019\x10"
_NUMBER: Final = re.compile(r"\s+\d")
_RUN: Final = re.compile(r"[^\W_]+")
# Affixes that derive words: `summarise` from summary, `redeploys` from deploy.
_ENDINGS: Final = split_words(
    "s es ed d ing er ers or ors ly able ible ness less ful ize izes ized izing ise ises ised ising ization isation "
    "ify ifies ified ification al ish y ies ment ments ability"
)
_BEGINNINGS: Final = split_words(
    "anti auto back co counter cross de dis down inter mis multi non out over post pre re self semi sub super un under "
    "up"
)
_STEM_MIN: Final = 3  # letters
_PARTICLES: Final = split_words("around away back by down in off on out over through to together under up")
_GREETINGS: Final = split_words(
    "best cheers ciao dear goodbye greetings hallo hello hey hi howdy kind love morning regards sincerely thank thanks "
    "thx yo yours"
)
# After these, a word before an article is a verb: `please flurb the list`.
_BEFORE_VERBS: Final = AUXILIARIES | PRONOUNS | split_words("to please not never just then and or also let's don't")
_INDEFINITE: Final = frozenset({"a", "an"}) | QUANTIFIERS | DEMONSTRATIVES


class KnownWords(Protocol):
    """The words that every model knows (memory/known_words)."""

    def is_known(self, token: str) -> bool: ...

    def is_rare_english(self, word: str) -> bool: ...

    def is_foreign(self, word: str) -> bool: ...


def may_be_asked(token: str, vocabulary: Vocabulary, known: KnownWords) -> bool:
    """True if a word could, judging by itself, be a name of somebody's own."""
    letters = sum(map(str.isalpha, token))
    if letters < LETTERS_MIN or is_closed_class(token) or _is_common(token, vocabulary) or known.is_known(token):
        return False
    if token in names.GIVEN_NAMES or token in names.AMBIGUOUS_NAMES or token in names.MONTHS_AND_DAYS:
        return False
    # A name of several words has `_`; the others are addresses, files, modules: `nginx.conf`, `self.registry`.
    if any(sign in token for sign in ".@+"):
        return False
    stem = _VERSION.sub("", token)
    if stem != token and (known.is_known(stem) or _is_common(stem, vocabulary) or len(stem) < LETTERS_MIN):
        return False
    parts = _JOINTS.split(token)
    if parts[0] in names.GIVEN_NAMES and "_" in token:
        return False
    if len(parts) > 1 and all(_is_ordinary(part, vocabulary, known) for part in parts):
        # `web-0`, `GitHub Issue`: but `Glitch University` and `price-engine` may be names.
        return not any(part.isdigit() or ("_" in token and known.is_known(part)) for part in parts)
    return True


def _is_ordinary(word: str, vocabulary: Vocabulary, known: KnownWords) -> bool:
    return word.isdigit() or len(word) == 1 or _is_common(word, vocabulary) or known.is_known(word)


def _is_common(word: str, vocabulary: Vocabulary) -> bool:
    return vocabulary.is_common(word) or word in FREQUENT  # a vocabulary may have no dictionary (yet)


class _Counts(NamedTuple):
    """The numbers of words that are grammar, function words of another language, or known to everybody."""

    grammar: int
    foreign: int
    common: int


@dataclass(slots=True)
class _NamingSentence:
    """A sentence that contains names, often several."""

    passage: Passage
    counts: _Counts | None = None  # of its words, computed on demand


def find_spoken_of(prose: str, tokens: Collection[str], vocabulary: Vocabulary, known: KnownWords) -> dict[str, str]:
    """Return those of the tokens that are the subject or object of a sentence, each as it is written there. ``prose``
    is a text with everything else masked."""
    found: dict[str, str] = {}
    tries = dict.fromkeys(tokens, SENTENCES_MAX)
    runs = {token: _RUN.search(token) for token in tokens}
    missing = {token: run[0] for token, run in runs.items() if run is not None}
    names_inside = NamesInside(prose)
    for line in prose.split("\n"):
        if not missing:
            break
        lowered = line.lower()
        here = [token for token, run in missing.items() if run in lowered]
        finder = SentenceFinder(line) if here else None
        sentences: dict[str, _NamingSentence] = {}  # each is read once
        for token in here:
            for text in _sentences_naming(finder, line, lowered, missing[token]):
                tries[token] -= 1
                if (sentence := sentences.get(text)) is None:
                    sentence = sentences[text] = _NamingSentence(read_passage(text, (), vocabulary, names_inside))
                if written := _find_in(sentence, token, vocabulary, known):
                    found[token] = written
                    break
            if token in found or tries[token] <= 0:
                del missing[token]
    return found


def _sentences_naming(finder: SentenceFinder | None, line: str, lowered: str, run: str) -> list[str]:
    """Return the first sentences of a line that contain a run of letters."""
    if finder is None or len(lowered) != len(line):
        return []  # one letter of Unicode becomes two
    sentences, at = list[str](), 0
    while len(sentences) < SENTENCES_MAX and (at := lowered.find(run, at)) >= 0:
        sentence = finder.sentence_at(at)
        if sentence.end - sentence.start <= SENTENCE_MAX:
            sentences.append(line[sentence.start : sentence.end])
        at = max(sentence.end, at + 1)
    return sentences


def _find_in(sentence: _NamingSentence, name: str, vocabulary: Vocabulary, known: KnownWords) -> str:
    """Return the name as the sentence writes it, if it is its subject or object; otherwise ""."""
    passage = sentence.passage
    for index, token in enumerate(passage.tokens):
        if token.text == name:
            written = passage.text[token.start : token.end].removesuffix("'s").removesuffix("\u2019s")
            if (
                _stands_free(passage, token)
                and _is_written_as_name(written, token, vocabulary, known)
                and _reads_as_english(sentence, index, vocabulary, known)
                and _is_subject_or_object(passage, index, vocabulary, known)
            ):
                return written
    return ""


def _stands_free(passage: Passage, token: Token) -> bool:
    """True if it is not part of a path, a call, a label, an option."""
    text = passage.text
    before, after = text[token.start - 1 : token.start], text[token.end : token.end + 1]
    if (before and before not in _BEFORE) or (after and after not in _AFTER):
        return False
    if after == ":":  # `kvasir:8080`, `kvasir: connection refused`
        return bool(text[: token.start].strip(_BETWEEN)) and text[token.end + 1 : token.end + 2] in ("", " ")
    return after != "." or not text[token.end + 1 : token.end + 2].isalnum()


def _is_written_as_name(written: str, token: Token, vocabulary: Vocabulary, known: KnownWords) -> bool:
    words = written.split(" ")
    if any(_IN_CODE_ONLY.search(word) for word in words):
        return False
    if len(words) > 1:
        return True
    if written.isupper():
        return sum(map(str.isalpha, written)) > ACRONYM_MAX
    if _CAMEL.search(written):  # `useBasketTotals`, `CartDrawer`; but `DissoBench` is no English
        humps = [hump.lower() for hump in _HUMP.findall(written)]
        return written[0].isupper() and not all(_is_ordinary(hump, vocabulary, known) for hump in humps)
    if written[0].isupper() and not token.is_initial:
        return True
    return not _is_english_word(token.text, vocabulary, known)


def _is_english_word(word: str, vocabulary: Vocabulary, known: KnownWords) -> bool:
    """True if a lower-case word is English, or derived or composed from English words."""
    if not word.isalpha():
        return False

    def is_english(stem: str) -> bool:
        return len(stem) >= _STEM_MIN and (_is_ordinary(stem, vocabulary, known) or known.is_rare_english(stem))

    if is_english(word) or is_ordinary_noun(word, vocabulary):
        return True
    stems = [word.removesuffix(ending) for ending in _ENDINGS if word.endswith(ending)]
    # `debounced` of debounce, `mutexes`, `retrying`, `flattening`, `stopper`.
    for stem in (*stems, *(word.removeprefix(start) for start in _BEGINNINGS if word.startswith(start))):
        doubled = stem[:-1] if stem[-2:-1] == stem[-1:] else stem
        if any(map(is_english, (stem, f"{stem}e", f"{stem}y", doubled))):
            return True
    # A compound of two words: `changefeed`, `scrollspy`.
    return any(
        len(word) - at > _STEM_MIN and _is_common(word[:at], vocabulary) and _is_common(word[at:], vocabulary)
        for at in range(_STEM_MIN + 1, len(word) - _STEM_MIN)
    )


def _reads_as_english(sentence: _NamingSentence, at: int, vocabulary: Vocabulary, known: KnownWords) -> bool:
    """True if the sentence reads as English without the name."""
    tokens = sentence.passage.tokens
    counts = sentence.counts = sentence.counts or _count_words(tokens, vocabulary, known)
    name = _count_words(tokens[at : at + 1], vocabulary, known)
    grammar = counts.grammar - name.grammar
    common = counts.common - name.common
    grammar += at > 0 and tokens[0].text in verbs.IMPERATIVES
    return grammar > 0 and counts.foreign - name.foreign < grammar and common >= COMMON_SHARE * (len(tokens) - 1)


def _count_words(tokens: Sequence[Token], vocabulary: Vocabulary, known: KnownWords) -> _Counts:
    words = [token.text for token in tokens]
    others = [word for word in words if not is_closed_class(word)]
    ordinary = sum(_is_ordinary(word, vocabulary, known) for word in others)
    grammar = len(words) - len(others)
    return _Counts(grammar, sum(map(known.is_foreign, words)), grammar + ordinary)


def _is_subject_or_object(passage: Passage, at: int, vocabulary: Vocabulary, known: KnownWords) -> bool:
    token = passage.tokens[at]
    before = [passage.tokens[index].text for index in range(max(0, at - 3), at)]
    gap = passage.text[passage.tokens[at - 1].end : token.start] if at else ""
    is_adjacent = at > 0 and not gap.strip(_BETWEEN) and MASK not in gap
    previous = before[-1] if is_adjacent else ""
    following = passage.word_after(at)
    if at <= 3 and passage.tokens[0].text in _GREETINGS and all(word not in PREPOSITIONS for word in before[1:]):
        return False  # `Hi Kowalczyk,`
    is_small = not token.is_capitalised
    if is_small and previous in _BEFORE_VERBS and following in (ARTICLES | PRONOUNS | DETERMINERS):
        return False
    while before and is_adjacent and (is_adjective(before[-1]) or is_participle(before[-1])):
        before.pop()
    is_noun_after = bool(following) and not is_closed_class(following) and _is_common(following, vocabulary)
    if before and is_adjacent and before[-1] in _INDEFINITE and not is_noun_after:
        return False  # a kind of thing: `a zorblat`
    if is_small and is_plural(token.text) and known.is_rare_english(token.text[:-1]):
        return False
    parts = _JOINTS.split(token.text)
    if len(parts) == 1 or not all(_is_ordinary(part, vocabulary, known) for part in parts):
        return True
    if "_" in token.text:  # `Thread Safety` may be a heading
        return not token.is_initial
    # Ordinary words with hyphens are hardly ever a name: only if marked as one, or if a noun would have an article.
    if is_marked(passage, token):
        return True
    is_descriptive = is_adjective(token.text) or parts[-1] in _PARTICLES or is_participle(parts[-1])
    has_article = bool(before) and is_adjacent and before[-1] in DETERMINERS
    return not (is_descriptive or has_article) and (following in AUXILIARIES or _is_verb(passage, at + 1))


def _is_verb(passage: Passage, at: int) -> bool:
    """True if a verb, not a noun, follows the name: `price-engine returns an error`."""
    if at >= len(passage.tokens):
        return False
    word, following = passage.tokens[at].text, passage.word_after(at)
    has_object = (
        following in DETERMINERS or following in PRONOUNS or bool(_NUMBER.match(passage.text, passage.tokens[at].end))
    )
    return word in verbs.VERBS_AFTER_NAMES or (is_plural(word) and has_object)
