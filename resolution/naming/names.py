"""Gives concepts other names, for operators, agents and statements: ``kvasir, also known as kv``, ``skadi was renamed
to runar``. A name that changes facts must be vouched for as a correction of all of them must be."""

import logging
from collections.abc import Sequence
from typing import Final, NamedTuple

from django.db import transaction
from django.db.models import Q

from memory.channels import Channel, is_weaker, may_change
from memory.db.connections import run_together
from memory.db.transactions import GraphChanged, in_transaction
from memory.english.doubt import SpeechAct
from memory.english.name_shapes import find_doubt
from memory.graph import store
from memory.graph.aliases import find_concepts
from memory.graph.fact_syntax import find_name_mistake
from memory.graph.judging import Effect
from memory.graph.store import Assertion, Attribution
from memory.models import Alias, Edge, Soas
from memory.types import TYPE, Triple
from resolution.actors import Actor
from resolution.conflicts.change_log import recording
from resolution.conflicts.queue import OPEN
from resolution.errors import DecisionError, InvalidDecision, UnknownId
from resolution.intake.candidates import CandidateBook, lock_open
from resolution.intake.place import CURRENT, Outcome, as_placeable, keep_as_candidate, place_statements
from resolution.intake.quotas import Quotas
from resolution.models import Claim, Decision
from resolution.naming import merging

logger = logging.getLogger(__name__)

TWO_NAMES: Final = "two names"  # the reason of candidates that an operator may make names
RENAMED_MAX: Final = 100  # facts that an agent's renaming may change


class Promotion(NamedTuple):
    """The outcome of promoting a candidate, and the decision; None if the candidate still waits."""

    outcome: Outcome
    decision: Decision | None


class NamedConcept(NamedTuple):
    """The result of naming a concept: the alias is new, was known, or led to another concept."""

    status: Effect
    alias: Alias


# --- statements ---


def place_or_name(statements: Sequence[Assertion], *, is_metered: bool = False) -> list[Outcome]:
    """Place the statements (resolution.intake.place). A statement of a name must come alone."""
    if not any(one.triple.is_naming for one in statements):
        return place_statements(statements, is_metered=is_metered)
    [statement] = statements
    return [_name(statement)]


@in_transaction
def promote(candidate_id: int, actor: Actor, reason: str = "") -> Promotion | None:
    """State the candidate as the actor's own. Returns None if it is no longer open."""
    if (row := lock_open(candidate_id)) is None:
        return None
    with recording(Decision.Kind.PROMOTE, actor, reason, candidate=row) as decision:
        [outcome] = place_or_name([Assertion(row.triple, actor.attribute(row.evidence))])
        if outcome.claim is not None and outcome.status == Effect.CONFLICT:
            decision.arguments = {"conflict": outcome.claim.conflict_id}
    return Promotion(outcome, decision if outcome.status in (*CURRENT, Effect.CONFLICT) else None)


def _name(statement: Assertion) -> Outcome:
    triple, said = statement.triple, statement.attribution
    if mistake := find_name_mistake(triple.concept) or find_name_mistake(triple.parent):
        return Outcome(Effect.INVALID, triple, reason=mistake)
    book, quotas = CandidateBook([triple]), Quotas()
    quotas.read([said])
    if (vouched := as_placeable(book, statement)) is None:
        outcome = keep_as_candidate(book, quotas, statement)
    else:
        try:
            outcome = Outcome(_name_or_merge(vouched), triple)
            book.settle(vouched)
        except DecisionError as error:
            if said.channel == Channel.OPERATOR:
                return Outcome(Effect.INVALID, triple, reason=str(error))
            outcome = keep_as_candidate(book, quotas, vouched, TWO_NAMES, reason=str(error))
    book.write()
    run_together(*quotas.write())
    return outcome


def _name_or_merge(statement: Assertion) -> Effect:
    """Name the concept or, if both names have facts, merge the two. Raises DecisionError, and then changes nothing."""
    triple, said = statement.triple, statement.attribution
    names = find_concepts([triple.concept, triple.parent])
    other, own = (names.get(word, word) for word in (triple.concept, triple.parent))
    if other == own:
        return Effect.CONFIRMED
    facts, facts_of_own = _find_facts(other), _find_facts(own)
    if (
        facts
        and not facts_of_own
        and statement.manner.kind is not SpeechAct.CHANGES
        and said.channel != Channel.OPERATOR
    ):
        other, own, facts, facts_of_own = own, other, facts_of_own, facts
    if not facts:
        _refuse_weaker(facts_of_own, said, is_changing=False)
        return name_concept(other, own, said).status
    _refuse_weaker([*facts, *facts_of_own], said, is_changing=True)
    _refuse_doubtful(own, other, said)
    merging.merge(other, own, Actor(said.agent, said.source), said.evidence)
    return Effect.SUPERSEDED


def _find_facts(word: str) -> list[Edge]:
    """Return facts about or with the word, at most RENAMED_MAX + 1."""
    facts = Edge.objects.filter(Q(concept__token=word) | Q(parent__token=word) | Q(dim__token=word))
    return list(facts[: RENAMED_MAX + 1])


