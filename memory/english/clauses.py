"""Reads what a cue joins: the names before it that its clause is about, and the phrase after it as their parent."""

import re
from bisect import bisect_left
from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from memory.english.doubt import Modality
from memory.english.forms import CALLED, PART_OF, Cue, Form, Takes, Verb
from memory.english.function_words import (
    AUXILIARIES,
    DETERMINERS,
    POSSESSIVES,
    PREPOSITIONS,
    QUANTIFIERS,
    is_closed_class,
    split_words,
)
from memory.english.lexicon import load_words
from memory.english.name_numbers import number_after
from memory.english.name_shapes import WORDS_MAX
from memory.english.non_words import MAX_TOKEN_LENGTH
from memory.english.noun_phrases import (
    ADJECTIVES,
    RELATIONAL_NOUNS,
    Passage,
    Phrase,
    ends_like_adverb,
    is_adjective,
    is_descriptive,
    is_name_called,
    is_participle,
    is_plural,
    read_phrase,
    singular_of,
)
from memory.english.tokenizer import Token, is_name

CODE_NOUNS: Final = load_words("code_nouns")
_LOOSE_CODE_NOUNS: Final = load_words("loose_code_nouns")
_DATA_TYPES: Final = load_words("data_types")
_COUNTED: Final = load_words("counted")
_EVALUATIONS: Final = load_words("evaluations")
_HUMAN_LANGUAGES: Final = load_words("human_languages")
_NEUTRAL_ADVERBS: Final = load_words("neutral_adverbs")
_NO_MORE: Final = load_words("no_more")
_OCCASIONS: Final = load_words("occasions")
_PLACE_OPENERS: Final = load_words("place_openers")
_PARTITIVES: Final = load_words("partitives")
_PLACE_NOUNS: Final = load_words("place_nouns")
_PROGRAMMING_LANGUAGES: Final = load_words("programming_languages")
_RELATIVES: Final = load_words("relatives")

# They speak of any or of all of a kind: no name follows them.
_INDEFINITE: Final = frozenset({"a", "an"}) | QUANTIFIERS
# `according to Ada`: prepositions of two words.
_HALF_PREPOSITIONS: Final = split_words("according based depending due prior regarding starting thanks")
# `it turns out kvasir`: part of the verb.
_PARTICLES: Final = split_words("down off out up")
# A phrase after one of these is not part of the noun before it: `talk to Ada, a data engineer`.
_LOOSE_PREPOSITIONS: Final = split_words("about at by on to upon with")
_SEEMS: Final = split_words("feel feels look looks seem seems sound sounds")
# `$HOME`, `--verbose`, `<name>`: not the thing of that name. Of a path only the last part would remain.
_SIGIL: Final = re.compile(r"(?:[$%=&<~\\\-#+]|(?<=[\w:]):|(?:^|\s)[.~]?/[^\s]*)\Z")
_LONGEST_PATH: Final = 256  # characters
_SINGULAR_VERB: Final = re.compile(r"(?!this\b|is\b|was\b|has\b)\w+(?:s|ed)\Z")
_CAMEL: Final = re.compile(r"[a-z][A-Z]")
_PARTS: Final = re.compile(r"[_\-.'@+]")  # one less than the words of a name
_MARKS: Final = " *_\"'\u201c\u201d\u2019\x10"
_BESIDE: Final = re.compile(r"[\s*_\"'\u2019\u201d\x10]*\Z")
_COMMA: Final = re.compile(r"[*_\"'\u201d\x10]*,\s[\s*_\"'\u201c\x10]*\Z")
# An apposition ends with punctuation, or continues with a description; `Bruno, a cat and a dog` is a list.
_APPOSED_END: Final = re.compile(r"[*_\"'\u2019\u201d\x10]*(?:[.;:!)\u2013\u2014]|,(?!\s+(?:and|or|an?|the)\b)|\s*\Z)")
_DESCRIBED_BY: Final = split_words("in from for by with that which who on at of")
_REACH: Final = 40  # tokens before a cue; the bound keeps a long sentence linear

