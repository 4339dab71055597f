"""Reads the subjects of a cue: the name directly before it, if the words before that name leave it the subject, or the
names of a list."""

import re
from bisect import bisect_left
from itertools import pairwise
from typing import Final

from memory.english.function_words import is_closed_class
from memory.english.statements.clauses import Clause, Subject, belongs_to_noun, governs_cue, is_kind, is_no_name
from memory.english.statements.modality import CLAUSE_BREAK
from memory.english.statements.naming import is_distinctive, is_marked
from memory.english.statements.noun_phrases import Passage, Phrase, Vocabulary, is_plural
from memory.english.statements.patterns import OPERATORS, Cue
from memory.english.tokenizer import Token
from memory.english.words import names, nouns, verbs

# An apposition ends with punctuation, or continues with a description; `Bruno, a cat and a dog` is a list.
_APPOSED_END: Final = re.compile(r"[*_\"'\u2019\u201d\x10]*(?:[.;:!)\u2013\u2014]|,(?!\s+(?:and|or|an?|the)\b)|\s*\Z)")
_DESCRIBED_BY: Final = frozenset({"in", "from", "for", "by", "with", "that", "which", "who", "on", "at", "of"})
_BESIDE: Final = re.compile(r"[\s*_\"'\u2019\u201d\x10]*\Z")
_COMMA: Final = re.compile(r"[*_\"'\u201d\x10]*,\s[\s*_\"'\u201c\x10]*\Z")
_REACH: Final = 40  # tokens before a cue; the bound keeps a long sentence linear
_CLAUSE_MAX: Final = 400  # characters, for the same reason
_MARKS: Final = " *_\"'\u201c\u201d\x10"
_JOINED: Final = (["and"], ["but"], ["so"], ["while"], ["yet"])


def read_subjects(
    passage: Passage,
    cue: Cue,
    *,
    clause_start: int,
    barrier: int,
    allows_initial: bool,
    vocabulary: Vocabulary,
) -> list[Subject]:
    """Return the subjects of a cue, in order: one, or those of a list if the cue is in the plural; none if there are
    none, or none that are distinctive. They come after `barrier`, the end of the last match. `allows_initial` also
    takes an ordinary word that has its capital only because it begins the sentence."""
    if cue.is_plural:
        return _read_list(passage, cue, barrier, vocabulary)
    tokens = _tokens_before(passage, cue, max(clause_start, barrier))
    if not tokens:
        return []
    takes_any = cue.form in OPERATORS
    clause = _find_name(
        passage, tokens, vocabulary, takes_any=takes_any, takes_initial=allows_initial and clause_start == 0
    )
    # A name directly after the last match, without a break or an `and`, belongs to that match.
    if clause is None:
        return []
    # `is a formatter for Go and inkwell is`: two nouns would be in the plural.
    is_joined = clause.lead[:1] in _JOINED or clause.lead[-1:] == ["and"]
    if not (takes_any or clause_start >= barrier or is_joined):
        return []
    return [clause.subject] if governs_cue(clause, cue, vocabulary) else []


def read_apposed(passage: Passage, cue: Cue, vocabulary: Vocabulary) -> list[Subject]:
    """Return the name directly before a mark: `Kvasir, our search service,`."""
    start = _clause_start(passage, cue.start, 0)
    tokens = _tokens_before(passage, cue, start)
    clause = _find_name(passage, tokens, vocabulary, takes_any=False, takes_initial=False) if tokens else None
    if (
        clause is None
        or is_no_name(clause)
        or (passage.text[cue.start] == "," and clause.lead[-1:] in (["or"], ["and"]))
        or is_kind(clause, cue, vocabulary)
        or belongs_to_noun(clause.lead)
    ):
        return []
    is_second = passage.text[:start].rstrip().endswith(",") and not clause.lead
    if is_second and passage.text[cue.start] == "," and passage.word_at(cue.start) in ("a", "an"):
        return []  # `a dog, Bruno, a cat`: a list
    return [clause.subject]


