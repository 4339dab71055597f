"""Tells what a clause speaks of: whether a name in it is the subject, or belongs to something else."""

import re
from bisect import bisect_left
from dataclasses import dataclass
from typing import Final

from memory.english.function_words import (
    AUXILIARIES,
    DETERMINERS,
    PREPOSITIONS,
    QUANTIFIERS,
    WH_WORDS,
    is_closed_class,
    split_words,
)
from memory.english.statements.naming import is_marked, is_marked_at
from memory.english.statements.noun_phrases import Passage, Vocabulary, is_adjective, is_participle, is_plural
from memory.english.statements.patterns import ELLIPTICAL, NOTES, OPERATORS, Cue
from memory.english.tokenizer import Token
from memory.english.words import adjectives, names, nouns, verbs

# They speak of any or of all of a kind: no name follows them.
_INDEFINITE: Final = frozenset({"a", "an"}) | QUANTIFIERS
# `according to Ada`: prepositions of two words.
_HALF_PREPOSITIONS: Final = split_words("according based depending due prior regarding starting thanks")
# `it turns out kvasir`: part of the verb.
_PARTICLES: Final = split_words("down off out up")
# A phrase after one of these is not part of the noun before it: `talk to Ada, a data engineer`.
_LOOSE_PREPOSITIONS: Final = split_words("about at by on to upon with")
_COMPLEMENTIZER: Final = "that"
_SUBJECT_PRONOUNS: Final = split_words("i you he she it we they who")
# `$HOME`, `--verbose`, `<name>`: not the thing of that name. Of a path only the last part would remain.
_SIGIL: Final = re.compile(r"(?:[$%=&<~\\\-#+]|(?<=[\w:]):|(?:^|\s)[.~]?/[^\s]*)\Z")
_LONGEST_PATH: Final = 256  # characters
_MARKS: Final = " *_\"'\u201c\u201d\u2019\x10"
_CAMEL: Final = re.compile(r"[a-z][A-Z]")
_NUMBER_TYPE: Final = re.compile(r"[iuf]\d{1,3}")
_SEEMS: Final = split_words("feel feels look looks seem seems sound sounds")


@dataclass(frozen=True, slots=True)
class Subject:
    concept: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause up to its cue."""

    text: str  # of the sentence
    name: Token
    written: str  # the name as it is written
    lead: list[str]  # the words before it
    lead_end: int  # the end of the last of them, or the start of the name if there are none
    is_acronym: bool
    names_a_noun: bool  # a common noun follows the name: `the kvasir service`
    is_marked: bool  # in back-ticks

    @classmethod
    def of(cls, passage: Passage, tokens: list[Token], name_at: int) -> "Clause":
        text = passage.text
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
            is_marked=is_marked(passage, name),
        )

    @property
    def subject(self) -> Subject:
        return Subject(self.name.text, self.name.start, self.name.end)


def governs_cue(clause: Clause, cue: Cue, vocabulary: Vocabulary) -> bool:
    """True if the cue speaks of the name: it is neither a kind of thing nor an object of something before it."""
    lead = clause.lead
    if cue.form in OPERATORS:
        # "the RISC-V ISA", "support for PTX ISA 6.0" is the acronym: the determiner or preposition belongs to the name,
        # unless grammar stands between.
        if clause.name.text in adjectives.ADJECTIVES and lead == []:
            return False  # `New ISA extensions`
        grammar = next((word for word in reversed(lead) if is_closed_class(word)), _COMPLEMENTIZER)
        return grammar == _COMPLEMENTIZER or grammar not in DETERMINERS | PREPOSITIONS
    if is_no_name(clause):
        return False
    # Without a verb, "part of" states a fact only at the beginning of a clause; elsewhere it describes a noun.
    if cue.form in NOTES and lead and lead[-1] not in ("and", _COMPLEMENTIZER):
        return False
    if cue.form in ELLIPTICAL and clause.written.islower() and is_plural(clause.name.text):
        return False  # `keyrings owned by the kernel`
    # `Fix part of the page`: a verb, more often than a name.
    is_initial_word = clause.name.is_initial and clause.name.text.isalpha()
    if cue.form in NOTES and is_initial_word and not vocabulary.is_concept(clause.name.text):
        return False
    # After a pronoun, an auxiliary or a contraction ("it's kvasir") the clause has its subject already.
    if lead and (lead[-1] in _SUBJECT_PRONOUNS or lead[-1] in AUXILIARIES or "'" in lead[-1]):
        return False
    if not WH_WORDS.isdisjoint(lead[1:] if lead[:1] == ["however"] else lead) or is_kind(clause, cue, vocabulary):
        return False
    readings = (_is_one_of_several, _is_in_prepositional_phrase, _is_object_of_gerund, _is_in_relative_clause)
    return not any(is_other(lead) for is_other in readings)


def is_no_name(clause: Clause) -> bool:
    """True if it is not a name but a letter, a variable, an option, or part of a path or of a longer name."""
    start = clause.name.start
    if clause.lead and clause.lead[-1] in names.PARTICLES - PREPOSITIONS and clause.name.is_capitalised:
        return True  # `Universidad de Caldera`
    gap = clause.text[clause.lead_end : start]
    if clause.lead and any(map(str.isdigit, gap)) and not _counts(clause.lead[-1]):
        return True  # `iPhone 15 Pro`
    follows_sigil = _SIGIL.search(clause.text, max(0, start - _LONGEST_PATH), start) is not None
    return len(clause.name.text) == 1 or follows_sigil


def _counts(word: str) -> bool:
    """True if a number after the word is not part of a name: `since 2024`, `March 12`, `step 3`."""
    return is_closed_class(word) or word in names.MONTHS_AND_DAYS or word in names.COUNTED


def belongs_to_noun(lead: list[str]) -> bool:
    """True if the words before a name make it part of another noun's phrase: `the dealer in Leeds`, `In Oslo`."""
    for index in range(len(lead) - 1, -1, -1):
        word = lead[index]
        if word in PREPOSITIONS:
            return word not in _LOOSE_PREPOSITIONS or index == 0
        if is_closed_class(word) and word not in DETERMINERS:
            return False
    return False