_NAMED: Final = split_words("called named codenamed dubbed nicknamed")
_MODIFIERS_MAX: Final = 2
_SINGULAR_MIN: Final = 3  # letters: `rds` is not a plural
_QUOTES: Final = {'"': '"', "\u201c": "\u201d", "'": "'", "\u2018": "\u2019"}
_AFTER_NOUN: Final = re.compile(r"[*_\x10]*(?:[.;!)]|\s*\Z|\s+(?:of|in|for|from|with|at|on|that|which|who)\b)")
_POSSESSIVE: Final = re.compile(r"['\u2019][sS]\s")
_NO_OBJECT_BEFORE: Final = AUXILIARIES | {"or", "nor", "than"}  # `uses Kafka or Redis`


# --- subjects ---


def read_subjects(
    passage: Passage, cue: Cue, modality: Modality, barrier: int, *, takes_initial: bool = False
) -> list[Token]:
    """Return the subjects of a cue, in order: one, or those of a list if the cue is in the plural; none if there are
    none that are distinctive. They come after ``barrier``, the end of the last statement. ``takes_initial``: also an
    ordinary word that has its capital only because it begins the sentence."""
    if cue.is_plural:
        return _read_list(passage, cue, modality, barrier)
    clause_start = modality.clause_start(cue.start)
    before = _tokens_before(passage, cue, max(clause_start, barrier))
    at = _find_name(passage, before, cue, takes_initial=takes_initial and clause_start == 0)
    if at is None:
        return []
    # A name directly after the last statement, without a break or an `and`, belongs to that: in `is a formatter for Go
    # and inkwell is` two nouns would be in the plural.
    lead = [token.text for token in before[:at]]
    is_joined = lead[-1:] == ["and"] or cue.form.verb is Verb.OPERATOR
    if clause_start < barrier and not is_joined:
        return []
    return [before[at]] if _is_subject_of(passage, before, at, cue) else []


def read_apposed(passage: Passage, cue: Cue, modality: Modality) -> list[Token]:
    """Return the name directly before a mark: `Kvasir, our search service,`."""
    start = modality.clause_start(cue.start)
    before = _tokens_before(passage, cue, start)
    at = _find_name(passage, before, cue)
    if at is None or _is_sign(passage, before[at]) or _is_kind_noun(passage, before, at, cue):
        return []
    lead = [token.text for token in before[:at]]
    is_listed = passage.text[cue.start] == "," and lead[-1:] in (["or"], ["and"])
    is_second = passage.text[cue.start] == "," and passage.text[:start].rstrip().endswith(",") and not lead
    return [] if is_listed or is_second or _belongs_to_noun(lead) else [before[at]]


def ends_apposition(text: str, phrase: Phrase) -> bool:
    """True if an apposition ends where its phrase does, and is not an item of a list."""
    return phrase.next_word in _DESCRIBED_BY or _APPOSED_END.match(text, phrase.end) is not None


def _tokens_before(passage: Passage, cue: Cue, start: int) -> list[Token]:
    """Return the tokens of a clause before its cue, as far back as any rule looks, without adverbs beside the cue.
    Empty if anything but white space is between the last of them and the cue."""
    after = bisect_left(passage.starts, cue.start)
    first = bisect_left(passage.starts, start, max(0, after - _REACH), after)
    beside = cue.start
    while after > first and _BESIDE.match(passage.text[passage.tokens[after - 1].end : beside]):
        last = passage.tokens[after - 1]
        if last.text not in _NEUTRAL_ADVERBS or cue.form.verb is Verb.OPERATOR:
            return passage.tokens[first:after]
        after, beside = after - 1, last.start
    return []


def _find_name(passage: Passage, tokens: list[Token], cue: Cue, *, takes_initial: bool = False) -> int | None:
    """Return which of the tokens before a cue is the name: the last, or the one before a common noun."""
    last = len(tokens) - 1
    if last < 0 or is_closed_class(tokens[last].text):
        return None
    noun, name = tokens[last], tokens[last - 1] if last else None
    if cue.form.verb is Verb.OPERATOR:
        return last
    is_noun = noun.text.isalpha() and noun.text.islower() and not noun.is_capitalised
    is_adverb = is_noun and ends_like_adverb(noun.text) and not passage.vocabulary.is_concept(noun.text)
    if is_adverb and name is not None and not is_closed_class(name.text) and passage.is_distinctive(noun):
        return None  # `kvasir uncannily runs on`: a rare adverb, which may say anything
    if name is not None and is_noun and not passage.text[name.end : noun.start].strip(" *_\"'\x10"):
        is_named = name.text not in _PLACE_OPENERS and not is_closed_class(name.text) and passage.is_distinctive(name)
        is_thing = not is_plural(noun.text) and noun.text not in RELATIONAL_NOUNS
        if passage.is_marked(name) or (is_named and is_thing and not passage.is_distinctive(noun)):
            return last - 1
    is_initial = takes_initial and last == 0 and noun.is_capitalised
    return last if is_initial or passage.is_distinctive(noun) else None


