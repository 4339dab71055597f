"""Reads the phrase after a cue as a parent: its head with its distinguishing modifiers, if that says what something
is."""

import re
from bisect import bisect_left
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from memory.english.function_words import AUXILIARIES, POSSESSIVES, is_closed_class
from memory.english.name_numbers import number_after
from memory.english.name_shapes import WORDS_MAX
from memory.english.non_words import MAX_TOKEN_LENGTH
from memory.english.statements.naming import is_distinctive, is_marked, is_name_called, is_ordinary_acronym
from memory.english.statements.noun_phrases import (
    Passage,
    Phrase,
    Vocabulary,
    is_adjective,
    is_descriptive,
    is_plural,
    read_phrase,
    singular_of,
)
from memory.english.statements.patterns import OPERATORS, PLACES, USING, Cue, Form
from memory.english.tokenizer import Token, is_name
from memory.english.words import adjectives, memory_phrases, names, nouns, verbs

# With adjectives in between, "is a ... kind of" and "is a ... part of" are two cues of one statement.
_SPELLED_OUT: Final = {Form.KIND_OF: Form.IS_KIND_OF, Form.PART_OF: Form.IS_PART_OF}
_NAMED: Final = frozenset({"called", "named", "codenamed", "dubbed", "nicknamed"})
_INDEFINITE: Final = frozenset({"a", "an"})
_MODIFIERS_MAX: Final = 2
_SINGULAR_MIN: Final = 3  # letters: `rds` is not a plural
_QUOTES: Final = {'"': '"', "\u201c": "\u201d", "'": "'", "\u2018": "\u2019"}
_AFTER_NOUN: Final = re.compile(r"[*_\x10]*(?:[.;!)]|\s*\Z|\s+(?:of|in|for|from|with|at|on|that|which|who)\b)")
_ADJECTIVES_AHEAD: Final = re.compile(r",(?! (?:it|s?he|they|we|i|and|but|which|who|now|since|so)\b)", re.IGNORECASE)
_POSSESSIVE: Final = re.compile(r"['\u2019][sS]\s")
_CORRECTED: Final = re.compile(r", (?:well|or rather|no|sorry)\b")  # `in PyTorch, well, in Python`
_PARTS: Final = re.compile(r"[_\-.'@+]")  # one less than the words of a name
_JOINT: Final = re.compile(r"[*_\"'\u201d\x10]*(?:,?\s+(?P<and>and)\s+|,\s+)")
_LISTED_MAX: Final = 9  # names
_NO_OBJECT_BEFORE: Final = AUXILIARIES | {"or", "nor", "than"}  # `uses Kafka or Redis`
_CUT_SHORT: Final = frozenset("/&'\u2019")  # `uses TCP/IP`
_NOT_A_WORD: Final = re.compile(r"\+\+|#")  # `C++ library`: a token of it would be another word


@dataclass(frozen=True, slots=True)
class Parent:
    """The parent that a cue gives its subject."""

    token: str
    dimension: str
    form: Form  # the cue's, or the one that the phrase after it makes of it
    phrase: Phrase
    end: int  # end of the last word that was used
    context: str = ""  # what it is `of`


def read_parent(
    passage: Passage, cue: Cue, following: Collection[Cue], vocabulary: Vocabulary, *, as_typed: bool = False
) -> Parent | None:
    """Return what the phrase after a cue says; None if there is none, or nothing that can be a parent."""
    stops = find_stops(cue, following)
    form, phrase = cue.form, read_phrase(passage, cue.end, stops)
    after = next(iter(following), None)
    is_spelled_out = after is not None and phrase is not None and after.start == phrase.next_start
    if is_spelled_out and after is not None and form is Form.IS_A and after.form in _SPELLED_OUT:
        form, phrase = _SPELLED_OUT[after.form], read_phrase(passage, after.end, stops)
    return make_parent(
        passage,
        form,
        phrase,
        stops,
        vocabulary,
        is_plural_form=form.is_isa and cue.is_plural,
        as_typed=as_typed,
    )


