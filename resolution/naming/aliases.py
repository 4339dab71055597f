"""Adds and removes aliases of concepts for operators and agents. A name that has facts cannot become an alias: an
operator merges the two concepts (resolution/naming/merging.py)."""

import logging
from typing import Literal, NamedTuple

from django.db.models import Q

from memory.channels import Channel, is_weaker
from memory.db.transactions import GraphChanged, in_transaction
from memory.english.name_shapes import find_doubt
from memory.graph import store
from memory.graph.aliases import find_concepts
from memory.graph.fact_syntax import find_name_mistake
from memory.graph.store import Assertion, Attribution
from memory.models import Alias, Edge, Soas
from memory.types import TYPE, Triple
from resolution.conflicts.queue import OPEN
from resolution.errors import DecisionError, InvalidDecision, UnknownId
from resolution.intake.quotas import Quotas
from resolution.models import Claim
from resolution.naming.merging import make_alias

logger = logging.getLogger(__name__)


class NamedConcept(NamedTuple):
    """The result of naming a concept. ``status`` has the same values as for a fact."""

    status: Literal["inserted", "confirmed", "superseded"]
    alias: Alias


def name_concept(alias: str, concept: str, said: Attribution) -> NamedConcept:
    """Make a name an alias of the concept. Raises DecisionError."""
    named = _name_concept(alias, concept, said)
    logger.info("alias.named", extra={"concept": named.alias.concept_id, "status": named.status})
    return named


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


@in_transaction
def _name_concept(alias: str, concept: str, said: Attribution) -> NamedConcept:
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
    standing = Alias.objects.select_for_update(of=("self",)).select_related("soas", "concept")
    known = standing.filter(soas=words[alias]).first()
    if known is not None and known.concept_id == words[concept].pk:
        if is_weaker(known.channel, said.channel):
            known.channel, known.agent = said.channel, said.agent
            known.save(update_fields=["channel", "agent"])
        return NamedConcept("confirmed", known)
    for other in filter(None, (known, *standing.filter(concept=words[alias]))):
        _refuse_stronger(other, said)
    if said.channel != Channel.OPERATOR:
        refuse_doubtful(alias, concept, said)
    _refuse_used(words[alias])
    if known is not None:
        known.delete()
    make_alias(words[alias], words[concept], said)
    made = standing.get(pk=words[alias].pk)
    return NamedConcept("inserted" if known is None else "superseded", made)


def _refuse_stronger(row: Alias, said: Attribution) -> None:
    if is_weaker(said.channel, row.channel):
        raise DecisionError(f"{row.soas} is an alias of {row.concept}, says {row.agent}: an operator can change that.")


def refuse_doubtful(alias: str, concept: str, said: Attribution) -> None:
    """Raise DecisionError if only an operator may give the concept this name, or if the agent is over its quota. Counts
    the alias as a fact in the quotas."""
    if Soas.objects.filter(token=alias, is_common=True).exists():
        raise DecisionError(f"{alias} is a word of the dictionary: an operator can make an alias of it.")
    if (doubt := find_doubt(concept, alias, TYPE, said.evidence)) is not None:
        raise DecisionError(f"{doubt.name} is {doubt.why}: an operator can make an alias of it.")
    counted = Assertion(Triple(concept, alias, TYPE, True), said)  # counts like a fact
    quotas = Quotas({})
    quotas.read([counted])
    if (excess := quotas.find_excess(counted)) is not None:
        raise DecisionError(str(excess))
    quotas.count("facts", said)
    quotas.write()


def _refuse_used(word: Soas) -> None:
    facts = Edge.objects.filter(Q(concept=word) | Q(parent=word) | Q(dim=word))
    disputed = Claim.objects.filter(Q(concept=word) | Q(dim=word) | Q(incoming_parent=word), status__in=OPEN)
    if facts.exists() or disputed.exists():
        raise DecisionError(f"There are facts about {word}, or with it: an operator can merge the two.")
