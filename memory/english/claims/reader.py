"""Reads what a plain sentence claims. Such a sentence gives a slot a value, and does nothing else.

Claims about names are read by the reader of cues, as facts are ("Kvasir runs on lovelace."). Claims about definite
phrases are read here ("the deployment target is Nomad", "our staging server is called heron", "we decided to use Kafka
for the event bus", "the kiln is owned by Anna"). Whether another value may be true beside this one depends on the form
and on the value: there is one name or amount of the deployment target, but a backend is many things."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from memory.channels import Channel
from memory.english.claims.claim import Claim, list_numbers
from memory.english.claims.oppositions import count_negations
from memory.english.claims.stems import words_of
from memory.english.doubt import SpeechAct
from memory.english.function_words import is_closed_class
from memory.english.lexicon import load_words, read_pattern
from memory.english.noun_phrases import AnyName, is_adjective, is_participle, is_plural
from memory.english.statements import find_cues
from memory.types import ADDITIVE_SEEDS, NAMES, TYPE

READ_MAX: Final = 400  # characters: longer text is several sentences
SUBJECT_WORDS_MAX: Final = 6
CALLED, MATERIAL = "name", "material"  # relations
MANY: Final = frozenset({TYPE, NAMES}) | ADDITIVE_SEEDS  # dimensions that allow more than one answer

_NAME: Final = r"(?:[A-Z][\w+#/-]*|[\w-]*\d[\w.,:+/-]*(?: [a-zA-Zµ°%]{1,3}\b)?|[a-z]+[A-Z]\w*)"  # or an amount
NAMED: Final = rf"{_NAME}(?: {_NAME}){{0,4}}"
_DEFINITE: Final = r"(?:the|our) [a-z][\w-]*(?: [\w-]+){0,5}"
_NAMED_OR_DEFINITE: Final = re.compile(rf"{NAMED}|{_DEFINITE}")
_WORD: Final = r"[a-z][a-z-]*"
_VALUE: Final = rf"(?P<value>{NAMED}|{_WORD})"
_ANY_VALUE: Final = rf"(?P<value>{NAMED}|{_DEFINITE}|{_WORD})"
_OURS: Final = r"(?:[Tt]he team['’]s|(?:[Tt]he )?[Uu]ser['’]s|[Tt]he|[Oo]ur|[Mm]y)"
_OWN: Final = rf"(?P<ours>{_OURS}) (?P<about>[\w'’ ./-]{{3,80}}?)"
_ABOUT: Final = rf"(?:(?P<ours>{_OURS}) )?(?P<about>[\w'’ ./-]{{3,80}}?)"
_DECIDED: Final = rf"(?:(?:[Tt]he team|[Ww]e) (?:{read_pattern('decided')} (?:that|(?P<to>to)) )?)?"
_IS: Final = r" (?P<be>is|are|will be|must be)(?P<denied> not| no longer)?(?: now)?"
_END: Final = r"(?: from now on| now)?"
# `The N is V`: what a memory's slot is, and the only plain sentences of a project that are remembered.
_PLAIN: Final = (
    re.compile(rf"{_OWN}{_IS} {_ANY_VALUE}{_END}"),
    re.compile(rf"{_OWN}{_IS} (?P<called>called|named) {_VALUE}{_END}"),
)
_FORMS: Final = (
    re.compile(rf"{_DECIDED}{_ABOUT}(?::| =|{_IS}) {_VALUE}{_END}"),
    *(re.compile(f"{_DECIDED}{form.pattern}") for form in _PLAIN),
    re.compile(rf"{_DECIDED}{_ABOUT}{_IS} (?P<done>{read_pattern('done_by')}) by {_ANY_VALUE}{_END}"),
    re.compile(rf"{_ABOUT}{_IS} (?P<made>made|built) of {_VALUE}{_END}"),
    re.compile(
        rf"{_DECIDED}(?:(?P<now>now )?uses?|(?P<chose>{read_pattern('chose')})) {_VALUE} (?:for|as) {_ABOUT}{_END}"
    ),
)
# Before a word that is only part of a name: `the billing` server.
_OF_A_PHRASE: Final = re.compile(r"\b(?:the|our|my|your|this|that|an?) (?:[\w-]+ ){1,3}\Z", re.IGNORECASE)
_NUMERAL: Final = re.compile(r"v?\d+(?:[.,:]\d+)*", re.IGNORECASE)
_COPULA: Final = re.compile(rf"(?<=\s){read_pattern('copulas')}(?=\s)", re.IGNORECASE)
_STATE: Final = re.compile(rf"(?<=\s){read_pattern('lasting_states')}\b", re.IGNORECASE)
_PAST: Final = re.compile(rf"\b{read_pattern('past_verbs')}\b", re.IGNORECASE)


@lru_cache(maxsize=16_384)
def read_claims(text: str) -> tuple[Claim, ...]:
    """Return what a sentence claims, one claim a slot; empty for nearly all sentences."""
    plain = " ".join(text.split()).rstrip(" .!")
    if len(plain) > READ_MAX:
        return ()
    return tuple({claim.slot: claim for claim in (*_read_names(text), *_read_definites(plain))}.values())


def read_measure(text: str) -> Claim | None:
    """Return what a sentence says of how something is, numbers included: sentences that differ only in the numbers
    share its slot. None if it has no number, describes no lasting state, or denies it."""
    found = _find_state(text)
    rest = text[found.end() :].strip(" .") if found is not None else ""
    if found is None or not list_numbers(rest) or count_negations(text):
        return None
    verb = "" if found.re is _COPULA else found[0]
    subject, relation = (
        " ".join(word for word in words_of(part) if not is_closed_class(word))
        for part in (text[: found.start()], _NUMERAL.sub(" ", f"{verb} {rest}"))
    )
    return Claim(subject, relation, rest, is_named=False) if subject else None


def tells_of_state(text: str) -> bool:
    """True if the sentence says how something is, and not how it once was."""
    return _find_state(text) is not None


def _find_state(text: str) -> re.Match[str] | None:
    """Return the verb of state. `Limit` and `cap` are nouns as well if a form of to be or to have follows."""
    past = _PAST.search(text)
    end = past.start() if past is not None else len(text)
    return _COPULA.search(text, 1, end) or _STATE.search(text, 1, end)


def _read_names(text: str) -> Iterator[Claim]:
    for match in find_cues(text, vocabulary=AnyName()):  # names that no fact is about match none otherwise
        is_plain = match.kind is not SpeechAct.RETRACTS and not match.is_hedged and match.channel is Channel.USER
        is_part = text[match.start].islower() and _OF_A_PHRASE.search(text, 0, match.start) is not None
        if is_plain and match.dimension not in MANY and not is_part:
            yield Claim(match.subject, match.dimension, match.parent, is_named=False)


def read_plain(text: str) -> Claim | None:
    """Return the claim of a sentence `the | our | my N is V` that leaves no room for another value: V is a name, a
    number or a definite phrase."""
    plain = " ".join(text.split()).rstrip(" .!")
    claims = _read_definites(plain, _PLAIN) if len(plain) <= READ_MAX else ()
    return next((claim for claim in claims if claim.is_named), None)


def _read_definites(plain: str, forms: Sequence[re.Pattern[str]] = _FORMS) -> Iterator[Claim]:
    for form in forms:
        found = form.fullmatch(plain)
        if found is None or not _is_subject(found["about"]):
            continue
        groups, value = found.groupdict(), found["value"]
        if groups.get("called"):
            relation = CALLED
        elif groups.get("made"):
            relation = MATERIAL
        else:
            relation = f"{found['done']}-by" if groups.get("done") else ""
        if _is_quality(value) and relation != CALLED:
            continue
        is_named = bool(groups["ours"]) and _is_named(groups, relation) and not is_plural(words_of(found["about"])[-1])
        yield Claim(found["about"], relation, value, is_denied=bool(groups.get("denied")), is_named=is_named)


def _is_named(groups: dict[str, str | None], relation: str) -> bool:
    """True if the sentence leaves no room for another value beside this: it names what there is one of."""
    about, value = groups["about"] or "", groups["value"] or ""
    if groups.get("be") is None:
        return bool(groups.get("to") or groups.get("now") or groups.get("chose"))
    if groups["be"] != "is":  # `will be` is not yet true
        return False
    if relation == CALLED or about.endswith(" name"):
        return True
    is_one = not relation or groups.get("done") in load_words("done_by_one")
    return is_one and _NAMED_OR_DEFINITE.fullmatch(value) is not None and not is_adjective(value.lower())


def _is_quality(value: str) -> bool:
    """True if it says what something is like: `ready`, `REST-based`."""
    last = value.rpartition("-")[2] if "-" in value else value
    return last.islower() and (is_adjective(last) or is_participle(last) or is_closed_class(last))


def _is_subject(phrase: str) -> bool:
    """True if the phrase lastingly names one thing: `deployment target`, not `problem`."""
    words = words_of(phrase)
    named = [word for word in words if word not in load_words("joining")]
    head = next((at for at, word in enumerate(words) if at and word in load_words("joining")), len(words))
    is_named = 0 < len(named) <= SUBJECT_WORDS_MAX and not any(map(is_closed_class, named))
    return is_named and load_words("pointing").isdisjoint(named) and words[head - 1] not in load_words("transient")
