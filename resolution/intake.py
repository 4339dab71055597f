"""Asserting a fact: it finds its place in the graph, or its collision goes to the resolution queue."""

import logging
from dataclasses import dataclass
from typing import Literal

import psycopg
from django.db import IntegrityError, OperationalError, transaction

from memory import store
from memory.domain.rows import Fact
from memory.models import Edge, Source
from memory.store import Placement, Said
from resolution.domain.collisions import classify
from resolution.models import CollisionType, Conflict

logger = logging.getLogger(__name__)

TRIES = 3
PRIORITY = {Source.GUTASK: 1, Source.OPERATOR: 1}  # a person or an agent said it on purpose
EVIDENCE_MAX = 500  # characters


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an asserted fact. ``conflict`` is the open row of the queue, ``existing`` the fact that
    stands against it."""

    status: Literal["inserted", "confirmed", "conflict", "invalid"]
    fact: Fact
    conflict: Conflict | None = None
    existing: Fact | None = None


def assert_fact(fact: Fact, said: Said) -> Outcome:
    """Places the fact, or queues what it collides with, in one transaction. A deadlock, or a world that
    changed meanwhile, is tried again."""
    for attempt in range(1, TRIES + 1):
        try:
            with transaction.atomic():
                return _settle(fact, said, store.place(fact, said))
        except (Edge.DoesNotExist, Conflict.DoesNotExist):
            # Retired or decided between two statements: look at the world again.
            if attempt == TRIES:
                raise
        except OperationalError as error:
            if attempt == TRIES or not isinstance(error.__cause__, psycopg.errors.DeadlockDetected):
                raise
    raise AssertionError("unreachable")


def _settle(fact: Fact, said: Said, placement: Placement) -> Outcome:
    if placement.outcome == "reserved":
        return Outcome("invalid", fact)
    if placement.outcome in ("occupied", "ring"):
        conflict = _queue(fact, said, placement)
        return Outcome("conflict", fact, conflict, _existing(placement))
    return Outcome("inserted" if placement.outcome == "inserted" else "confirmed", fact)


def _queue(fact: Fact, said: Said, placement: Placement) -> Conflict:
    """The open row for this collision: a new one, or the one that is there already."""
    edge = placement.edge
    row = Conflict(
        concept_id=placement.concept_id,
        dim_id=placement.dim_id,
        existing_parent_id=edge.parent_id if edge is not None else None,
        incoming_parent_id=placement.parent_id,
        blocking_concept_id=placement.blocking_id,
        incoming_is_isa=fact.is_isa,
        incoming_confidence=said.confidence,
        incoming_source=said.source,
        collision_type=CollisionType.CYCLE if edge is None else classify(edge.is_isa, fact.is_isa),
        agent=said.agent,
        evidence=said.evidence[:EVIDENCE_MAX],
        priority=PRIORITY.get(said.source, 0),
        said_at=said.at,
    )
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError as error:
        if store.constraint_of(error) != "conflict_open_once":
            raise
        return Conflict.objects.get(
            concept_id=row.concept_id,
            dim_id=row.dim_id,
            incoming_parent_id=row.incoming_parent_id,
            status__in=[Conflict.Status.PENDING, Conflict.Status.PROPOSED],
        )
    logger.info("collision.queued", extra={"conflict": row.pk, "type": row.collision_type})
    return row


def _existing(placement: Placement) -> Fact | None:
    """The fact that stands against it; for a ring, the edge that closes it."""
    if placement.edge is not None:
        return _as_fact(placement.edge)
    closing = Edge.objects.filter(concept_id=placement.blocking_id, dim_id=placement.dim_id)
    edge = closing.select_related("concept", "parent", "dim").first()
    return _as_fact(edge) if edge is not None else None


def _as_fact(edge: Edge) -> Fact:
    return Fact(edge.concept.token, edge.parent.token, edge.dim.token, edge.is_isa)
