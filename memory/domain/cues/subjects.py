"""Reads the subject of a cue: the name directly before it, if the words before that name leave it the subject."""

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import Final, Protocol

from memory.domain.cues import lexicon
from memory.domain.cues.noun_phrases import Passage, is_adjective, is_participle, is_plural
from memory.domain.cues.patterns import NOTES, OPERATORS, Cue
from memory.domain.text.function_words import (
    AUXILIARIES,
    DETERMINERS,
    PREPOSITIONS,
    QUANTIFIERS,
    WH_WORDS,
    is_closed_class,
    split_words,
)
from memory.domain.text.tokenizer import Token

CLAUSE_BREAK: Final = re.compile(
    r"[,;:)|\x1a\u2013\u2014]|(?<!\bif )\(|\s--?\s|\b(?:but|because|since|although|though|whereas)\b", re.IGNORECASE
)
_BESIDE: Final = re.compile(r"[\s*_\"'\u2019\u201d]*\Z")
_REACH: Final = 40  # tokens before a cue; the bound keeps a long sentence linear
# They speak of any or of all of a kind: no name follows them.
_INDEFINITE: Final = frozenset({"a", "an"}) | QUANTIFIERS
# `according to Ada`: prepositions of two words.
_HALF_PREPOSITIONS: Final = split_words("according based depending due prior regarding starting thanks")
# `it turns out kvasir`: part of the verb.
_PARTICLES: Final = split_words("down off out up")
_JOINED: Final = (["and"], ["but"], ["so"], ["while"], ["yet"])
_COMPLEMENTIZER: Final = "that"
_SUBJECT_PRONOUNS: Final = split_words("i you he she it we they who")
# `$HOME`, `--verbose`, `<name>`: not the thing of that name. Of a path, only the last part would be left.
_SIGIL: Final = re.compile(r"(?:[$%=&<~\\\-#]|(?:^|\s)[.~]?/[^\s]*)\Z")

_PLURAL_ACRONYM: Final = re.compile(r"[A-Z]{2,}s\Z")
_LONGEST_PATH: Final = 256  # characters


class Vocabulary(Protocol):
    """What the cues need to know about words."""

    def is_common(self, token: str) -> bool:
        """Whether it is an ordinary English word."""

    def is_concept(self, token: str) -> bool:
        """Whether something is already known about it."""