def _read_list(passage: Passage, cue: Cue, modality: Modality, barrier: int) -> list[Token]:
    """Return the names of `A, B and C` directly before a cue."""
    beside = _tokens_before(passage, cue, barrier)
    gaps = [passage.text[one.end : other.start] for one, other in pairwise(beside)]
    if len(beside) < 3 or beside[-2].text != "and" or any(gap.strip(f"{_MARKS},") for gap in gaps[-2:]):
        return []
    first = len(beside) - 3
    while first and _COMMA.match(gaps[first - 1]):
        first -= 1
    while first < len(beside) - 2 and not _is_listed(passage, beside[first]):
        first += 1  # `in short, kvasir and odin are`
    named = [*beside[first:-2], beside[-1]]
    if len(named) < 2 or not all(_is_listed(passage, token) for token in named):
        return []
    start = modality.clause_start(named[0].start)
    lead = [token for token in beside[:first] if token.start >= start and token.text != "both"]
    return named if _is_subject_of(passage, [*lead, named[0]], len(lead), cue) else []


def _is_listed(passage: Passage, token: Token) -> bool:
    return len(token.text) > 1 and not is_closed_class(token.text) and passage.is_distinctive(token)


def _is_subject_of(passage: Passage, tokens: list[Token], at: int, cue: Cue) -> bool:
    """True if the cue speaks of the name: it is neither a kind of thing nor an object of something before it."""
    name, lead = tokens[at], [token.text for token in tokens[:at]]
    if cue.form.verb is Verb.OPERATOR:
        # "the RISC-V ISA", "support for PTX ISA 6.0" is the acronym: the determiner or preposition belongs to the name,
        # unless grammar stands between.
        grammar = next((word for word in reversed(lead) if is_closed_class(word)), "that")
        is_acronym = name.text in ADJECTIVES and not lead  # `New ISA extensions`
        return not is_acronym and (grammar == "that" or grammar not in DETERMINERS | PREPOSITIONS)
    if _is_sign(passage, name):
        return False
    # Without a verb, "part of" states a fact only at the beginning of a clause; elsewhere it describes a noun.
    if cue.is_bare and lead and lead[-1] not in ("and", "that"):
        return False
    if cue.is_bare and not name.is_capitalised and is_plural(name.text):
        return False  # `keyrings owned by the kernel`
    is_joined = at > 1 and lead[-1] in ("and", "or") and not any(map(is_closed_class, lead[:-1]))
    if is_joined and passage.is_distinctive(tokens[at - 2]):
        return False  # `kvasir and heimdall is`
    if lead and is_participle(lead[0]) and lead[0] not in _HALF_PREPOSITIONS:
        return False  # `restarting kvasir is a chore`
    if "that" in lead[:-1] and _SINGULAR_VERB.match(lead[lead.index("that") + 1]):
        return False  # `the box that hosts kvasir is`
    return not _is_kind_noun(passage, tokens, at, cue) and not _is_in_prepositional_phrase(lead)


def _is_sign(passage: Passage, name: Token) -> bool:
    """True if it is not a name but a letter, a variable, an option, or part of a path."""
    start = name.start
    return len(name.text) == 1 or _SIGIL.search(passage.text, max(0, start - _LONGEST_PATH), start) is not None


