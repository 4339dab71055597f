"""Asks a language model about one conflict: gathers the evidence for both sides and reads the verdict."""

from collections.abc import Iterable
from functools import partial

from django.utils import timezone

from memory.attribution.client_names import is_registered
from memory.english.phrases import phrase
from memory.models import Agent, Edge, EdgeHistory, LanguageModel, LlmCall, Soas, Source
from memory.questions import explain_concept
from memory.timing import describe_time
from memory.types import Triple
from resolution.conflicts.members import read_opponent
from resolution.conflicts.verdict import Verdict, read_verdict
from resolution.models import Claim, CollisionType, Run
from resolution.nightly.resolver_prompt import ModelQuestion, build_question
from resolution.nightly.runs import ask
from resolution.pages import queries
from resolution.pages.words import STATING

STATEMENTS_MAX = 3  # per fact
OTHER_FACTS_MAX = 30
DIMENSIONS_MAX = 40  # most used first

# The collision types whose verdicts may name a dimension.
NAMES_DIMENSIONS = (CollisionType.ISA_ISA, CollisionType.MISCLASSIFICATION, CollisionType.CYCLE)


def judge(claim: Claim, model: LanguageModel, run: Run | None = None) -> Verdict:
    """Return the model's verdict, for the run or a dry run. The claim must be selected with its relations (RELATED).
    Raises LlmError, also if the answer is no valid verdict on this conflict, and RunLost."""
    question, about = build_question_about(claim), f"conflict {claim.conflict_id}"
    read = partial(read_verdict, collision_type=claim.collision_type)
    return ask(run, model, LlmCall.Purpose.RESOLVE, about, question, read)


def build_question_about(claim: Claim) -> ModelQuestion:
    """Gather everything a decision needs. For a cycle there is no known fact, but the ring, the closing fact last."""
    is_ring = claim.existing_parent_id is None
    ring = queries.find_ring(claim) if is_ring else []
    others = queries.find_other_facts(claim.concept_id, claim.dim_id).order_by("-last_confirmed")[:OTHER_FACTS_MAX]
    document: dict[str, object] = {"now": describe_time(timezone.now()), "dimension": str(claim.dim)}
    if not is_ring:
        document["known_fact"] = _describe_existing(claim)
    document["new_fact"] = _describe_incoming(claim)
    if is_ring:
        document["ring"] = [_describe_edge(edge) for edge in ring]
    document["other_facts_about_the_concept"] = [_format_fact(edge.fact) for edge in others]
    heard = explain_concept.evidence_of(claim.concept)
    document["sentences_that_name_the_concept"] = [{"role": each.role, "words": each.sentence} for each in heard]
    if dimensions := dict(_dimensions(claim)):
        document["dimensions"] = dimensions
    if claim.last_error:
        document["why_the_last_attempt_failed"] = claim.last_error
    return build_question(
        claim.collision_type,
        document,
        concept=str(claim.concept),
        dimension=str(claim.dim),
        incoming=str(claim.incoming_parent),
        existing=str(claim.existing_parent or ""),
        closing=_format_fact(ring[-1].fact) if ring else "",
    )


def _describe_incoming(claim: Claim) -> dict[str, object]:
    said = {
        "by": _name(claim.agent, claim.incoming_source),
        "role": claim.role,
        "source": claim.incoming_source,
        "channel": claim.channel,
        "at": describe_time(claim.said_at),
        "words": claim.evidence,
    }
    return {
        "fact": _format(claim, claim.incoming_parent, claim.incoming_is_isa),
        "confidence": round(claim.incoming_confidence, 2),
        "source": claim.incoming_source,
        "said": [said],
    }


def _describe_existing(claim: Claim) -> dict[str, object]:
    """Describe the current fact in the slot or, if it is gone, what the queue knows about it."""
    edge = read_opponent(claim)
    if edge is not None:
        return _describe_edge(edge)
    fact = _format(claim, claim.existing_parent, bool(claim.existing_is_isa))
    return {"fact": fact, "note": "this fact was taken out since"}


def _describe_edge(edge: Edge) -> dict[str, object]:
    """Describe a fact with the newest statements that support it."""
    said = EdgeHistory.objects.filter(concept_id=edge.concept_id, after__parent_id=edge.parent_id, action__in=STATING)
    return {
        "fact": _format_fact(edge.fact),
        "confidence": round(edge.confidence, 2),
        "source": edge.source,
        "last_confirmed": describe_time(edge.last_confirmed),
        "said": [
            {
                "by": _name(row.actor, row.source),
                "role": row.role,
                "source": row.source,
                "channel": row.channel,
                "at": describe_time(row.at),
                "words": row.reason,
            }
            for row in said.order_by("-at", "-id")[:STATEMENTS_MAX]
        ],
    }


def _format(claim: Claim, parent: Soas | None, is_isa: bool) -> str:
    return _format_fact(Triple(str(claim.concept), str(parent), str(claim.dim), is_isa))


def _format_fact(fact: Triple) -> str:
    return f"{phrase(fact.concept, fact.parent, fact.dimension, is_isa=fact.is_isa)} (dimension {fact.dimension})"


def _name(agent: str, source: str) -> str:
    """Return the agent's name, or ``somebody`` if the agent chose the name itself: such a name could contain
    anything."""
    if is_registered(agent) and (source != Source.INFERRED or Agent.objects.filter(name=agent).exists()):
        return agent
    return "somebody"


def _dimensions(claim: Claim) -> Iterable[tuple[str, str]]:
    """Return the names and questions of the dimensions that a verdict may choose from, most used first."""
    if claim.collision_type not in NAMES_DIMENSIONS:
        return []
    found = queries.find_dimensions().exclude(soas_id=claim.dim_id)
    if claim.collision_type == CollisionType.ISA_ISA:
        found = found.filter(is_isa=True)
    return found.values_list("soas__token", "question")[:DIMENSIONS_MAX]
