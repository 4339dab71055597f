"""Retracts facts that somebody wants forgotten, one by one. Facts with a stronger channel, or that somebody else
taught, become conflicts instead."""

from dataclasses import replace
from functools import partial
from typing import Final

from memory.channels import Channel
from memory.db.transactions import run_transaction
from memory.english.doubt import SpeechAct
from memory.english.noun_phrases import Vocabulary
from memory.english.statements import find_cues
from memory.graph.aliases import find_concepts
from memory.graph.fact_syntax import FactToForget, parse_forgotten
from memory.graph.judging import Manner
from memory.graph.store import Assertion, Attribution
from memory.models import Edge
from memory.types import MEMBERSHIP, NAMES, TYPE, Triple
from resolution.intake.candidates import find_waiting
from resolution.intake.place import Outcome, place_statements

FACTS_MAX: Final = 100  # of one concept at a time
RETRACTS: Final = Manner(SpeechAct.RETRACTS)


def read_facts(text: str, vocabulary: Vocabulary) -> list[FactToForget]:
    """Return what a text asks to forget: all about a concept or one fact, in gutask's syntax, or whatever a sentence
    states, which may be nothing. Raises FactMistake."""
    if (wanted := parse_forgotten(text)) is not None:
        return [wanted]
    return [
        FactToForget(
            one.subject,
            Triple(one.subject, one.parent, one.dimension, one.is_isa),
            names_dimension=one.dimension not in (TYPE, MEMBERSHIP),
        )
        for one in find_cues(text, vocabulary=vocabulary)
        if one.kind is not SpeechAct.RETRACTS and one.dimension != NAMES
    ]


def forget(wanted: FactToForget, attribution: Attribution) -> list[Outcome]:
    """Retract the facts and return the outcome for each; none if nothing is known about the concept. A fact without a
    dimension is searched for in all dimensions."""
    # What somebody else has taught stays, too, where it was said through a weaker channel: people decide.
    channel = Channel.USER if attribution.channel == Channel.GUTASK else attribution.channel
    by = replace(attribution, channel=channel)
    retractions = [Assertion(fact, by, RETRACTS) for fact in _find_facts(wanted, attribution.holder)]
    return [run_transaction(partial(place_statements, [one], is_metered=True))[0] for one in retractions]


def find_known(concept: str, holder: tuple[str, str]) -> list[Triple]:
    """Return the current facts about the concept, under any of its names, by dimension; then the candidates of the
    holder."""
    concept = find_concepts([concept]).get(concept, concept)
    edges = Edge.objects.filter(concept__token=concept).exclude(parent__token=concept).order_by("dim__token")
    rows = edges.values_list("concept__token", "parent__token", "dim__token", "is_isa")
    standing = [Triple(*row) for row in rows[:FACTS_MAX]]
    return list(dict.fromkeys([*standing, *find_waiting(concept, holder)]))[:FACTS_MAX]


def _find_facts(wanted: FactToForget, holder: tuple[str, str]) -> list[Triple]:
    if wanted.fact is None:
        return find_known(wanted.concept, holder)
    if wanted.names_dimension:
        return [wanted.fact]
    said = (wanted.fact.parent, wanted.fact.is_isa)
    found = [fact for fact in find_known(wanted.concept, holder) if (fact.parent, fact.is_isa) == said]
    return found or [wanted.fact]