def _clause_start(passage: Passage, position: int, barrier: int) -> int:
    """Return where the clause around a position begins, as far back as any rule looks."""
    first = max(barrier, position - _CLAUSE_MAX)
    breaks = [found.end() for found in CLAUSE_BREAK.finditer(passage.text, first, position)]
    return breaks[-1] if breaks else first


def _read_list(passage: Passage, cue: Cue, barrier: int, vocabulary: Vocabulary) -> list[Subject]:
    """Return the names of `A, B and C` directly before a cue."""
    beside = _tokens_before(passage, cue, barrier)
    gaps = [passage.text[one.end : other.start] for one, other in pairwise(beside)]
    if len(beside) < 3 or beside[-2].text != "and" or any(gap.strip(f"{_MARKS},") for gap in gaps[-2:]):
        return []
    first = len(beside) - 3
    while first and _COMMA.match(gaps[first - 1]):
        first -= 1
    while first < len(beside) - 2 and not _is_listed(passage, beside[first], vocabulary):
        first += 1  # `in short, kvasir and odin are`
    named = [*beside[first:-2], beside[-1]]
    if len(named) < 2 or not all(_is_listed(passage, token, vocabulary) for token in named):
        return []
    start = _clause_start(passage, named[0].start, barrier)
    lead = [token for token in beside[:first] if token.start >= start and token.text != "both"]
    clause = Clause.of(passage, [*lead, named[0]], len(lead))
    if not governs_cue(clause, cue, vocabulary):
        return []
    return [Subject(token.text, token.start, token.end) for token in named]


def _is_listed(passage: Passage, token: Token, vocabulary: Vocabulary) -> bool:
    return len(token.text) > 1 and not is_closed_class(token.text) and is_distinctive(passage, token, vocabulary)


def _tokens_before(passage: Passage, cue: Cue, start: int) -> list[Token]:
    """Return the tokens of a clause before its cue, as far back as any rule looks, without adverbs beside the cue.
    Empty if anything but white space is between the last of them and the cue."""
    after = bisect_left(passage.starts, cue.start)
    first = bisect_left(passage.starts, start, max(0, after - _REACH), after)
    beside = cue.start
    while after > first and _BESIDE.match(passage.text[passage.tokens[after - 1].end : beside]):
        last = passage.tokens[after - 1]
        if cue.form in OPERATORS or last.text not in verbs.NEUTRAL_ADVERBS:
            return passage.tokens[first:after]
        after, beside = after - 1, last.start
    return []


def _find_name(
    passage: Passage, tokens: list[Token], vocabulary: Vocabulary, *, takes_any: bool, takes_initial: bool
) -> Clause | None:
    last = len(tokens) - 1
    noun = tokens[last]
    if is_closed_class(noun.text):
        return None
    named = None if takes_any else _find_name_before_noun(noun, passage, tokens, vocabulary)
    if named is not None and (noun.text in nouns.TRADE_NOUNS or named.is_marked):
        return named
    if takes_any or is_distinctive(passage, noun, vocabulary) or (takes_initial and last == 0 and noun.is_capitalised):
        return Clause.of(passage, tokens, last)
    return named


def _find_name_before_noun(noun: Token, passage: Passage, tokens: list[Token], vocabulary: Vocabulary) -> Clause | None:
    """Return the clause with the name directly before a common noun, if there is one."""
    if len(tokens) > 1 and is_marked(passage, tokens[-2]) and noun.text.isalpha() and noun.text.islower():
        return Clause.of(passage, tokens, len(tokens) - 2)
    if len(tokens) < 2 or noun.is_capitalised or is_plural(noun.text) or noun.text in nouns.RELATIONAL_NOUNS:
        return None
    name = tokens[-2]
    if passage.text[name.end : noun.start].strip(" *_\"'\x10") or is_closed_class(name.text):
        return None
    if name.text in names.PLACE_OPENERS:  # `the Berlin office`
        return None
    return Clause.of(passage, tokens, len(tokens) - 2) if is_distinctive(passage, name, vocabulary) else None


def ends_apposition(text: str, phrase: Phrase) -> bool:
    """True if an apposition ends where its phrase does, and is not an item of a list."""
    return phrase.next_word in _DESCRIBED_BY or _APPOSED_END.match(text, phrase.end) is not None
