"""Claims: the value that a plain sentence gives a slot, and how values compare.

Such a sentence is of the form `the | our | my N is V`, or says one of the relations of which a thing has one at a time
(``lexicon/single_valued.txt``), and does nothing else."""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final

from memory.english.function_words import is_closed_class
from memory.english.lexicon import load_lines, load_words, read_pattern
from memory.english.noun_phrases import is_adjective, is_participle, is_plural
from memory.english.opposites import list_numbers
from memory.english.stems import content_stems, stem, words_of
from memory.english.telling import TEXTS_KEPT, split_sentences

READ_MAX: Final = 400  # characters: a longer sentence is not plain
SENTENCES_MAX: Final = 6  # of a text
SUBJECT_WORDS_MAX: Final = 6

# A name or an amount. Without the lookahead, each of many digits could be the one that makes it an amount, and a search
# that fails would try them all.
_NAME: Final = r"(?:[A-Z][\w+#/.-]*|(?=[\w-]*\d)[\w-][\w.,:+/-]*(?: [a-zA-Zµ°%]{1,3}\b)?|[a-z]+[A-Z]\w*)"
_NAMED: Final = rf"{_NAME}(?: {_NAME}){{0,4}}"
_DEFINITE: Final = r"(?:the|our) [a-z][\w-]*(?: [\w-]+){0,5}"
_NAMED_OR_DEFINITE: Final = re.compile(rf"{_NAMED}|{_DEFINITE}")
_RELATIONS: Final = {
    phrase: relation
    for relation, _, phrases in (line.partition(": ") for line in load_lines("single_valued"))
    for phrase in phrases.split(", ")
}
_STATES: Final = "|".join(phrase.removeprefix("is ") for phrase in sorted(_RELATIONS) if phrase.startswith("is "))
_VERBS: Final = "|".join(phrase for phrase in sorted(_RELATIONS) if not phrase.startswith("is "))
_JOINING: Final = load_words("joining")
_DECIDED: Final = read_pattern("decided")
_CHOSE: Final = read_pattern("chose")
_CORRECTION: Final = rf"{read_pattern('corrections')}\b[\s,:!.–—-]*"
_NOW: Final = "(?: now| currently)?"
_WE: Final = r"(?:[Tt]he team|[Ww]e)"
_ABOUT: Final = r"(?P<ours>[Tt]he team's|(?:[Tt]he )?[Uu]ser's|[Tt]he|[Oo]ur|[Mm]y) (?P<about>[\w' ./-]{3,80}?)"
_VALUE: Final = rf"(?P<value>{_NAMED}|{_DEFINITE}|[a-z][a-z_-]*(?: [a-z][a-z_-]*)?)"
_CLAIM: Final = re.compile(
    rf"(?:{_WE} {_DECIDED} that )?(?:{_ABOUT}|(?P<name>{_NAMED}|[\w./-]+))"
    rf"(?: is(?P<denied> not| no longer)?{_NOW}(?: (?P<state>{_STATES}))?|{_NOW} (?P<does>{_VERBS})) {_VALUE}"
)
_CHOICE: Final = re.compile(rf"{_WE} (?:{_DECIDED} to use|now use|{_CHOSE}) {_VALUE} (?:for|as) {_ABOUT}")
_NOT: Final = re.compile(r"(?<=\bis)n't\b")
_OPENING: Final = re.compile(
    rf"\A(?:(?:please )?(?:remember|note|keep in mind)(?: that|:)?\s+|(?:{_CORRECTION})+)",
    re.IGNORECASE,
)
# The former value in a sentence that says the current one: `is no longer in Oslo, but in Bergen`.
_FORMER: Final = re.compile(
    r"\b(?:no longer|not) [^,.;]{1,60}?,? but |(?:, not| instead of| rather than) [^,.;]{1,60}$"
)