def read_list(
    passage: Passage, parent: Parent, stops: set[int], vocabulary: Vocabulary, *, as_typed: bool = False
) -> list[Parent]:
    """Return the parent and the names that are listed after it: `uses Redis, Kafka and NATS`."""
    found, is_last = [parent], parent.form not in USING
    while not is_last and len(found) < _LISTED_MAX and (joint := _JOINT.match(passage.text, found[-1].end)):
        phrase = read_phrase(passage, joint.end(), stops)
        other = make_parent(passage, parent.form, phrase, stops, vocabulary, as_typed=as_typed)
        if other is None or (other.phrase.next_word and other.phrase.next_start in stops):
            break  # `uses Redis and odin uses`
        found.append(other)
        is_last = joint["and"] is not None
    return found if is_last else [parent]


def find_stops(cue: Cue, following: Collection[Cue]) -> set[int]:
    """Return the positions where a phrase ends because another cue begins."""
    # `ISA` within the phrase of a verb's cue is the acronym, and ends nothing.
    takes_operators = cue.form in OPERATORS
    return {other.start for other in following if takes_operators or other.form not in OPERATORS}


def make_parent(
    passage: Passage,
    form: Form,
    phrase: Phrase | None,
    stops: set[int],
    vocabulary: Vocabulary,
    *,
    is_plural_form: bool = False,
    as_typed: bool = False,
) -> Parent | None:
    """Make a parent of a phrase for this form; None if it makes none."""
    if phrase is None or not _is_object(passage, phrase, form, vocabulary, is_plural_form):
        return None
    if form in USING and not (as_typed or _is_used(passage, phrase, vocabulary)):
        return None
    if not form.is_isa and phrase.next_word in _NAMED:
        called = read_phrase(passage, phrase.next_end, stops)
        if called is not None and len(called.tokens) == 1 and is_name_called(passage, called.tokens[0], vocabulary):
            return Parent(called.head, form.dimension, form, phrase, phrase.end)
    context, end = "", phrase.end
    if phrase.next_word == "of":
        of = read_phrase(passage, phrase.next_end, stops)
        is_part = singular_of(phrase.head) in nouns.PARTITIVES or phrase.head in nouns.PARTITIVES
        context = _compose_context(passage, of, vocabulary) if form.is_isa and not is_part else ""
        if not context or of is None:
            return None
        end = of.end
    # Only the speaker knows whose it is, not the shared graph: that is remembered for them.
    if form.is_isa and not context and not as_typed and phrase.head in memory_phrases.RELATIVES:
        return None
    if form is Form.IS_THE and not context:
        return None
    token = _compose_language(passage, phrase) if form is Form.IS_WRITTEN else ""
    token = token or _compose_parent(
        passage, phrase, form, vocabulary, is_plural_form=is_plural_form, as_typed=as_typed
    )
    if not token:
        return None
    return Parent(token, context or form.dimension, form, phrase, end, context)