def _is_kind_noun(passage: Passage, tokens: list[Token], at: int, cue: Cue) -> bool:
    """True if the words before the name show that it is a kind of thing: `a pod`, `the API`, `each container`."""
    name, text, has_noun = tokens[at], passage.text, at < len(tokens) - 1
    written = text[name.start : name.end]
    is_acronym = written.isupper() and written.isalpha()
    if at and text.startswith(("'s", "\u2019s"), tokens[at - 1].end):
        return _is_word(passage, name)
    # Names have no determiner, unless a noun is on either side: `the tool flarn`, `the kvasir service`.
    is_adjacent = True
    for token in reversed(tokens[:at]):
        word = token.text
        if word in _INDEFINITE:
            return True
        if word in DETERMINERS and word != "that":
            if has_noun or (is_acronym and is_adjacent and word == "the"):
                return is_acronym and not passage.vocabulary.is_concept(name.text)
            return is_adjacent and _is_word(passage, name)
        if is_closed_class(word):
            break
        is_adjacent = is_adjacent and (is_adjective(word) or is_participle(word))
    return has_noun and (cue.form.is_isa or is_acronym)


def _is_word(passage: Passage, name: Token) -> bool:
    """True if the name could be an ordinary word, known or rare, and is not spelled as an identifier or a name."""
    vocabulary = passage.vocabulary
    if vocabulary.is_concept(name.text) or name.parts:
        return False
    if vocabulary.is_common(name.text):
        return True
    parts = _PARTS.split(name.text)
    is_spelled_as_name = name.is_capitalised or any(character.isdigit() for character in name.text)
    return not is_spelled_as_name and (len(parts) == 1 or all(map(vocabulary.is_common, parts)))


def _belongs_to_noun(lead: list[str]) -> bool:
    """True if the words before a name make it part of another noun's phrase: `the dealer in Leeds`, `In Oslo`."""
    for index in range(len(lead) - 1, -1, -1):
        word = lead[index]
        if word in PREPOSITIONS:
            return word not in _LOOSE_PREPOSITIONS or index == 0
        if is_closed_class(word) and word not in DETERMINERS:
            return False
    return False


def _is_in_prepositional_phrase(lead: list[str]) -> bool:
    """True if the name is the object of a preposition: `the port of kvasir`."""
    # A phrase that opens the clause and has its own noun only sets the scene: `in this project kvasir is a worker`.
    has_noun = False
    for index in range(len(lead) - 1, -1, -1):
        word = lead[index]
        if word == "like" and index and lead[index - 1] in _SEEMS:  # `it looks like kvasir`
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


def fits(passage: Passage, subject: Token, parent: "Parent", form: Form) -> bool:
    """True if subject and parent go together in this form."""
    if len({subject.text, parent.token, parent.dimension}) < 3:  # nothing is in itself
        return False
    if form.is_isa and _is_code_part(passage, subject, parent.phrase.head, form):
        return False
    if form.takes is Takes.KNOWN_PLACE:
        is_named = parent.phrase.tokens[-1].is_capitalised and _is_location(passage, subject)
        return parent.phrase.determiner not in ("a", "an") and (
            is_named or passage.vocabulary.is_location(parent.token)
        )
    return True


def _is_location(passage: Passage, subject: Token) -> bool:
    """True if the words of a subject, or beside it, are nouns of places: `the Rostock office`, `rack-12`."""
    index = bisect_left(passage.starts, subject.start)
    beside = passage.tokens[index - 1].text if index and not passage.gap_before(index).strip(_MARKS) else ""
    return not _PLACE_NOUNS.isdisjoint([*_PARTS.split(subject.text), beside, passage.word_after(index)])


def _is_code_part(passage: Passage, subject: Token, head: str, form: Form) -> bool:
    """True if the sentence describes a part of a program, not a thing of the project: `Entity is a u64`."""
    has_marks = passage.is_marked(subject)
    if head in _DATA_TYPES or (head in _LOOSE_CODE_NOUNS and has_marks):
        return True
    is_identifier = has_marks or _CAMEL.search(passage.text, subject.start, subject.end) is not None
    return head in CODE_NOUNS | _LOOSE_CODE_NOUNS and (is_identifier or form.verb is Verb.MARK)


# --- parents ---


@dataclass(frozen=True, slots=True)
class Parent:
    """The parent that a cue gives its subject."""

    token: str
    dimension: str
    phrase: Phrase
    end: int  # of the last word that was used
    has_context: bool = False  # it is `of` something, which is the dimension


