"""Facts, conflicts, decisions and memories on a real database, and how it looks afterwards.

Tests that are not about how these come about arrange them by this module, which alone knows where the product keeps
what it needs for that. Facts are written "gnommoweb isa repo type" or "gnommoweb ispart tyr runs-on".
"""

import asyncio
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import psycopg
from django.db import connection
from django.utils import timezone

from memory.cache.loader import load_cache
from memory.cache.state import Cache
from memory.cache.sync import Coherence
from memory.channels import Channel
from memory.db.connections import open_connection
from memory.db.transactions import run_transaction
from memory.english.doubt import SpeechAct
from memory.graph.judging import Manner
from memory.graph.store import Assertion, Attribution
from memory.learning.learner import Learner
from memory.memories import store
from memory.memories.scope import Scope, Speaker
from memory.memories.slots import find_slots
from memory.memories.store import Change, Draft
from memory.models import Config, Edge, EdgeHistory, Memory, Project, ProjectState, Source
from memory.types import Triple
from resolution.actors import Actor
from resolution.conflicts import decide as deciding
from resolution.conflicts.members import ClaimRow, describe_seen, read_rows
from resolution.conflicts.verdict import MemberKey, Verdict, read_verdict
from resolution.intake.place import Outcome, assert_fact, place_statements
from resolution.models import Claim, Conflict, ConflictMember, Decision

OPERATOR = Actor("hermione", Source.OPERATOR)
SAM = Scope(Speaker("dobby", "sam"))
LOOK_AGAIN_S = 0.05

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


# --- facts ---


def fact(text: str) -> Triple:
    concept, relation, parent, dimension = text.split()
    return Triple(concept, parent, dimension, relation == "isa")


def said(agent: str = "dobby", **changes: Any) -> Attribution:
    """By a user, in passing."""
    standard = {"source": Source.INFERRED, "confidence": 0.8, "at": timezone.now(), "role": "user"}
    return Attribution(agent, **(standard | changes))


def say(text: str, agent: str = "dobby", **changes: Any) -> Outcome:
    """Somebody says a fact in passing."""
    return assert_fact(fact(text), said(agent, **changes))


def teach(text: str, agent: str = "dobby", **changes: Any) -> Outcome:
    """An agent teaches a fact with gutask."""
    return say(text, agent, **({"source": Source.GUTASK, "confidence": 1.0, "role": ""} | changes))


def dispute(current: str, newcomer: str, agent: str = "winky", **changes: Any) -> Claim:
    """Two facts of two agents that cannot both be; the claim that the second becomes."""
    say(current, "dobby", confidence=0.71, at=timezone.now() - timedelta(days=2))
    return claim_of(say(newcomer, agent, **changes))


def teach_both(concept: str, **changes: Any) -> Claim:
    """An agent teaches that the concept is a repo, and then that it is a container."""
    teach(f"{concept} isa repo type", **changes)
    return claim_of(teach(f"{concept} isa container type", **changes))


def forget(text: str, agent: str = "winky", kind: SpeechAct = SpeechAct.RETRACTS, **changes: Any) -> Outcome:
    """Somebody says that a fact is no more; or with another ``kind`` that it is so instead of what is current."""
    return run_transaction(lambda: place_statements([Assertion(fact(text), said(agent, **changes), Manner(kind))]))[0]


def dispute_by_forgetting(text: str, **changes: Any) -> Claim:
    """An operator's fact that a user takes back; the claim that it becomes."""
    say(text, "hermione", source=Source.OPERATOR, role="")
    return claim_of(forget(text, **changes))


def claim_of(outcome: Outcome) -> Claim:
    assert outcome.claim is not None
    return outcome.claim


def stand(text: str, **more: Any) -> Edge:
    said = fact(text)
    say(text, **more)
    return Edge.objects.get(concept__token=said.concept, dim__token=said.dimension, parent__token=said.parent)


def configure(**settings: Any) -> None:
    for key, value in settings.items():
        Config.objects.update_or_create(key=key, defaults={"value": str(value)})


# --- decisions ---


def decide(
    claim_id: int, actor: Actor, decision: str, reason: str, *, seen: str | None = None, **arguments: object
) -> Decision:
    verdict = read_verdict({"decision": decision, "reason": reason, **arguments}, None)
    return decide_claim(claim_id, actor, verdict, seen=seen)


def decide_claim(claim_id: int, actor: Actor, verdict: Verdict, *, seen: str | None = None) -> Decision:
    """A decision about one claim of a conflict."""
    conflict_id = Claim.objects.values_list("conflict_id", flat=True).get(pk=claim_id)
    verdict = replace(verdict, member=MemberKey(claim_id, "claim"))
    return deciding.decide(conflict_id, verdict, actor, seen=seen)