def _is_object(passage: Passage, phrase: Phrase, form: Form, vocabulary: Vocabulary, is_plural_form: bool) -> bool:
    """True if a phrase says what something is or belongs to, and not how it is liked or when it happens."""
    last = phrase.tokens[-1]
    head = last.text
    is_ordinary = vocabulary.is_common(head) and not last.is_capitalised
    is_inflected = is_ordinary and ((is_plural(head) and not is_plural_form) or head.endswith(("ed", "ly")))
    if form in OPERATORS:
        return not is_inflected
    if form is Form.IS_WRITTEN:
        return bool(_compose_language(passage, phrase)) and _CORRECTED.match(passage.text, phrase.end) is None
    if phrase.next_word in ("one", "ones") or any(token.text == "same" for token in phrase.tokens):
        return False  # it refers to something mentioned before
    judged = singular_of(head) if is_plural(head) else head
    if form.is_isa and any(token.text in adjectives.NO_MORE for token in phrase.tokens[:-1]):
        return False
    is_named = bool(last.parts) and not form.is_isa  # `part of the Hygiene Plan`
    if (judged.rpartition("_")[2] in nouns.EVALUATIONS and not is_named) or len(head) == 1:
        return False
    # The last word of a name of several words is not an adjective: "Privet Drive".
    is_name = not form.is_isa and last.is_capitalised  # `owned by Nordlive`
    if is_adjective(head) and not (last.parts or is_name or is_marked(passage, last)):
        # Whatever ends a phrase after an article is a noun, unless it never is one: `a dwarf cleric of Moradin`.
        is_noun = form is Form.CALLED or (form is Form.IS_A and _AFTER_NOUN.match(passage.text, phrase.end) is not None)
        if not is_noun or head in adjectives.ADJECTIVES or is_descriptive(last):
            return False
    if form.is_isa and _is_ordinary_compound(last) and _ADJECTIVES_AHEAD.match(passage.text, last.end):
        return False  # `a low-overhead, cross-platform library`
    if form in (Form.IS_OWNED_BY, Form.OWNED_BY) and judged in nouns.NO_OWNERS:
        return False
    if form in (Form.IS_LOCATED, Form.LOCATED):
        return head in nouns.PLACE_NOUNS or _is_named(passage, last, vocabulary)
    if form in PLACES:
        return nouns.OCCASIONS.isdisjoint((phrase.tokens[0].text, head))
    if not form.is_isa:
        return True
    if is_plural_form and any("," in gap for gap in phrase.gaps):  # `are private, users cannot`
        return False
    if is_plural_form and (not is_plural(head)):
        return False
    if last.is_capitalised and phrase.next_word in ("and", "or") and _is_modifier_after(passage, phrase):
        return False
    is_degree = any(token.text in ("bit", "tad") for token in phrase.tokens)
    return not (is_inflected or phrase.is_numbered or is_degree)


def _is_used(passage: Passage, phrase: Phrase, vocabulary: Vocabulary) -> bool:
    """True if a phrase names something that others can be made of, not a part or feature of it: `uses Kafka`."""
    name, *others = phrase.tokens
    if others or phrase.determiner not in ("", "the") or name.text in names.HUMAN_LANGUAGES:
        return False
    if phrase.next_word in _NO_OBJECT_BEFORE or passage.text[phrase.end : phrase.end + 1] in _CUT_SHORT:
        return False
    return _is_named(passage, name, vocabulary)


def _is_modifier_after(passage: Passage, phrase: Phrase) -> bool:
    """True if a phrase and what is joined to it describe one noun: `a PostScript and PDF interpreter`."""
    index = bisect_left(passage.starts, phrase.next_end)
    if index >= len(passage.tokens) or not passage.tokens[index].is_capitalised:
        return False
    noun = passage.word_after(index)
    return bool(noun) and not is_closed_class(noun) and noun not in verbs.VERBS_AFTER_NAMES


def _compose_parent(
    passage: Passage,
    phrase: Phrase,
    form: Form,
    vocabulary: Vocabulary,
    *,
    is_plural_form: bool = False,
    as_typed: bool = False,
) -> str:
    """Return the one token that the phrase makes; "" if it makes none."""
    tokens = phrase.tokens
    if as_typed or form in OPERATORS or _is_quoted(passage, phrase):
        return _checked("_".join(token.text for token in tokens))
    head = _compose_head(passage, phrase, vocabulary)
    if is_plural_form and is_plural(head):  # `Raspberry Pis`
        head = singular_of(head)
    is_amount = phrase.is_counting and tokens[0].text.partition("_")[0] in names.UNITS  # `a 48 TB QNAP`
    if not head or (is_amount and tokens[0].parts):
        return ""
    kept = [head]
    has_name = (
        not form.is_isa
        and phrase.determiner not in _INDEFINITE
        and (_is_own_name(passage, tokens[-1]) or _is_named_host(tokens, vocabulary))
    )
    for index in range(len(tokens) - 2, -1, -1):
        token, gap = tokens[index], phrase.gaps[index]
        if gap.startswith(".") or _POSSESSIVE.match(gap):  # whose it is: `Anna's platform`
            break
        if len(kept) > _MODIFIERS_MAX:
            if not is_descriptive(token):  # perhaps of the next word only: `entry level e-bike controller`
                del kept[0]
            break
        if has_name and not token.is_capitalised:  # `the Proxmox host merak-1`
            break
        is_counted = not index and phrase.is_counting  # `a 5 port switch`
        if is_counted or is_descriptive(token) or _NOT_A_WORD.match(gap):
            continue
        if len(_PARTS.findall("_".join([token.text, *kept]))) >= WORDS_MAX:
            break
        kept.insert(0, token.text)
    return _checked("_".join(kept))