def find_stops(cue: Cue, following: Collection[Cue]) -> set[int]:
    """Return the positions where a phrase ends because another cue begins."""
    # `ISA` within the phrase of a verb's cue is the acronym, and ends nothing.
    is_operator = cue.form.verb is Verb.OPERATOR
    return {other.start for other in following if is_operator or other.form.verb is not Verb.OPERATOR}


def make_parent(
    passage: Passage, cue: Cue, phrase: Phrase | None, stops: set[int], *, as_typed: bool = False
) -> Parent | None:
    """Make a parent of a phrase; None if it makes none."""
    form = cue.form
    if phrase is None or not _is_object(passage, phrase, cue):
        return None
    if form.takes is Takes.NAME and not (as_typed or _is_used(passage, phrase)):
        return None
    if not form.is_isa and phrase.next_word in _NAMED:
        called = read_phrase(passage, phrase.next_end, stops)
        if called is not None and len(called.tokens) == 1 and is_name_called(passage, called.tokens[0]):
            return Parent(called.head, form.dimension, phrase, phrase.end)
    context, end = "", phrase.end
    if phrase.next_word == "of":
        of = read_phrase(passage, phrase.next_end, stops)
        is_part = not _PARTITIVES.isdisjoint((phrase.head, singular_of(phrase.head)))
        context = _compose_context(passage, of) if form.is_isa and of is not None and not is_part else ""
        if not context or of is None:
            return None
        end = of.end
    if not context:
        # Only the speaker knows whose it is, not the shared graph: that is remembered for them.
        is_own = form.is_isa and not as_typed and phrase.head in _RELATIVES
        if is_own or form.takes is Takes.CONTEXT:
            return None
    token = _compose_parent(passage, phrase, form, is_plural_form=_is_plural_form(cue), as_typed=as_typed)
    return Parent(token, context or form.dimension, phrase, end, bool(context)) if token else None


def _is_plural_form(cue: Cue) -> bool:
    return cue.form.is_isa and cue.is_plural


def _is_object(passage: Passage, phrase: Phrase, cue: Cue) -> bool:
    """True if a phrase says what something is or belongs to, and not how it is liked or when it happens."""
    form, last, head = cue.form, phrase.tokens[-1], phrase.head
    is_ordinary = passage.vocabulary.is_common(head) and not last.is_capitalised
    is_several = is_plural(head)
    is_inflected = is_ordinary and ((is_several and not _is_plural_form(cue)) or head.endswith(("ed", "ly")))
    if form.verb is Verb.OPERATOR:
        return not is_inflected
    if form.takes is Takes.LANGUAGE:
        return _is_language(passage, last)
    if phrase.next_word in ("one", "ones") or not _NO_MORE.isdisjoint(token.text for token in phrase.tokens):
        return False  # it refers to something mentioned before, or is no more
    is_named = not form.is_isa and (bool(last.parts) or last.is_capitalised)  # `part of the Hygiene Plan`
    if (singular_of(head).rpartition("_")[2] in _EVALUATIONS and not is_named) or len(head) == 1:
        return False
    # The last word of a name of several words is not an adjective: "Privet Drive".
    if is_adjective(head) and not (last.parts or is_named or passage.is_marked(last)):
        # Whatever ends a phrase after an article is a noun, unless it never is one: `a dwarf cleric of Moradin`.
        is_noun = form is CALLED or (form.verb is Verb.BE and _AFTER_NOUN.match(passage.text, phrase.end))
        if not is_noun or head in ADJECTIVES or is_descriptive(last):
            return False
    if form.takes is Takes.PLACE:
        return head in _PLACE_NOUNS or _is_named(passage, last)
    if form.takes is Takes.HOST:
        return _OCCASIONS.isdisjoint((phrase.tokens[0].text, head))
    if form.is_isa and _is_plural_form(cue) and (not is_several or any("," in gap for gap in phrase.gaps)):
        return False  # `are private, users cannot`
    return not (form.is_isa and (is_inflected or phrase.is_numbered))


def _is_language(passage: Passage, token: Token) -> bool:
    """True if something can be written in this programming language."""
    if passage.text[token.end : token.end + 1] in ("+", "#") or token.text in _HUMAN_LANGUAGES:
        return False
    return token.is_capitalised or passage.is_marked(token) or token.text in _PROGRAMMING_LANGUAGES