def is_kind(clause: Clause, cue: Cue, vocabulary: Vocabulary) -> bool:
    """True if the words before the name show that it is a kind of thing: `a pod`, `the API`, `each container`."""
    # Names have no determiner, unless a noun is on either side: `the tool flarn`, `the kvasir service`.
    if clause.text[clause.lead_end : clause.name.start].startswith(("'s", "\u2019s")):
        return _is_word(clause, vocabulary)
    is_adjacent = True
    for word in reversed(clause.lead):
        if word in _INDEFINITE:
            return True
        if word in DETERMINERS and word != _COMPLEMENTIZER:
            if clause.names_a_noun or (clause.is_acronym and is_adjacent and word == "the"):
                return clause.is_acronym and not vocabulary.is_concept(clause.name.text)
            return is_adjacent and _is_word(clause, vocabulary)
        if is_closed_class(word):
            break
        is_adjacent = is_adjacent and (is_adjective(word) or is_participle(word))
    return clause.names_a_noun and (cue.form.is_isa or clause.is_acronym)


def _is_word(clause: Clause, vocabulary: Vocabulary) -> bool:
    """True if the name could be an ordinary word, known or rare, and is not spelled as an identifier or a name."""
    name = clause.name
    if vocabulary.is_concept(name.text) or name.parts:
        return False
    if vocabulary.is_common(name.text):
        return True
    parts = re.split(r"[_\-.'@+]", name.text)
    is_spelled_as_name = name.is_capitalised or any(character.isdigit() for character in name.text)
    return not is_spelled_as_name and (len(parts) == 1 or all(vocabulary.is_common(part) for part in parts))


def _is_one_of_several(lead: list[str]) -> bool:
    """True if the clause begins with other names that are joined to this one: `kvasir and heimdall`."""
    others = [word for word in lead if word not in DETERMINERS and word not in names.OPENERS]
    return len(others) > 1 and others[-1] in ("and", "or") and not any(map(is_closed_class, others[:-1]))


def _is_in_prepositional_phrase(lead: list[str]) -> bool:
    """True if the name is the object of a preposition: `the port of kvasir`."""
    # A phrase that opens the clause and has its own noun only sets the scene: `in this project kvasir is a worker`.
    has_noun = False
    for index in range(len(lead) - 1, -1, -1):
        word = lead[index]
        if word == "like" and index and lead[index - 1] in _SEEMS:  # `it looks like kvasir`
            return False
        if word == "on" and lead[max(0, index - 2) : index] == ["from", "now"]:
            return False
        if word in PREPOSITIONS - _PARTICLES:
            opens = all(before in PREPOSITIONS | _HALF_PREPOSITIONS | DETERMINERS for before in lead[:index])
            is_half = index > 0 and lead[index - 1] in _HALF_PREPOSITIONS
            is_infinitive = word == "to" and not is_half and lead[index + 1 : index + 2] != ["my"]  # `to my knowledge`
            return is_infinitive or not (has_noun and opens)
        if word in DETERMINERS:
            continue
        if is_closed_class(word):
            return False
        has_noun = True
    return False


def _is_object_of_gerund(lead: list[str]) -> bool:
    """True if the clause speaks of an activity with the name: `restarting kvasir is a chore`."""
    for index in range(len(lead) - 1, -1, -1):
        word = lead[index]
        if word.endswith("ing") and word not in verbs.ING_NOUNS:
            return index == 0 or lead[index - 1] not in DETERMINERS
        if is_closed_class(word) and word not in DETERMINERS and word not in ("and", "or"):
            return False
    return False


def _is_in_relative_clause(lead: list[str]) -> bool:
    """True if the name belongs to a clause about another noun: `the box that hosts kvasir is a server`."""
    if _COMPLEMENTIZER not in lead:
        return False
    after = lead[len(lead) - lead[::-1].index(_COMPLEMENTIZER) :]
    return bool(after) and not is_closed_class(after[0]) and after[0].endswith(("s", "ed"))


def tells_place(passage: Passage, subject: Subject) -> bool:
    """True if the words of a subject, or beside it, show that it is a place: `the Rostock office`, `rack-12`."""
    index = bisect_left(passage.starts, subject.start)
    words = set(re.split(r"[_\-.]", subject.concept))
    if index and not passage.gap_before(index).strip(_MARKS):
        words.add(passage.tokens[index - 1].text)
    if following := passage.word_after(index):
        words.add(following)
    return not words.isdisjoint(nouns.PLACE_NOUNS)


def is_code_part(passage: Passage, subject: Subject, head: str, *, is_of_code: bool) -> bool:
    """True if the sentence describes a part of a program, not a thing of the project: `Entity is a u64`."""
    if head in nouns.DATA_TYPES or _NUMBER_TYPE.fullmatch(head):
        return True
    has_marks = is_marked_at(passage, subject.end)
    if head in nouns.LOOSE_CODE_NOUNS and has_marks:
        return True
    is_code_noun = head in nouns.CODE_NOUNS or head in nouns.LOOSE_CODE_NOUNS
    return is_code_noun and (
        is_of_code or has_marks or _CAMEL.search(passage.text, subject.start, subject.end) is not None
    )
