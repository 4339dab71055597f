"""Asks a language model about one conflict: gathers the evidence for both sides and reads the verdict."""

from collections.abc import Iterable

from django.utils import timezone

from memory import llm
from memory.attribution.client_names import is_registered
from memory.models import Agent, Edge, EdgeHistory, LanguageModel, LlmCall, Source
from memory.questions import explain_concept
from memory.timing import describe_time
from memory.types import Triple
from resolution.conflicts.members import read_opponent
from resolution.conflicts.verdict import Verdict, read_verdict
from resolution.models import Claim, CollisionType
from resolution.nightly.resolver_prompt import Case, CaseSide, QuotedStatement, build_question
from resolution.pages import conflict_facts
from resolution.pages.words import STATING

STATEMENTS_MAX = 3  # per fact
OTHER_FACTS_MAX = 30
DIMENSIONS_MAX = 40  # most used first

# The collision types whose verdicts may name a dimension.
NAMES_DIMENSIONS = (CollisionType.ISA_ISA, CollisionType.MISCLASSIFICATION, CollisionType.CYCLE)


def judge(claim: Claim, model: LanguageModel, subject: str) -> Verdict:
    """Return the model's verdict. Raises LlmError, and VerdictMistake if the answer is no valid verdict on this
    conflict."""
    asked = build_question(gather(claim))
    answer = llm.ask(
        model, LlmCall.Purpose.RESOLVE, subject, system=asked.system, prompt=asked.prompt, schema=asked.schema
    )
    return read_verdict(answer.data, claim.collision_type)


def gather(claim: Claim) -> Case:
    """Gather everything a decision needs. The claim must be selected with its relations (RELATED)."""
    others, is_ring = conflict_facts.other_facts(claim), claim.existing_parent_id is None
    return Case(
        collision_type=claim.collision_type,
        incoming=_incoming(claim),
        existing=None if is_ring else _existing(claim),
        ring=tuple(map(_claim, conflict_facts.ring(claim))) if is_ring else (),
        other_facts=tuple(edge.fact for edge in others.order_by("-last_confirmed")[:OTHER_FACTS_MAX]),
        sentences=tuple((heard.role, heard.sentence) for heard in explain_concept.evidence_of(claim.concept)),
        dimensions=tuple(_dimensions(claim)),
        earlier_error=claim.last_error,
        now=describe_time(timezone.now()),
    )


def _incoming(claim: Claim) -> CaseSide:
    said = QuotedStatement(
        by=_name(claim.agent, claim.incoming_source),
        role=claim.role,
        channel=claim.channel,
        source=claim.incoming_source,
        at=describe_time(claim.said_at),
        words=claim.evidence,
    )
    fact = Triple(str(claim.concept), str(claim.incoming_parent), str(claim.dim), claim.incoming_is_isa)
    return CaseSide(fact, claim.incoming_confidence, claim.incoming_source, (said,))


def _name(agent: str, source: str) -> str:
    """Return the agent's name, or ``somebody`` if the agent chose the name itself: such a name could contain
    anything."""
    if is_registered(agent) and (source != Source.INFERRED or Agent.objects.filter(name=agent).exists()):
        return agent
    return "somebody"


def _existing(claim: Claim) -> CaseSide:
    """Return the current fact in the slot or, if it is gone, what the queue knows about it."""
    edge = read_opponent(claim)
    if edge is not None:
        return _claim(edge)
    fact = Triple(str(claim.concept), str(claim.existing_parent), str(claim.dim), claim.existing_is_isa)
    return CaseSide(fact, 0.0, "", is_gone=True)


def _claim(edge: Edge) -> CaseSide:
    said = EdgeHistory.objects.filter(concept_id=edge.concept_id, after__parent_id=edge.parent_id, action__in=STATING)
    statements = tuple(
        QuotedStatement(
            _name(row.actor, row.source), row.role, row.source, describe_time(row.at), row.reason, row.channel
        )
        for row in said.order_by("-at", "-id")[:STATEMENTS_MAX]
    )
    return CaseSide(edge.fact, edge.confidence, edge.source, statements, describe_time(edge.last_confirmed))


def _dimensions(claim: Claim) -> Iterable[tuple[str, str]]:
    """Return the names and questions of the dimensions that a verdict may choose from, most used first."""
    if claim.collision_type not in NAMES_DIMENSIONS:
        return []
    found = conflict_facts.dimensions().exclude(soas_id=claim.dim_id)
    if claim.collision_type == CollisionType.ISA_ISA:
        found = found.filter(is_isa=True)
    return found.values_list("soas__token", "question")[:DIMENSIONS_MAX]