def _refuse_weaker(facts: Sequence[Edge], said: Attribution, *, is_changing: bool) -> None:
    """Raise DecisionError unless the speaker could correct all these facts; if the name changes none, their channel
    must not be weaker."""
    if said.channel == Channel.OPERATOR:
        return
    supporters: dict[int, set[object]] = {fact.pk: set() for fact in facts}
    for row in store.select_support(facts) if is_changing else ():
        supporters[row.object_id].add(row.supporter)
    may_name = (
        may_change(said.channel, fact.channel, is_sole=supporters[fact.pk] == {said.supporter})
        if is_changing
        else not is_weaker(said.channel, fact.channel)
        for fact in facts
    )
    if len(facts) > RENAMED_MAX or any(fact.is_root for fact in facts) or not all(may_name):
        raise DecisionError("It changes what others have stated, or a lot: an operator can give it that name.")


# --- names ---


@in_transaction
def name_concept(alias: str, concept: str, said: Attribution) -> NamedConcept:
    """Make a name without facts an alias of the concept. Raises DecisionError."""
    for name in (alias, concept):
        if mistake := find_name_mistake(name):
            raise InvalidDecision(f"{mistake}.")
    concept = find_concepts([concept]).get(concept, concept)
    if alias == concept:
        raise InvalidDecision(f"{alias} is the concept's own name.")
    # Lock in one order: of two transactions that name the same concepts, the second waits and sees the first's result.
    # Lock before ``ensure_tokens``, which takes shared locks: two holders of a shared lock would deadlock on upgrade.
    locked = Soas.objects.select_for_update(of=("self",)).order_by("pk").filter(token__in=[alias, concept])
    list(locked)
    store.ensure_tokens([alias, concept])
    words = {word.token: word for word in locked.all()}
    if find_concepts([concept]):
        raise GraphChanged
    current = Alias.objects.select_for_update(of=("self",)).select_related("soas", "concept")
    known, status = current.filter(soas=words[alias]).first(), Effect.INSERTED
    if known is not None and known.concept_id == words[concept].pk:
        status = Effect.CONFIRMED
        if is_weaker(known.channel, said.channel):
            known.channel, known.agent = said.channel, said.agent
            known.save(update_fields=["channel", "agent"])
    else:
        for other in filter(None, (known, *current.filter(concept=words[alias]))):
            _refuse_stronger(other, said)
        _refuse_doubtful(alias, concept, said)
        _refuse_used(words[alias])
        if known is not None:
            status = Effect.SUPERSEDED
            known.delete()
        merging.make_alias(words[alias], words[concept], said)
    told = {"concept": words[concept].pk, "status": status}
    transaction.on_commit(lambda: logger.info("alias.named", extra=told))
    return NamedConcept(status, current.get(pk=words[alias].pk))


@in_transaction
def drop_alias(alias: str, said: Attribution) -> Alias:
    """Remove the alias: the name becomes a word of its own again. Raises DecisionError."""
    row = Alias.objects.select_for_update(of=("self",)).select_related("soas", "concept")
    found = row.filter(soas__token=alias).first()
    if found is None:
        raise UnknownId(f"{alias} is no alias.")
    _refuse_stronger(found, said)
    Alias.objects.filter(pk=found.pk).delete()
    return found


def _refuse_stronger(row: Alias, said: Attribution) -> None:
    if is_weaker(said.channel, row.channel):
        raise DecisionError(f"{row.soas} is an alias of {row.concept}, says {row.agent}: an operator can change that.")


def _refuse_doubtful(alias: str, concept: str, said: Attribution) -> None:
    """Raise DecisionError if only an operator may give the concept this name, or if the agent is over its quota. Counts
    the alias as a fact in the quotas."""
    if said.channel == Channel.OPERATOR:
        return
    if Soas.objects.filter(token=alias, is_common=True).exists():
        raise DecisionError(f"{alias} is a word of the dictionary: an operator can make an alias of it.")
    if (doubt := find_doubt(concept, alias, TYPE, said.evidence)) is not None:
        raise DecisionError(f"{doubt.name} is {doubt.why}: an operator can make an alias of it.")
    counted = Assertion(Triple(concept, alias, TYPE, True), said)
    quotas = Quotas()
    quotas.read([said], [concept])
    if (excess := quotas.find_excess(counted)) is not None:
        raise DecisionError(str(excess))
    quotas.count("facts", said)
    run_together(*quotas.write())


def _refuse_used(word: Soas) -> None:
    facts = Edge.objects.filter(Q(concept=word) | Q(parent=word) | Q(dim=word))
    disputed = Claim.objects.filter(Q(concept=word) | Q(dim=word) | Q(incoming_parent=word), status__in=OPEN)
    if facts.exists() or disputed.exists():
        raise DecisionError(f"There are facts about {word}, or with it: an operator can merge the two.")