_FILLERS: Final = frozenset({"of", "the"})
_JOINER: Final = re.compile(r"(?<=\w)(?:[-_]|\s+)(?=\w)")
_BEFORE_UNIT: Final = re.compile(r"(?<=\d) (?=[^\W\d_]|[%°])")
_AMOUNT: Final = re.compile(r"(?P<version>v?)(?P<number>\d+(?:[.,:]\d+)*)(?P<unit> ?[^\W\d]{0,12}|%)")


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim. ``subject`` and ``value`` as they are written; ``relation`` is empty for what something is.
    ``is_denied``: the sentence says that it is not so. ``is_plain``: it is of the form `the | our | my N is V`, and V a
    name, a number or a definite phrase."""

    subject: str
    relation: str
    value: str
    is_denied: bool = False
    is_plain: bool = False

    @property
    def slot(self) -> str:
        """The stems of subject and relation in order: claims with equal slots speak of the same."""
        return join_words(words_in(self.subject) | words_in(self.relation))


# --- reading ---


@lru_cache(maxsize=TEXTS_KEPT)
def read_claims(text: str) -> Mapping[str, Claim]:
    """Return what the first sentences of a text claim, by the slots; empty for nearly all texts."""
    claims = filter(None, map(_read_claim, islice(split_sentences(text), SENTENCES_MAX)))
    return {claim.slot: claim for claim in claims}


def read_plain(text: str) -> Claim | None:
    """Return the claim of a text that is one sentence `the | our | my N is V`."""
    claim = _read_claim(text)
    return claim if claim is not None and claim.is_plain else None


def _read_claim(sentence: str) -> Claim | None:
    if len(sentence) > READ_MAX:
        return None
    plain = _OPENING.sub("", " ".join(sentence.replace("’", "'").split()))
    plain = strip_adverbials(_FORMER.sub("", strip_adverbials(_NOT.sub(" not", plain))))
    if (found := _CHOICE.fullmatch(plain)) is not None and _is_subject(found["about"]):
        return Claim(found["about"], "", found["value"])
    if (found := _CLAIM.fullmatch(plain)) is None:
        return None
    subject, value, is_ours = found["about"] or found["name"], found["value"], bool(found["ours"])
    relation = _RELATIONS.get(f"is {found['state']}" if found["state"] else found["does"], "")
    is_named = _NAMED_OR_DEFINITE.fullmatch(value) is not None
    if not (relation or is_ours) or not _is_subject(subject) or (relation != "name" and _is_quality(value)):
        return None
    if relation == "geography" and not is_named:  # `in beta`
        return None
    is_name = relation == "name" or (not relation and (is_named or subject.endswith(" name")))
    is_plain = is_name and is_ours and not is_plural(words_of(subject)[-1])
    return Claim(subject, relation, value, bool(found["denied"]), is_plain)


def _is_subject(phrase: str) -> bool:
    """True if the phrase lastingly names one thing: `deployment target`, not `problem`."""
    words = words_of(phrase)
    named = [word for word in words if word not in _JOINING]
    head = next((at for at, word in enumerate(words) if at and word in _JOINING), len(words))
    is_named = 0 < len(named) <= SUBJECT_WORDS_MAX and not any(map(is_closed_class, named))
    return is_named and load_words("pointing").isdisjoint(named) and words[head - 1] not in load_words("transient")


def _is_quality(value: str) -> bool:
    """True if it says what something is like, or where: `ready`, `REST-based`, `in progress`."""
    first, *_, last = ["", *value.replace("-", " ").split()][-2:]
    is_like = last.islower() and (is_adjective(last) or is_participle(last))
    return not value.startswith(("the ", "our ")) and (is_like or is_closed_class(first) or is_closed_class(last))


def strip_adverbials(text: str) -> str:
    """Remove adverbs and the like from the end of a text."""
    words, phrases, nouns = text.rstrip(" .!").split(), load_lines("adverbials"), load_words("ly_nouns")
    while len(words) > 1:
        small = [" ".join(words_of(" ".join(words[-count:]))) for count in (1, 2, 3, 4)]
        is_adverb = words[-1].endswith("ly") and words[-1].islower() and small[0] not in nouns
        # A sign alone, `:)` or an emoji, is no word.
        count = next((at for at, phrase in enumerate(small, 1) if phrase in phrases), int(is_adverb or not small[0]))
        if not count or count >= len(words):
            break
        words = words[:-count]
    return " ".join(words).rstrip(" ,.!")


# --- comparing texts ---


def share_slot(one: str, other: str) -> bool:
    """True if two texts give one slot a value."""
    return not read_claims(one).keys().isdisjoint(read_claims(other))


def claim_same(one: str, other: str) -> bool:
    """True if two texts claim the same of a slot."""
    first, second = read_claims(one), read_claims(other)
    return any(_is_same(first[slot], second[slot]) for slot in first.keys() & second.keys())


def differ_in_value(one: str, other: str) -> bool:
    """True if two texts claim different values of a slot."""
    return share_slot(one, other) and not claim_same(one, other)


def states_other_value(older: str, newer: str) -> bool:
    """True if two texts name two values of one slot that exclude each other."""
    first, second = read_claims(older), read_claims(newer)
    return any(
        not (first[slot].is_denied or second[slot].is_denied)
        and exclude_each_other(first[slot].value, second[slot].value)
        for slot in first.keys() & second.keys()
    )


@lru_cache(maxsize=TEXTS_KEPT)
def corrects(newer: str, older: str) -> bool:
    """True if the newer clause gives a slot another value than the older text, or takes that value back."""
    if states_other_value(older, newer):
        return True
    denied, claimed = read_claims(newer), read_claims(older)
    return any(
        denied[slot].is_denied and not claimed[slot].is_denied and same_value(denied[slot].value, claimed[slot].value)
        for slot in denied.keys() & claimed.keys()
    )


def _is_same(one: Claim, other: Claim) -> bool:
    return one.is_denied == other.is_denied and same_value(one.value, other.value)


# --- words and values ---


@lru_cache(maxsize=65_536)
def words_in(part: str) -> frozenset[str]:
    """Return the stems of a name, without words that only join."""
    return frozenset(stem(word) for word in words_of(part) if word not in _FILLERS)


def join_words(words: Iterable[str]) -> str:
    return " ".join(sorted(words))


def same_value(one: str, other: str) -> bool:
    """True if two values differ only in case and in what joins their words. `4.8 kg` is not `4.82 kg`."""
    return normalise(one) == normalise(other)


def are_different(one: str, other: str) -> bool:
    """True if each of two values says something that the other does not. `flask_app` only says more than `app`."""
    first, second = (
        {*(word for word in content_stems(value) if not word.isdigit()), *list_numbers(value)} for value in (one, other)
    )
    return not (first <= second or second <= first)


def exclude_each_other(one: str, other: str) -> bool:
    """True if only one of two values can be right: both `Friday` and `v1.2` may be; `5` and `5.0` are equal."""
    sort = _sort_of(one)
    if sort != _sort_of(other):
        return False
    if sort not in ("name", "day"):
        return _read_number(one) != _read_number(other)
    first, second = normalise(one), normalise(other)
    return not (first.startswith(second) or second.startswith(first)) and are_different(one, other)


def _sort_of(value: str) -> str:
    """Return `name`, `day` or, of an amount, its unit."""
    small = value.casefold()
    if not load_words("months_and_days").isdisjoint(words_of(small)):
        return "day"
    found = _AMOUNT.fullmatch(small)
    if found is None:
        return "name"
    is_time = ":" in found["number"]
    return f"{found['version']}{':' if is_time else ''}{found['unit'].strip()}" or "number"


def _read_number(value: str) -> list[str]:
    """Return the digit groups of an amount, without zeros that say nothing: `1.10` may be a version, `1.10 kg` is
    not."""
    first, *rest = re.findall(r"\d+", next(iter(list_numbers(value))))
    is_measure = value[-1:].isalpha() or value.endswith("%")
    parts = [first, *(part.rstrip("0") if is_measure or not part.strip("0") else part for part in rest)]
    while parts[1:] and not parts[-1]:
        parts.pop()
    return parts


def normalise(value: str) -> str:
    small = unicodedata.normalize("NFKC", value).casefold().strip(" .")
    return _BEFORE_UNIT.sub("", _JOINER.sub(" ", small))