def _is_used(passage: Passage, phrase: Phrase) -> bool:
    """True if a phrase names something that others can be made of, not a part or feature of it: `uses Kafka`."""
    name, *others = phrase.tokens
    if others or phrase.determiner not in ("", "the") or name.text in _HUMAN_LANGUAGES:
        return False
    if phrase.next_word in _NO_OBJECT_BEFORE:
        return False
    return _is_named(passage, name)


def _is_named(passage: Passage, token: Token) -> bool:
    """True if a word after a preposition is a name, and not a word for a kind of thing."""
    if passage.is_marked(token) or token.parts or passage.vocabulary.is_concept(token.text):
        return True
    if len(token.text) == 1:
        return False
    is_plain = is_plural(token.text) or token.text.endswith("ing")
    return passage.is_distinctive(token) and (token.is_capitalised or not is_plain)


def _compose_parent(
    passage: Passage, phrase: Phrase, form: Form, *, is_plural_form: bool = False, as_typed: bool = False
) -> str:
    """Return the one token that the phrase makes: its head with the modifiers that tell kinds apart; "" if it makes
    none."""
    tokens = phrase.tokens
    if as_typed or form.verb is Verb.OPERATOR or _is_quoted(passage, phrase):
        return _checked("_".join(token.text for token in tokens))
    head = _compose_head(passage, phrase)
    if is_plural_form:  # `Raspberry Pis`
        head = singular_of(head)
    if form.takes is Takes.LANGUAGE or not head:
        return _checked(head)
    kept = [head]
    # After a noun, the name of one thing: `the host merak-1`, `our friend Anna`.
    is_host = form.takes is Takes.HOST and len(tokens) > 1 and passage.is_distinctive(tokens[-1])
    is_own_name = is_host or tokens[-1].is_capitalised or any(map(str.isdigit, tokens[-1].text))
    has_name = not form.is_isa and phrase.determiner not in _INDEFINITE and is_own_name
    for index in range(len(tokens) - 2, -1, -1):
        token, gap = tokens[index], phrase.gaps[index]
        if gap.startswith(".") or _POSSESSIVE.match(gap):  # a title, or whose it is: `Anna's platform`
            break
        if len(kept) > _MODIFIERS_MAX:
            if not is_descriptive(token):  # perhaps of the next word only: `entry level e-bike controller`
                del kept[0]
            break
        if has_name and not token.is_capitalised:
            break
        if is_descriptive(token):
            continue
        if len(_PARTS.findall("_".join([token.text, *kept]))) >= WORDS_MAX:
            break
        kept.insert(0, token.text)
    return _checked("_".join(kept))


def _compose_head(passage: Passage, phrase: Phrase) -> str:
    token = phrase.tokens[-1]
    head = token.text
    if not token.is_capitalised and not passage.is_marked(token) and is_plural(head):
        single = singular_of(head)
        if len(single) >= _SINGULAR_MIN and passage.vocabulary.is_common(single):
            head = single
    if not phrase.is_numbered:
        return head
    if head in _COUNTED:  # `part of step 4`
        return ""
    number = number_after(passage.text, head, token.end)
    return f"{head}_{number}" if number else head


def _compose_context(passage: Passage, phrase: Phrase) -> str:
    """Return the name of what something is `of`; "" if that has no name."""
    if phrase.determiner in POSSESSIVES and len(phrase.tokens) == 1 and not phrase.tokens[0].parts:
        return ""  # `a plugin of our CMS`
    *modifiers, head = phrase.tokens
    if _is_named(passage, head) or any(token.is_capitalised or passage.is_marked(token) for token in modifiers):
        return _compose_parent(passage, phrase, PART_OF)
    return ""


def _is_quoted(passage: Passage, phrase: Phrase) -> bool:
    """True if quotation marks enclose exactly this phrase: then it is one name, as it is written."""
    opening = passage.text[phrase.start - 1 : phrase.start]
    return opening in _QUOTES and passage.text[phrase.end : phrase.end + 1] == _QUOTES[opening]


def _checked(parent: str) -> str:
    return parent if len(parent) <= MAX_TOKEN_LENGTH and is_name(parent) else ""
