"""What statements add to the resolution queue, and what they make needless in it."""

import logging
from datetime import datetime
from typing import Any

from django.utils import timezone

from memory.domain.types import TripleIds
from memory.graph.placement import Placement
from memory.graph.store import Attribution
from memory.models import Source
from resolution.domain.collisions import classify
from resolution.models import CollisionType, Conflict

logger = logging.getLogger(__name__)

PRIORITY = {Source.GUTASK: 1, Source.OPERATOR: 1}  # a person or an agent said it on purpose
EVIDENCE_MAX = 500  # characters
OPEN = (Conflict.Status.PENDING, Conflict.Status.PROPOSED)
IN_ORDER = ("-priority", "created_at", "id")  # in which what is open is decided


class Queue:
    """The open rows of some slots, as the statements of one transaction leave them. Nothing is stored before
    ``write``."""

    def __init__(self, triples: set[TripleIds]) -> None:
        rows = Conflict.objects.filter(
            concept_id__in={triple.concept_id for triple in triples},
            dim_id__in={triple.dim_id for triple in triples},
            status__in=OPEN,
        )
        self._open = {TripleIds(row.concept_id, row.dim_id, row.incoming_parent_id): row for row in rows}
        self._new: list[Conflict] = []
        self._changes: dict[int, dict[str, Any]] = {}  # by the key of the row

    def add(self, placement: Placement, said: Attribution, *, is_isa: bool) -> Conflict:
        """The open row of this collision: a new one, or the one that is there already. Whoever says it again changes
        nothing but its priority."""
        known = self._open.get(placement.triple)
        if known is None:
            row = self._open[placement.triple] = _row(placement, said, is_isa=is_isa)
            self._new.append(row)
            return row
        if known.priority < PRIORITY.get(said.source, 0):
            self._change(known, priority=PRIORITY[said.source])
        return known

    def close(self, triple: TripleIds) -> None:
        """The triple came to stand: it is disputed no more."""
        row = self._open.get(triple)
        if row is not None:
            self._close(triple, row, Conflict.Status.RESOLVED, "It was stated again, and stands now.")

    def close_older(self, triple: TripleIds, said_at: datetime) -> None:
        """The triple was stated where the newest statement wins: what was said before it, and queued before the
        dimension's policy was changed, is outdated. A ring stays a ring."""
        for other, row in list(self._open.items()):
            if other.slot == triple.slot and row.collision_type != CollisionType.CYCLE and row.said_at <= said_at:
                self._close(other, row, Conflict.Status.DISMISSED, "A later statement took the place.")

    def _close(self, triple: TripleIds, row: Conflict, status: Conflict.Status, reason: str) -> None:
        del self._open[triple]
        self._change(row, status=status, resolution={"reason": reason}, resolved_at=timezone.now())

    def _change(self, row: Conflict, **values: Any) -> None:
        for name, value in values.items():
            setattr(row, name, value)
        if row.pk is not None:
            self._changes.setdefault(row.pk, {}).update(values)

    def write(self) -> None:
        """Gives the new rows their keys. A row that somebody decided meanwhile stays as it was decided."""
        for row in Conflict.objects.bulk_create(self._new):
            logger.info("collision.queued", extra={"conflict": row.pk, "type": row.collision_type})
        for key, values in sorted(self._changes.items()):
            Conflict.objects.filter(pk=key, status__in=OPEN).update(**values)


def _row(placement: Placement, said: Attribution, *, is_isa: bool) -> Conflict:
    triple, edge = placement.triple, placement.edge
    return Conflict(
        concept_id=triple.concept_id,
        dim_id=triple.dim_id,
        existing_parent_id=edge.parent_id if edge is not None else None,
        incoming_parent_id=triple.parent_id,
        blocking_concept_id=placement.blocking.concept_id if placement.blocking is not None else None,
        incoming_is_isa=is_isa,
        incoming_confidence=said.confidence,
        incoming_source=said.source,
        collision_type=CollisionType.CYCLE if edge is None else classify(edge.is_isa, is_isa),
        agent=said.agent,
        role=said.role,
        conversation=said.conversation,
        evidence=said.evidence[:EVIDENCE_MAX],
        priority=PRIORITY.get(said.source, 0),
        said_at=said.at,
    )