@dataclass(frozen=True, slots=True)
class Subject:
    concept: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause up to its cue."""

    text: str  # of the sentence
    name: Token
    written: str  # the name as it is written
    lead: list[str]  # the words before it
    lead_end: int  # where the last of them ends; without any, where the name begins
    is_acronym: bool
    names_a_noun: bool  # whether a common noun follows the name: `the kvasir service`

    @classmethod
    def of(cls, text: str, tokens: list[Token], name_at: int) -> "_Clause":
        name, lead = tokens[name_at], tokens[:name_at]
        written = text[name.start : name.end]
        return cls(
            text,
            name,
            written,
            [token.text for token in lead],
            lead[-1].end if lead else name.start,
            is_acronym=written.isupper() and written.isalpha(),
            names_a_noun=name_at < len(tokens) - 1,
        )


def read_subject(
    passage: Passage, cue: Cue, *, clause_start: int, barrier: int, allows_initial: bool, vocabulary: Vocabulary
) -> Subject | None:
    """The subject of a cue; None if there is none, or none that is distinctive. It stands after `barrier`, the
    end of the last match. `allows_initial` also takes an ordinary word that has its capital only from beginning the
    sentence."""
    tokens = _tokens_before(passage, cue, max(clause_start, barrier))
    if not tokens:
        return None
    takes_any = cue.form in OPERATORS
    clause = _find_name(
        passage.text, tokens, vocabulary, takes_any=takes_any, takes_initial=allows_initial and clause_start == 0
    )
    # What directly follows the last match, without a break or an `and`, belongs to that.
    if clause is None or not (takes_any or clause_start >= barrier or clause.lead[:1] in _JOINED):
        return None
    name = clause.name
    return Subject(name.text, name.start, name.end) if _governs_cue(clause, cue, vocabulary) else None


def _tokens_before(passage: Passage, cue: Cue, start: int) -> list[Token]:
    """The tokens of a clause before its cue, as far back as any rule looks, adverbs beside the cue left out. Empty if
    anything but white space stands between the last of them and the cue."""
    after = bisect_left(passage.starts, cue.start)
    first = bisect_left(passage.starts, start, max(0, after - _REACH), after)
    beside = cue.start
    while after > first and _BESIDE.match(passage.text[passage.tokens[after - 1].end : beside]):
        last = passage.tokens[after - 1]
        if cue.form in OPERATORS or last.text not in lexicon.NEUTRAL_ADVERBS:
            return passage.tokens[first:after]
        after, beside = after - 1, last.start
    return []


def _find_name(
    text: str, tokens: list[Token], vocabulary: Vocabulary, *, takes_any: bool, takes_initial: bool
) -> _Clause | None:
    last = len(tokens) - 1
    noun = tokens[last]
    if is_closed_class(noun.text):
        return None
    named = None if takes_any else _find_name_before_noun(noun, text, tokens, vocabulary)
    if named is not None and noun.text in lexicon.TRADE_NOUNS:
        return named
    if takes_any or _is_distinctive(noun, vocabulary) or (takes_initial and last == 0 and noun.is_capitalised):
        return _Clause.of(text, tokens, last)
    return named


def _find_name_before_noun(noun: Token, text: str, tokens: list[Token], vocabulary: Vocabulary) -> _Clause | None:
    """The clause with the name that stands directly before a common noun, if one does."""
    if len(tokens) < 2 or noun.is_capitalised or is_plural(noun.text) or noun.text in lexicon.RELATIONAL_NOUNS:
        return None
    name = tokens[-2]
    if text[name.end : noun.start].strip(" *_\"'") or is_closed_class(name.text):
        return None
    return _Clause.of(text, tokens, len(tokens) - 2) if _is_distinctive(name, vocabulary) else None


def _is_distinctive(token: Token, vocabulary: Vocabulary) -> bool:
    is_ordinary = token.text in lexicon.RELATIONAL_NOUNS or vocabulary.is_common(token.text)
    return token.is_emphasised or not is_ordinary or vocabulary.is_concept(token.text)


def _governs_cue(clause: _Clause, cue: Cue, vocabulary: Vocabulary) -> bool:
    """Whether the name is what the cue speaks of, and not a kind of thing or an object of something before it."""
    lead = clause.lead
    if cue.form in OPERATORS:
        # "the RISC-V ISA" is the acronym: a determiner belongs to the name, unless grammar stands between.
        grammar = next((word for word in reversed(lead) if is_closed_class(word)), _COMPLEMENTIZER)
        return grammar not in DETERMINERS or grammar == _COMPLEMENTIZER
    start = clause.name.start
    follows_sigil = _SIGIL.search(clause.text, max(0, start - _LONGEST_PATH), start) is not None
    if len(clause.name.text) == 1 or follows_sigil or _PLURAL_ACRONYM.match(clause.written):
        return False
    # Without a verb, "part of" states a fact only at the beginning of a clause; elsewhere it describes a noun.
    if cue.form in NOTES and lead and lead[-1] not in ("and", _COMPLEMENTIZER):
        return False
    # After a pronoun, an auxiliary or a contraction ("it's kvasir") the clause has its subject already.
    if lead and (lead[-1] in _SUBJECT_PRONOUNS or lead[-1] in AUXILIARIES or "'" in lead[-1]):
        return False
    if not WH_WORDS.isdisjoint(lead) or _is_kind(clause, cue, vocabulary):
        return False
    readings = (_is_one_of_several, _is_in_prepositional_phrase, _is_object_of_gerund, _is_in_relative_clause)
    return not any(is_other(lead) for is_other in readings)


def _is_kind(clause: _Clause, cue: Cue, vocabulary: Vocabulary) -> bool:
    """Whether the words before the name show that it is a kind of thing: `a pod`, `the API`, `each container`."""
    # Names go without a determiner, unless a noun stands on either side: `the tool flarn`, `the kvasir service`.
    if clause.text[clause.lead_end : clause.name.start].startswith(("'s", "\u2019s")):
        return _is_word(clause, vocabulary)
    is_adjacent = True
    for word in reversed(clause.lead):
        if word in _INDEFINITE:
            return True
        if word in DETERMINERS and word != _COMPLEMENTIZER:
            return clause.is_acronym if clause.names_a_noun else is_adjacent and _is_word(clause, vocabulary)
        if is_closed_class(word):
            break
        is_adjacent = is_adjacent and (is_adjective(word) or is_participle(word))
    return clause.names_a_noun and (cue.form.is_isa or clause.is_acronym)


def _is_word(clause: _Clause, vocabulary: Vocabulary) -> bool:
    """Whether the name could be an ordinary word, known or rare, and is not spelled as an identifier or a name."""
    name = clause.name
    if vocabulary.is_concept(name.text) or name.parts:
        return False
    if vocabulary.is_common(name.text):
        return True
    parts = re.split(r"[_\-.'@+]", name.text)
    is_spelled_as_name = name.is_capitalised or any(character.isdigit() for character in name.text)
    return not is_spelled_as_name and (len(parts) == 1 or all(vocabulary.is_common(part) for part in parts))


def _is_one_of_several(lead: list[str]) -> bool:
    """Whether the clause begins with other names that are joined to this one: `kvasir and heimdall`."""
    others = [word for word in lead if word not in DETERMINERS]
    return len(others) > 1 and others[-1] in ("and", "or") and not any(map(is_closed_class, others[:-1]))


def _is_in_prepositional_phrase(lead: list[str]) -> bool:
    """Whether the name is what a preposition speaks of: `the port of kvasir`."""
    # A phrase that opens the clause and has its own noun is a mere setting: `in this project kvasir is a worker`.
    has_noun = False
    for index in range(len(lead) - 1, -1, -1):
        word = lead[index]
        if word in PREPOSITIONS - _PARTICLES:
            opens = all(before in PREPOSITIONS | _HALF_PREPOSITIONS | DETERMINERS for before in lead[:index])
            is_infinitive = word == "to" and not (index and lead[index - 1] in _HALF_PREPOSITIONS)
            return is_infinitive or not (has_noun and opens)
        if word in DETERMINERS:
            continue
        if is_closed_class(word):
            return False
        has_noun = True
    return False


def _is_object_of_gerund(lead: list[str]) -> bool:
    """Whether what is spoken of is an activity with the name: `restarting kvasir is a chore`."""
    for index in range(len(lead) - 1, -1, -1):
        word = lead[index]
        if word.endswith("ing") and word not in lexicon.ING_NOUNS:
            return index == 0 or lead[index - 1] not in DETERMINERS
        if is_closed_class(word) and word not in DETERMINERS and word not in ("and", "or"):
            return False
    return False


def _is_in_relative_clause(lead: list[str]) -> bool:
    """Whether the name belongs to a clause about another noun: `the box that hosts kvasir is a server`."""
    if _COMPLEMENTIZER not in lead:
        return False
    after = lead[len(lead) - lead[::-1].index(_COMPLEMENTIZER) :]
    return bool(after) and not is_closed_class(after[0]) and after[0].endswith(("s", "ed"))
