"""Small worlds with conflicts in them, and how they look."""

from datetime import timedelta
from typing import Any

from django.db import connection
from django.utils import timezone

from memory.db.transactions import run_transaction
from memory.domain.cues.modality import SpeechAct
from memory.domain.judging import Manner
from memory.domain.types import Triple
from memory.graph.store import Assertion, Attribution
from memory.models import Edge, Source
from resolution.actors import Actor
from resolution.intake.assertions import Outcome, assert_fact, settle
from resolution.models import Claim

OPERATOR = Actor("hermione", Source.OPERATOR)

EDGES = """
    SELECT c.token, p.token, d.token, urd.is_isa, urd.confidence, urd.source, urd.agent, urd.is_corroborated,
           urd.said_at, urd.last_confirmed
    FROM urd JOIN soas c ON c.id = urd.id JOIN soas p ON p.id = urd.parent_id JOIN soas d ON d.id = urd.dim_id
    ORDER BY 3, 1, 2
"""
DIMENSIONS = """
    SELECT d.token, dimension.question, dimension.is_isa, dimension.on_collision, s.token
    FROM dimension JOIN soas d ON d.id = dimension.id LEFT JOIN soas s ON s.id = dimension.split_from_id ORDER BY 1
"""
TRIPLES = """
    SELECT concept_id, dim_id, parent_id, kind, moved_to_id, agents, conversation, decision_id, decided_at
    FROM decided_triple ORDER BY 1, 2, 3
"""
QUEUE = """
    SELECT id, concept_id, dim_id, existing_parent_id, incoming_parent_id, blocking_concept_id, collision_type, status,
           proposal, run_id, resolution, resolved_at, attempts, last_error, next_attempt_at
    FROM resolution_queue ORDER BY 1
"""


def rows(sql: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall()


def dump() -> dict[str, list[tuple[Any, ...]]]:
    """The whole world without surrogate keys of edges, and the queue."""
    return {"edges": rows(EDGES), "dimensions": rows(DIMENSIONS), "triples": rows(TRIPLES), "queue": rows(QUEUE)}


def graph() -> dict[str, list[tuple[Any, ...]]]:
    return {"edges": rows(EDGES), "dimensions": rows(DIMENSIONS)}


def fact(text: str) -> Triple:
    concept, relation, parent, dimension = text.split()
    return Triple(concept, parent, dimension, relation == "isa")


def say(text: str, agent: str = "dobby", **changes: Any) -> Outcome:
    """Somebody says a fact in passing: "gnommoweb isa repo type"."""
    said = {"source": Source.INFERRED, "confidence": 0.8, "at": timezone.now(), "role": "user"} | changes
    return assert_fact(fact(text), Attribution(agent, **said))


def collide(standing: str, newcomer: str, **changes: Any) -> Claim:
    """Two facts of two agents that cannot both be; the conflict that it makes."""
    say(standing, "dobby", confidence=0.71, at=timezone.now() - timedelta(days=2))
    claim = say(newcomer, "winky", **changes).claim
    assert claim is not None
    return claim


def take_back(text: str, agent: str = "winky", kind: SpeechAct = SpeechAct.RETRACTS, **changes: Any) -> Outcome:
    """Somebody says that a fact is no more; or with another ``kind`` that it is so instead of what stands."""
    said = {"source": Source.INFERRED, "confidence": 0.8, "at": timezone.now(), "role": "user"} | changes
    return run_transaction(lambda: settle([Assertion(fact(text), Attribution(agent, **said), Manner(kind))]))[0]


def collide_with_retraction(text: str, **changes: Any) -> Claim:
    """An operator's fact that a user takes back; the conflict that it makes."""
    say(text, "hermione", source=Source.OPERATOR, role="")
    claim = take_back(text, **changes).claim
    assert claim is not None
    return claim


def facts() -> set[str]:
    """The facts that stand, roots left out."""
    edges = Edge.objects.select_related("concept", "parent", "dim")
    return {
        f"{edge.concept} {'isa' if edge.is_isa else 'ispart'} {edge.parent} {edge.dim}"
        for edge in edges
        if not edge.is_root
    }


def status(claim: Claim) -> str:
    claim.refresh_from_db()
    return claim.status
