"""Takes facts back that somebody wants forgotten, one by one: what is stronger than they are becomes a conflict."""

from functools import partial
from typing import Final

from memory.db.transactions import run_transaction
from memory.domain.cues.modality import SpeechAct
from memory.domain.fact_syntax import FactToForget
from memory.domain.judging import Manner
from memory.domain.types import Triple
from memory.graph.aliases import find_concepts
from memory.graph.store import Assertion, Attribution
from memory.models import Edge
from resolution.intake.assertions import settle
from resolution.intake.settlement import Outcome

FACTS_MAX: Final = 100  # of one concept at once
RETRACTS: Final = Manner(SpeechAct.RETRACTS)


def forget(wanted: FactToForget, attribution: Attribution) -> list[Outcome]:
    """What became of each fact; none where nothing is known of the concept. A fact whose dimension is not named is
    found in any."""
    retractions = [Assertion(fact, attribution, RETRACTS) for fact in _find_facts(wanted)]
    return [run_transaction(partial(settle, [one], is_metered=True))[0] for one in retractions]


def find_known(concept: str) -> list[Triple]:
    """What stands about the concept, under whichever of its names, by dimension."""
    concept = find_concepts([concept]).get(concept, concept)
    edges = Edge.objects.filter(concept__token=concept).exclude(parent__token=concept).order_by("dim__token")
    rows = edges.values_list("concept__token", "parent__token", "dim__token", "is_isa")
    return [Triple(*row) for row in rows[:FACTS_MAX]]


def _find_facts(wanted: FactToForget) -> list[Triple]:
    if wanted.fact is None:
        return find_known(wanted.concept)
    if wanted.names_dimension:
        return [wanted.fact]
    said = (wanted.fact.parent, wanted.fact.is_isa)
    return [fact for fact in find_known(wanted.concept) if (fact.parent, fact.is_isa) == said] or [wanted.fact]
