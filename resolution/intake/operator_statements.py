"""What an operator writes about one concept, in whichever way people would, as facts that are asserted."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Final

from memory.domain.cues.extractor import find_cues
from memory.domain.cues.patterns import find_forms
from memory.domain.fact_syntax import FactMistake, parse_fact
from memory.domain.text.redaction import mask_secrets
from memory.domain.text.tokenizer import tokenise
from memory.domain.types import Triple
from memory.models import Soas
from resolution.actors import Actor
from resolution.intake.assertions import Outcome, assert_fact

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
    """The statement is no fact about the concept; the text says why, in whole sentences."""


def teach(concept: str, text: str, actor: Actor) -> list[Outcome]:
    """What became of each fact that the statement holds, in its order; at least one. Raises NotUnderstood, and then
    nothing is stored."""
    facts = read(concept, text)
    attribution = actor.attribute(mask_secrets(_clean(text)))
    return [assert_fact(fact, attribution) for fact in facts]


def read(concept: str, text: str) -> list[Triple]:
    """The facts about the concept that the statement holds; the concept itself may be left out. Raises
    NotUnderstood."""
    if len(text) > STATEMENT_MAX:
        raise NotUnderstood(f"A statement has at most {STATEMENT_MAX:,} characters.")
    text = _clean(text)
    if not text:
        raise NotUnderstood(f"The statement is empty. {HINT}")
    facts = _written(concept, text) if _is_written(text) else _spoken(concept, text)
    for fact in facts:
        if fact.concept != concept:
            raise NotUnderstood(
                f"That is about {fact.concept}, not about {concept}: teach it where {fact.concept} is shown."
            )
    return facts


def _clean(text: str) -> str:
    return " ".join(_CONTROL.sub(" ", text).split())


def _is_written(text: str) -> bool:
    return any(word.lower() in _FLAGS for word in text.split())


def _written(concept: str, text: str) -> list[Triple]:
    """In the language of ``gutask iknowthat``."""
    if text.split()[0].lower() in _FLAGS:
        text = f"{concept} {text}"
    context = re.search(r"\s*\[([^\[\]]+)\]\s*\Z", text)
    if context is not None:
        text = f"{text[: context.start()]} in context of {context[1]}"
    try:
        return [parse_fact(text)]
    except FactMistake as mistake:
        raise NotUnderstood(f"That is no fact: {mistake}. {_sentence(mistake.hint)}") from mistake


def _spoken(concept: str, text: str) -> list[Triple]:
    """In plain words. A dimension that is named at the end is the last fact's."""
    text = _PRONOUN.sub("", text, count=1) if _PRONOUN.match(text) else text
    context = _CONTEXT.search(text)
    sentence = text[: context.start()] if context is not None else text
    facts = [fact for clause in _clauses(sentence) for fact in _stated(concept, clause)]
    if context is not None:
        facts[-1] = _in_context(facts[-1], context[1] or context[2])
    return facts


def _clauses(sentence: str) -> Iterator[str]:
    """ "is a repo and runs on heimdall" is two."""
    start = 0
    for form in find_forms(f" {sentence}"):
        joint = _JOINT.search(sentence, start, form.start - 1)
        if joint is not None:
            yield sentence[start : joint.start()].rstrip()
            start = form.start - 1
    yield sentence[start:]


def _stated(concept: str, clause: str) -> list[Triple]:
    """The facts of a clause; at least one. Raises NotUnderstood."""
    first = next(find_forms(f" {clause}"), None)
    sentence = f"{concept} {clause}" if first is not None and first.start == 1 else clause
    common = _common_words(sentence)
    # Looked for once more as if every word could be a subject: so a statement about another thing is told as one.
    for words in (_Words(concept, common), _Words(concept, common, any_subject=True)):
        triples = find_cues(sentence, vocabulary=words)
        if triples:
            return [Triple(one.subject, one.parent, one.dimension, one.is_isa) for one in triples]
    raise NotUnderstood(f'No fact was found in "{clause}". {HINT}')


def _in_context(fact: Triple, dimension: str) -> Triple:
    relation = "-isa" if fact.is_isa else "-ispart"
    try:
        named = parse_fact(f"{fact.concept} {relation} {fact.parent} in context of {dimension}")
    except FactMistake as mistake:
        raise NotUnderstood(f"That is no fact: {mistake}. {_sentence(mistake.hint)}") from mistake
    return replace(fact, dimension=named.dimension)


def _common_words(text: str) -> frozenset[str]:
    words = {token.text for token in tokenise(text)}
    return frozenset(Soas.objects.filter(token__in=_parts(words), is_common=True).values_list("token", flat=True))


def _parts(words: Collection[str]) -> Iterator[str]:
    """The words, and those that a name of several joins."""
    for word in words:
        yield word
        yield from word.split("_")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


@dataclass(frozen=True, slots=True)
class _Words:
    """The vocabulary for a statement of which one knows what it is about (memory.domain.cues.subjects.Vocabulary)."""

    concept: str
    common: frozenset[str]
    any_subject: bool = False

    def is_common(self, token: str) -> bool:
        return token in self.common

    def is_concept(self, token: str) -> bool:
        return self.any_subject or token == self.concept
