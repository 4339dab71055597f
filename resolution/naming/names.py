"""Settles statements, including those that name a concept: ``kvasir, also known as kv``, ``skadi was renamed to
runar``. A name changes everything that is said under it, so it must be vouched for as a correction of all these facts
must be."""

from collections.abc import Sequence
from typing import Final

from django.db.models import Q

from memory.channels import Channel, is_weaker
from memory.db.transactions import in_transaction
from memory.english.doubt import SpeechAct
from memory.graph.aliases import find_concepts
from memory.graph.fact_syntax import find_name_mistake
from memory.graph.store import Assertion
from memory.models import Edge
from resolution.actors import Actor
from resolution.errors import DecisionError
from resolution.intake import assertions
from resolution.intake.assertions import Outcome
from resolution.intake.candidates import CandidateBook
from resolution.intake.quotas import Quotas
from resolution.models import Candidate
from resolution.naming import aliases, merging

TWO_NAMES: Final = "two names"  # the reason of such candidates
RENAMED_MAX: Final = 100  # facts that an agent's renaming may change


def settle(statements: Sequence[Assertion], *, is_metered: bool = False) -> list[Outcome]:
    """Settle the statements like resolution.intake.assertions.settle. A statement of a name must come alone."""
    if not any(one.triple.is_naming for one in statements):
        return assertions.settle(statements, is_metered=is_metered)
    [statement] = statements
    return [_settle_name(statement)]


@in_transaction
def promote(candidate_id: int, actor: Actor) -> Outcome | None:
    """State the candidate as the actor's own. Returns None if it is no longer open."""
    waiting = Candidate.objects.select_for_update().filter(pk=candidate_id, state=Candidate.State.OPEN)
    row = waiting.first()
    return settle([Assertion(row.triple, actor.attribute(row.evidence))])[0] if row is not None else None


def _settle_name(statement: Assertion) -> Outcome:
    triple, said = statement.triple, statement.attribution
    if mistake := find_name_mistake(triple.concept) or find_name_mistake(triple.parent):
        return Outcome("invalid", triple, reason=mistake)
    book, quotas = CandidateBook([triple]), Quotas({})
    quotas.read([statement])
    vouched = assertions.vouch(book, statement)
    if vouched is None:
        outcome = assertions.wait(book, quotas, statement)
    else:
        try:
            outcome = _give_name(vouched)
            book.settle(vouched)
        except DecisionError as error:
            if said.channel == Channel.OPERATOR:
                return Outcome("invalid", triple, reason=str(error))
            outcome = assertions.wait(book, quotas, vouched, TWO_NAMES, reason=str(error))
    book.write()
    quotas.write()
    return outcome


def _give_name(statement: Assertion) -> Outcome:
    """Name or merge the concepts. Raises DecisionError, and then changes nothing."""
    triple, said = statement.triple, statement.attribution
    names = find_concepts([triple.concept, triple.parent])
    other, own = (names.get(word, word) for word in (triple.concept, triple.parent))
    if other == own:
        return Outcome("confirmed", triple)
    facts, facts_of_own = _find_facts(other), _find_facts(own)
    if said.channel != Channel.OPERATOR:
        _refuse_stronger([*facts, *facts_of_own], said.channel)
        if facts and facts_of_own:
            raise DecisionError(f"There are facts about {other} and about {own}: an operator can merge them.")
        if facts and statement.manner.kind is not SpeechAct.CHANGES:
            other, own, facts = own, other, []
    if not facts:
        return Outcome(aliases.name_concept(other, own, said).status, triple)
    if said.channel != Channel.OPERATOR:
        aliases.refuse_doubtful(own, other, said)
    merging.merge(other, own, Actor(said.agent, said.source), said.evidence)
    return Outcome("superseded", triple)


def _find_facts(word: str) -> list[Edge]:
    """Return facts about or with the word, at most RENAMED_MAX + 1."""
    facts = Edge.objects.filter(Q(concept__token=word) | Q(parent__token=word) | Q(dim__token=word))
    return list(facts[: RENAMED_MAX + 1])


def _refuse_stronger(facts: Sequence[Edge], channel: Channel | str) -> None:
    if len(facts) > RENAMED_MAX or any(fact.is_root or is_weaker(channel, fact.channel) for fact in facts):
        raise DecisionError("It changes what was stated on purpose, or a lot: an operator can give it that name.")
