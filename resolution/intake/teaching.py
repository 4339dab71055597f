"""Reads what an operator writes about one concept, in plain words or in the syntax of ``gutask iknowthat``, and asserts
it."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from memory.english.doubt import SpeechAct
from memory.english.forms import find_forms
from memory.english.statements import find_cues
from memory.english.tokenizer import tokenise
from memory.graph.aliases import find_concepts, rename
from memory.graph.fact_syntax import FactMistake, find_name_mistake, parse_fact
from memory.models import Soas
from memory.secrets.redaction import mask_secrets
from memory.types import NAMES, Triple
from resolution.actors import Actor
from resolution.intake.place import Outcome, assert_fact

STATEMENT_MAX: Final = 1_000  # characters

HINT: Final = (
    'Write for instance "is a repo", "runs on heimdall", "is part of hogwarts" or "-isa repo in context of type".'
)

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]+")
_PRONOUN: Final = re.compile(r"(?:it|this)\s+", re.IGNORECASE)
# "is a repo [type]", as recollections are printed, and "is a repo in the context of type".
_CONTEXT: Final = re.compile(r"\s*(?:\[([^\[\]]+)\]|\bin (?:the )?context of (\S.*?))\s*[.!]?\Z", re.IGNORECASE)
_FLAGS: Final = ("-isa", "-ispart")
_JOINT: Final = re.compile(r"(?:,|\band)\s*\Z", re.IGNORECASE)


class NotUnderstood(ValueError):
    """The statement contains no fact about the concept; the message says why, in whole sentences."""


def teach(concept: str, text: str, actor: Actor) -> list[Outcome]:
    """Assert the facts in the statement and return their outcomes in order; at least one. Raises NotUnderstood, and
    then stores nothing."""
    facts = read_facts(concept, text)
    # Mask secrets: people paste keys and passwords, and the history keeps every word.
    attribution = actor.attribute(mask_secrets(_clean(text)))
    return [assert_fact(fact, attribution) for fact in facts]


def read_facts(concept: str, text: str) -> list[Triple]:
    """Return the facts about the concept that the statement contains. The statement may leave the concept out. Raises
    NotUnderstood."""
    if len(text) > STATEMENT_MAX:
        raise NotUnderstood(f"A statement has at most {STATEMENT_MAX:,} characters.")
    text = _clean(text)
    if mistake := find_name_mistake(concept):
        raise NotUnderstood(f"Nothing can be told about this word: {mistake}.")
    if not text:
        raise NotUnderstood(f"The statement is empty. {HINT}")
    if any(word.lower() in _FLAGS for word in text.split()):
        facts = [_read_syntax(concept, text)]
    else:
        facts = _read_shown(concept, text) or _read_sentence(concept, text)
    names = find_concepts(fact.concept for fact in facts)
    facts = [rename(fact, {fact.concept: names.get(fact.concept, fact.concept)}) for fact in facts]
    for fact in facts:
        if fact.concept != concept:
            raise NotUnderstood(
                f"That is about {fact.concept}, not about {concept}: teach it where {fact.concept} is shown."
            )
    return facts


def _clean(text: str) -> str:
    return " ".join(_CONTROL.sub(" ", text).split())


def _read_syntax(concept: str, text: str) -> Triple:
    if text.split()[0].lower() in _FLAGS:
        text = f"{concept} {text}"
    context = re.search(r"\s*\[([^\[\]]+)\]\s*\Z", text)
    if context is not None:
        text = f"{text[: context.start()]} in context of {context[1]}"
    return _parse(text)


def _parse(text: str) -> Triple:
    try:
        return parse_fact(text)
    except FactMistake as mistake:
        hint = f"{mistake.hint[:1].upper()}{mistake.hint[1:]}."
        raise NotUnderstood(f"That is no fact: {mistake}. {hint}") from mistake


def _read_shown(concept: str, text: str) -> list[Triple]:
    """Return the one ISPART fact if the text has the words in which pages show such facts; else nothing."""
    for words in (text, f"{concept} {text}"):
        with suppress(FactMistake):
            fact = parse_fact(words)
            if fact.concept == concept and not fact.is_isa:
                return [fact]
    return []


def _read_sentence(concept: str, text: str) -> list[Triple]:
    """Read facts from plain words. A dimension named at the end belongs to the last fact."""
    text = _PRONOUN.sub("", text, count=1) if _PRONOUN.match(text) else text
    context = _CONTEXT.search(text)
    sentence = text[: context.start()] if context is not None else text
    facts = [fact for clause in _clauses(sentence) for fact in _read_clause(concept, clause)]
    if context is not None:
        last, relation = facts[-1], "-isa" if facts[-1].is_isa else "-ispart"
        named = _parse(f"{last.concept} {relation} {last.parent} in context of {context[1] or context[2]}")
        facts[-1] = replace(last, dimension=named.dimension)
    return facts


def _clauses(sentence: str) -> Iterator[str]:
    """Split the sentence into clauses: "is a repo and runs on heimdall" has two."""
    start = 0
    for form in find_forms(f" {sentence}"):
        joint = _JOINT.search(sentence, start, form.start - 1)
        if joint is not None:
            yield sentence[start : joint.start()].rstrip()
            start = form.start - 1
    yield sentence[start:]


def _read_clause(concept: str, clause: str) -> list[Triple]:
    """Return the facts of a clause; at least one. Raises NotUnderstood."""
    first = next(iter(find_forms(f" {clause}")), None)
    sentence = f"{concept} {clause}" if first is not None and first.start == 1 else clause
    common = _find_common_words(sentence)
    # The second pass accepts any word as the subject, so that a statement about another thing gets a fitting answer.
    for words in (_Words(concept, common), _Words(concept, common, any_subject=True)):
        triples = find_cues(sentence, vocabulary=words, as_typed=True)
        if any(one.kind is SpeechAct.RETRACTS for one in triples):
            raise NotUnderstood(f'"{clause}" takes a fact back: use Retire beside that fact.')
        if any(one.dimension == NAMES for one in triples):
            raise NotUnderstood(f'"{clause}" gives it another name: use Other names.')
        if triples:
            return [Triple(one.subject, one.parent, one.dimension, one.is_isa) for one in triples]
    raise NotUnderstood(f'No fact was found in "{clause}". {HINT}')


def _find_common_words(text: str) -> frozenset[str]:
    words = {token.text for token in tokenise(text)}
    words |= {part for word in words for part in word.split("_")}  # the parts of compound names
    return frozenset(Soas.objects.filter(token__in=words, is_common=True).values_list("token", flat=True))


@dataclass(frozen=True, slots=True)
class _Words:
    """The vocabulary for a statement whose subject is known (implements noun_phrases.Vocabulary)."""

    concept: str
    common: frozenset[str]
    any_subject: bool = False

    def is_common(self, token: str) -> bool:
        return token in self.common

    def is_concept(self, token: str) -> bool:
        return self.any_subject or token == self.concept

    def is_location(self, token: str) -> bool:
        return True  # an operator who types "is in vael" means a place

    def find_dimension(self, concept: str, parent: str) -> str | None:
        return None