def seen_of(about: Claim | Conflict) -> str:
    """What an operator sees of a conflict, or a model of a claim."""
    if isinstance(about, Conflict):
        return describe_seen(read_rows(about.members.all()))
    return describe_seen([ClaimRow(ConflictMember.objects.get(kind="claim", object_id=about.pk), about)])


def decompose(claim_id: int, actor: Actor, reason: str, *, existing_dimension: str, new_dimension: str) -> Decision:
    dimensions = {"existing_dimension": existing_dimension, "new_dimension": new_dimension}
    return decide(claim_id, actor, "decompose", reason, **dimensions)


def update(claim_id: int, actor: Actor, reason: str, *, seen: str | None = None) -> Decision:
    return decide(claim_id, actor, "update", reason, seen=seen)


def relocate(claim_id: int, actor: Actor, reason: str, *, dimension: str, is_isa: bool | None = None) -> Decision:
    return decide(claim_id, actor, "relocate", reason, dimension=dimension, is_isa=is_isa)


def dismiss(claim_id: int, actor: Actor, reason: str) -> Decision:
    return decide(claim_id, actor, "dismiss", reason)


# --- memories, project state, and conflicts with them ---


def remember(text: str) -> Memory:
    draft = Draft(text, "preference", SAM, 0.8, Memory.Source.STATED, find_slots(text, "preference"))
    return store.create(draft, Change("dobby", Channel.USER, timezone.now()))


def settle(key: str, value: str, **more: Any) -> ProjectState:
    project, _ = Project.objects.get_or_create(slug="p05", defaults={"name": "p05"})
    return ProjectState.objects.create(project=project, category="decision", key=key, value=value, actor="ann", **more)


def contest(kind: str, rows: Iterable[Any], *, question: str = "", asked: Any = None) -> Conflict:
    rows = list(rows)
    slot = [f"{row._meta.model_name} {row.pk}" for row in rows]
    conflict = Conflict.objects.create(
        slot_kind=kind, key=" ".join(slot), slot_key={"slot": slot}, question=question, tier="model"
    )
    kinds = {Edge: "edge", EdgeHistory: "edge_history", Memory: "memory", ProjectState: "project_state"}
    for row in rows:
        member = ConflictMember.Kind(kinds[type(row)])
        trust = ConflictMember.TRUST[member]
        about = {"trust": trust, "text": str(row), "is_asked": row == asked}
        ConflictMember.objects.create(conflict=conflict, kind=member, object_id=row.pk, **about)
    return conflict


def prefer(*texts: str) -> tuple[Conflict, list[Memory]]:
    rows = [remember(text) for text in texts]
    store.dispute(rows[0], rows[1], Change("dobby", Channel.USER, timezone.now()))
    return contest("memory_slot", rows), rows


# --- learning, as a worker does it, in the process of the tests ---


async def learn(dsn: str, cache: Cache | None = None) -> int:
    """From all messages that wait, with the graph as it is now; how many they were."""
    cache = cache or Cache()
    async with open_connection(dsn, "test") as connection:
        await load_cache(cache, connection)
    learner = Learner(cache, dsn)
    try:
        return await learner.learn()
    finally:
        await learner.close()


@contextmanager
def learning(dsn: str) -> Iterator[None]:
    """Goes on learning, in a thread."""
    over = threading.Event()

    async def go_on() -> None:
        coherence = Coherence(Cache(), dsn)
        following = asyncio.create_task(coherence.run())
        learner = Learner(coherence.cache, dsn)
        while not over.is_set():
            with suppress(psycopg.Error, OSError):
                if coherence.cache.loaded_at is not None:
                    await learner.learn()
            await asyncio.sleep(LOOK_AGAIN_S)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await learner.close()

    thread = threading.Thread(target=asyncio.run, args=(go_on(),), name="learner")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


# --- how it looks ---


def rows(sql: str) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall()


def dump() -> dict[str, list[tuple[Any, ...]]]:
    """All of the graph without surrogate keys of edges, and the queue."""
    return {**graph(), "triples": rows(TRIPLES), "queue": rows(QUEUE)}


def graph() -> dict[str, list[tuple[Any, ...]]]:
    return {"edges": rows(EDGES), "dimensions": rows(DIMENSIONS)}


def timeless(world: dict[str, list[tuple[Any, ...]]]) -> dict[str, list[tuple[Any, ...]]]:
    """Without the times of roots: one that comes back is a new one."""
    return world | {"edges": [row[:-2] if row[0] == row[1] else row for row in world["edges"]]}


def facts() -> set[str]:
    """The current facts, roots left out."""
    edges = Edge.objects.select_related("concept", "parent", "dim")
    return {
        f"{edge.concept} {'isa' if edge.is_isa else 'ispart'} {edge.parent} {edge.dim}"
        for edge in edges
        if not edge.is_root
    }


def status(claim: Claim) -> str:
    claim.refresh_from_db()
    return claim.status
