"""Of whom a cue speaks: the name directly before it, if the words before that name leave it the subject."""

import re
from dataclasses import dataclass
from typing import Final, Protocol

from memory.domain import cue_words
from memory.domain.closed_class import DETERMINERS, PREPOSITIONS, WH_WORDS, is_closed_class
from memory.domain.cue_forms import NOTES, OPERATORS, Cue
from memory.domain.noun_phrases import WINDOW
from memory.domain.tokens import Token, tokenise

CLAUSE_BREAK: Final = re.compile(
    r"[,;:()|\x1a\u2013\u2014]|\s--?\s|\b(?:but|because|since|although|though|whereas)\b", re.IGNORECASE
)
_BESIDE: Final = re.compile(r"[\s*_\"'\u2019\u201d]*\Z")
_ADVERBS_BESIDE: Final = re.compile(rf"(?:\s+(?:{'|'.join(sorted(cue_words.NEUTRAL_ADVERBS))}))+\Z", re.IGNORECASE)
# They speak of any or of all of a kind: no name follows them.
_INDEFINITE: Final = frozenset("a an all another any both each either every neither no some such".split())
# `according to Ada`: prepositions of two words.
_HALF_PREPOSITIONS: Final = frozenset("according based depending due prior regarding starting thanks".split())
_COMPLEMENTIZER: Final = "that"


class Vocabulary(Protocol):
    """What the cues need to know about words."""

    def is_common(self, token: str) -> bool:
        """Whether it is an ordinary English word."""

    def is_concept(self, token: str) -> bool:
        """Whether something is already known about it."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The concept a statement is about, and its span in the sentence."""

    concept: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Clause:
    """The tokens of a clause up to its cue, and where among them the name stands."""

    tokens: list[Token]
    name_at: int

    @property
    def name(self) -> Token:
        return self.tokens[self.name_at]

    @property
    def lead(self) -> list[str]:
        return [token.text for token in self.tokens[: self.name_at]]

    @property
    def names_a_noun(self) -> bool:
        """Whether a common noun follows the name: `the kvasir service`."""
        return self.name_at < len(self.tokens) - 1


def read_subject(
    sentence: str, cue: Cue, *, barrier: int, allows_initial: bool, vocabulary: Vocabulary
) -> Subject | None:
    """The subject of a cue; None if there is none, or none that is distinctive.

    Nothing before `barrier`, the end of the last match, can be it. `allows_initial` also takes an ordinary word that
    has its capital only from beginning the sentence.
    """
    offset = max(0, cue.start - WINDOW)
    piece = sentence[offset : cue.start]
    if cue.form not in OPERATORS:
        piece = _ADVERBS_BESIDE.sub("", piece)
    tokens = tokenise(piece)
    if not tokens or not _BESIDE.match(piece[tokens[-1].end :]) or tokens[-1].start < barrier - offset:
        return None
    clause_start = max((match.end() for match in CLAUSE_BREAK.finditer(piece)), default=0)
    begins_sentence = offset + clause_start == 0
    tokens = [token for token in tokens if token.start >= clause_start]
    clause = _find_name(piece, tokens, vocabulary, takes_any=cue.form in OPERATORS,
                        takes_initial=allows_initial and begins_sentence)  # fmt: skip
    if clause is None:
        return None
    is_asserted_of_it = cue.form in OPERATORS or (
        clause_start >= barrier - offset and _governs_cue(clause, cue, vocabulary)
    )
    name = clause.name
    return Subject(name.text, offset + name.start, offset + name.end) if is_asserted_of_it else None


def _find_name(
    piece: str, tokens: list[Token], vocabulary: Vocabulary, *, takes_any: bool, takes_initial: bool
) -> _Clause | None:
    if not tokens or is_closed_class(tokens[-1].text):
        return None
    last = len(tokens) - 1
    if takes_any or _is_distinctive(tokens[last], vocabulary):
        return _Clause(tokens, last)
    if takes_initial and last == 0 and tokens[last].is_capitalised:
        return _Clause(tokens, last)
    if last == 0 or tokens[last].text in cue_words.RELATIONAL_NOUNS or tokens[last].is_capitalised:
        return None
    before = tokens[last - 1]
    if piece[before.end : tokens[last].start].strip(" *_\"'") or is_closed_class(before.text):
        return None
    return _Clause(tokens, last - 1) if _is_distinctive(before, vocabulary) else None


def _is_distinctive(token: Token, vocabulary: Vocabulary) -> bool:
    return token.is_emphasised or not vocabulary.is_common(token.text) or vocabulary.is_concept(token.text)


def _governs_cue(clause: _Clause, cue: Cue, vocabulary: Vocabulary) -> bool:
    """Whether the name is what the cue speaks of, and not an object of something before it."""
    lead = clause.lead
    if cue.form in NOTES and lead and lead[-1] not in ("and", _COMPLEMENTIZER):
        return False
    if not WH_WORDS.isdisjoint(lead) or _is_one_of_a_kind(clause, vocabulary):
        return False
    return not (_is_in_prepositional_phrase(lead) or _is_object_of_gerund(lead) or _is_in_relative_clause(lead))


def _is_one_of_a_kind(clause: _Clause, vocabulary: Vocabulary) -> bool:
    """Whether a determiner shows that the name is a kind of thing (`a Docker container`, `the API`)."""
    determiner = clause.lead[-1] if clause.lead else ""
    is_a_word = vocabulary.is_common(clause.name.text) and not vocabulary.is_concept(clause.name.text)
    if determiner in _INDEFINITE:
        return is_a_word or clause.names_a_noun
    return determiner in DETERMINERS and is_a_word and not clause.names_a_noun


def _is_in_prepositional_phrase(lead: list[str]) -> bool:
    """Whether the name is what a preposition speaks of (`the port of kvasir`).

    A phrase that opens the clause and has its own noun is a mere setting: `in this project kvasir is a worker`.
    """
    has_noun = False
    for index in range(len(lead) - 1, -1, -1):
        word = lead[index]
        if word in PREPOSITIONS:
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
        if word.endswith("ing") and word not in cue_words.ING_NOUNS:
            return index == 0 or lead[index - 1] not in DETERMINERS
        if is_closed_class(word) and word not in DETERMINERS:
            return False
    return False


def _is_in_relative_clause(lead: list[str]) -> bool:
    """Whether the name belongs to a clause about another noun: `the box that hosts kvasir is a server`."""
    if _COMPLEMENTIZER not in lead:
        return False
    after = lead[len(lead) - lead[::-1].index(_COMPLEMENTIZER) :]
    return bool(after) and not is_closed_class(after[0]) and after[0].endswith(("s", "ed"))