def _is_own_name(passage: Passage, token: Token) -> bool:
    """True if a word is the name of one thing, also after a noun: `the host merak-1`, `our friend Anna`."""
    is_acronym = passage.text[token.start : token.end].isupper()
    return any(map(str.isdigit, token.text)) or (token.is_capitalised and not is_acronym) or is_marked(passage, token)


def _is_named_host(tokens: tuple[Token, ...], vocabulary: Vocabulary) -> bool:
    """True for `the k3s cluster grenze`."""
    return len(tokens) > 1 and tokens[-2].text in nouns.HOST_NOUNS and not vocabulary.is_common(tokens[-1].text)


def _compose_head(passage: Passage, phrase: Phrase, vocabulary: Vocabulary) -> str:
    token = phrase.tokens[-1]
    head = token.text
    if not token.is_capitalised and not is_marked(passage, token) and is_plural(head):
        single = singular_of(head)
        if (len(single) >= _SINGULAR_MIN and vocabulary.is_common(single)) or single in nouns.TRADE_NOUNS:
            head = single
    if not phrase.is_numbered:
        return head
    if head in names.COUNTED:  # `part of step 4`
        return ""
    number = number_after(passage.text, head, token.end)
    return f"{head}_{number}" if number else head


def _compose_context(passage: Passage, phrase: Phrase | None, vocabulary: Vocabulary) -> str:
    """Return the name of what something is `of`; "" if that has no name."""
    if phrase is None or (phrase.determiner in POSSESSIVES and len(phrase.tokens) == 1 and not phrase.tokens[0].parts):
        return ""  # `a plugin of our CMS`
    *modifiers, head = phrase.tokens
    modifiers = [] if phrase.gaps and phrase.gaps[-1].startswith(".") else modifiers
    is_named = _is_named(passage, head, vocabulary) or any(
        token.is_capitalised or is_marked(passage, token) for token in modifiers
    )
    if not is_named:
        return ""
    return _compose_parent(passage, phrase, Form.IS_PART_OF, vocabulary)


def _is_ordinary_compound(token: Token) -> bool:
    """True if a word with an article is spelled like an ordinary one: `the client-side`, not `the wabe_cluster`."""
    return token.text.replace("-", "").isalpha() and not token.is_capitalised and "-" in token.text


def _compose_language(passage: Passage, phrase: Phrase) -> str:
    """Return the programming language that something is written in; "" if it is not one, or unclear."""
    token = phrase.tokens[-1]
    if passage.text[token.end : token.end + 1] in ("+", "#") or token.text in names.HUMAN_LANGUAGES:
        return ""
    is_written_as_name = token.is_capitalised or is_marked(passage, token)
    return token.text if is_written_as_name or token.text in names.PROGRAMMING_LANGUAGES else ""


def _is_named(passage: Passage, token: Token, vocabulary: Vocabulary) -> bool:
    """True if a word after a preposition is a name, and not a word for a kind of thing."""
    if is_marked(passage, token) or token.parts or vocabulary.is_concept(token.text):
        return True
    if is_ordinary_acronym(token) or len(token.text) == 1 or token.text in names.MONTHS_AND_DAYS:
        return False
    if token.is_capitalised:
        return True
    is_plain = is_plural(token.text) or token.text.endswith("ing")
    return not is_plain and is_distinctive(passage, token, vocabulary)


def _is_quoted(passage: Passage, phrase: Phrase) -> bool:
    """True if quotation marks enclose exactly this phrase: then it is one name, as it is written."""
    opening = passage.text[phrase.start - 1 : phrase.start]
    return opening in _QUOTES and passage.text[phrase.end : phrase.end + 1] == _QUOTES[opening]


def _checked(parent: str) -> str:
    return parent if len(parent) <= MAX_TOKEN_LENGTH and is_name(parent) else ""
