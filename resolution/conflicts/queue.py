"""Opens and closes claims, and with them conflicts, as statements are placed and decisions change what the claims are
against."""

import json
from collections.abc import Collection
from datetime import datetime
from typing import Any, Final

from django.db import connection
from django.utils import timezone

from memory.attribution.client_names import voice_of
from memory.channels import may_change
from memory.db.connections import columns, fetch_rows
from memory.graph import store
from memory.graph.placement import Placement
from memory.graph.store import Attribution
from memory.models import Edge, Source
from memory.types import Slot, TripleIds
from resolution.conflicts.opening import lock_open, open_for_claims
from resolution.conflicts.verdict import classify_collision
from resolution.models import Claim, CollisionType, ConflictMember

PRIORITY = {Source.GUTASK: 1, Source.OPERATOR: 1}  # said on purpose, by an agent or a person
EVIDENCE_MAX = 500  # characters
OPEN = (Claim.Status.PENDING, Claim.Status.PROPOSED)
IN_ORDER = ("-priority", "created_at", "id")  # the order in which open claims are decided

# The columns of a new row; the others have their defaults.
TYPES: Final = {
    "concept_id": "int", "dim_id": "int", "incoming_parent_id": "int", "existing_parent_id": "int",
    "blocking_concept_id": "int", "incoming_is_isa": "bool", "incoming_confidence": "float8", "incoming_source": "text",
    "channel": "text", "collision_type": "text", "agent": "text", "role": "text", "conversation": "bytea",
    "evidence": "text", "priority": "smallint", "said_at": "timestamptz", "conflict_id": "bigint",
}  # fmt: skip
# One parameter for each column: bulk_create has one for each value, which took half of the time of an import with
# 10,000 contradictions.
INSERT: Final = f"""
    INSERT INTO resolution_queue ({", ".join(TYPES)})
    SELECT {", ".join(TYPES)}
    FROM unnest({", ".join(f"%s::{type}[]" for type in TYPES.values())}) AS new ({", ".join(TYPES)})
    RETURNING concept_id, dim_id, incoming_parent_id, id, created_at
"""
# Adds a voice to a claim's support, once.
SUPPORT: Final = f"""
    UPDATE conflict_member SET support = support || %(voice)s::jsonb
    WHERE kind = 'claim' AND object_id = %(claim)s AND NOT support @> %(voice)s::jsonb
      AND jsonb_array_length(support) < {ConflictMember.SUPPORT_MAX}
"""


class OpenClaims:
    """The open claims to some triples while one transaction's statements are settled. Nothing is stored before
    ``write``."""

    def __init__(self, concept_ids: Collection[int]) -> None:
        # In all dimensions: a correction is about a fact that may have been moved to another one.
        rows = Claim.objects.filter(concept_id__in=concept_ids, status__in=OPEN).select_related("incoming_parent")
        self._open = {row.incoming: row for row in rows} if concept_ids else {}
        self._slots = self.open_slots()
        self._new: list[Claim] = []
        self._changes: dict[int, dict[str, Any]] = {}  # by the key of the row
        self._support: list[tuple[Claim, Attribution]] = []

    def list_parents(self, slot: Slot | None) -> set[str]:
        """Return the parents that open claims give the slot."""
        return {row.incoming_parent.token for ids, row in self._open.items() if ids.slot == slot}

    def has_concept(self, concept_id: int) -> bool:
        return any(ids.concept_id == concept_id for ids in self._open)

    def are_about(self, slot: Slot) -> bool:
        """True if the slot has had open claims."""
        return slot in self._slots

    def open_slots(self) -> set[Slot]:
        return {ids.slot for ids in self._open}

    def add(
        self, placement: Placement, attribution: Attribution, *, is_isa: bool, is_retraction: bool = False
    ) -> Claim:
        """Return the open claim for this collision: a new one, or the existing one, which the repeat supports."""
        priority = PRIORITY.get(attribution.source, 0)
        # The claim keeps the first attribution: the decision will be about that.
        known = self._open.get(placement.ids)
        if known is None:
            known = self._open[placement.ids] = _build_claim(placement, attribution, is_isa=is_isa)
            if is_retraction:
                known.collision_type = CollisionType.RETRACTION
            self._new.append(known)
            return known
        self._support.append((known, attribution))
        if known.priority < priority:
            self._change(known, priority=priority)
        return known

    def close(self, ids: TripleIds) -> None:
        """Close the claim, because its triple was placed."""
        if ids in self._open:
            self._close(ids, Claim.Status.RESOLVED, "It was stated again, and is in the graph now.")

    def close_older(self, ids: TripleIds, said_at: datetime) -> None:
        """Close claims that are older than this statement, in a dimension where the newest statement wins."""
        # Such claims were queued before the dimension's policy was changed. A cycle stays a cycle.
        for other, row in list(self._open.items()):
            if other.slot == ids.slot and row.collision_type != CollisionType.CYCLE and row.said_at <= said_at:
                self._close(other, Claim.Status.DISMISSED, "A later statement replaced it.")

    def withdraw(self, ids: TripleIds, by: Attribution) -> bool:
        """Withdraw the claim if the speaker may retract it. Returns True if it was withdrawn."""
        row = self._open.get(ids)
        if row is None or row.is_retraction:
            return False
        if not may_change(by.channel, row.channel, is_sole=voice_of(row.agent) == voice_of(by.agent)):
            return False
        self._close(ids, Claim.Status.DISMISSED, "It was taken back.")
        return True

    def retarget_claims(self, edge: Edge, replaced: Edge) -> None:
        """Turn the claims against the replaced edge into claims against the edge that took its place."""
        for ids, row in list(self._open.items()):
            if ids.slot != (edge.concept_id, edge.dim_id) or row.collision_type == CollisionType.CYCLE:
                continue
            if row.is_retraction and ids.parent_id == replaced.parent_id:
                self._close(ids, Claim.Status.RESOLVED, "The fact was replaced.")
            if row.is_retraction or edge.is_additive:
                continue
            against = (edge.parent_id, None, classify_collision(edge.is_isa, row.incoming_is_isa))
            if row.against != against:
                self._change(row, **_renew(*against))

    def _close(self, ids: TripleIds, status: Claim.Status, reason: str) -> None:
        self._change(self._open.pop(ids), status=status, resolution={"reason": reason}, resolved_at=timezone.now())

    def _change(self, row: Claim, **values: Any) -> None:
        for name, value in values.items():
            setattr(row, name, value)
        if row.pk is not None:
            self._changes.setdefault(row.pk, {}).update(values)

    def write(self) -> list[Claim]:
        """Store the claims, and return the new rows with their keys."""
        if self._new:
            self._find_conflicts()
            rows = [[getattr(row, name) for name in TYPES] for row in self._new]
            stored = {TripleIds(*row[:3]): row[3:] for row in fetch_rows(INSERT, columns(rows, len(TYPES)))}
            for row in self._new:
                row.pk, row.created_at = stored[row.incoming]
                row._state.adding = False
        if self._support:
            with connection.cursor() as cursor:
                for claim, said in self._support:
                    voice = json.dumps([[said.agent, said.channel]])
                    cursor.execute(SUPPORT, {"claim": claim.pk, "voice": voice})
        for key, values in sorted(self._changes.items()):
            # Update open rows only: one that was decided meanwhile stays as it was decided.
            Claim.objects.filter(pk=key, status__in=OPEN).update(**values)
        return self._new

    def _find_conflicts(self) -> None:
        known = {row.slot: row.conflict_id for row in self._open.values() if row.pk is not None}
        still_open = lock_open(known[row.slot] for row in self._new if row.slot in known)
        known = {slot: conflict_id for slot, conflict_id in known.items() if conflict_id in still_open}
        known |= open_for_claims({row.slot for row in self._new} - known.keys())
        for row in self._new:
            row.conflict_id = known[row.slot]


def recheck_claims(slot: Slot, *, place_first: bool) -> None:
    """Put the slot's open claims against what is in their way now. If nothing is and ``place_first`` is set, the first
    claim in the queue's order takes the slot. The caller holds the dimension's lock."""
    rows = Claim.objects.select_for_update(of=("self",)).filter(concept_id=slot[0], dim_id=slot[1], status__in=OPEN)
    for row in rows.order_by(*IN_ORDER):
        # Read the edge again for each row: the one before may have filled the place.
        edge = store.lock_edge(row.incoming)
        if row.is_retraction:
            if edge is None or edge.parent_id != row.incoming_parent_id:  # it is gone
                _resolve(row)
        elif edge is not None and edge.parent_id != row.incoming_parent_id:
            _retarget(row, edge.parent_id, None, classify_collision(edge.is_isa, row.incoming_is_isa))
        elif edge is not None:
            _resolve(row)
        elif (closing := store.find_closing_edge(row.incoming)) is not None:
            _retarget(row, None, closing.concept_id, CollisionType.CYCLE)
        elif place_first:
            # Place it as if it had been stated now: nothing contradicts it any more.
            store.insert(store.new_edge(row.incoming, row.incoming_is_isa, row.attribution), row.attribution)
            _resolve(row)


def _retarget(row: Claim, parent_id: int | None, blocking_id: int | None, collision_type: str) -> None:
    if row.against == (parent_id, blocking_id, collision_type):
        return
    for name, value in _renew(parent_id, blocking_id, collision_type).items():
        setattr(row, name, value)
    row.save()


def _renew(parent_id: int | None, blocking_id: int | None, collision_type: str) -> dict[str, Any]:
    """Return the new column values of a claim that is against something else now."""
    # The proposal and the failed attempts were about another question.
    return {
        "existing_parent_id": parent_id, "blocking_concept_id": blocking_id, "collision_type": collision_type,
        "status": Claim.Status.PENDING, "proposal": None, "attempts": 0, "last_error": "", "next_attempt_at": None,
    }  # fmt: skip


def _resolve(row: Claim) -> None:
    row.status, row.resolved_at, row.claimed_until = Claim.Status.RESOLVED, timezone.now(), None
    row.save(update_fields=["status", "resolved_at", "claimed_until"])


def _build_claim(placement: Placement, attribution: Attribution, *, is_isa: bool) -> Claim:
    ids, edge, closing = placement.ids, placement.edge, placement.closing
    return Claim(
        concept_id=ids.concept_id,
        dim_id=ids.dim_id,
        existing_parent_id=edge.parent_id if edge is not None else None,
        incoming_parent_id=ids.parent_id,
        blocking_concept_id=closing.concept_id if closing is not None else None,
        incoming_is_isa=is_isa,
        incoming_confidence=attribution.confidence,
        incoming_source=attribution.source,
        channel=attribution.channel,
        collision_type=CollisionType.CYCLE if edge is None else classify_collision(edge.is_isa, is_isa),
        agent=attribution.agent,
        role=attribution.role,
        conversation=attribution.conversation,
        evidence=attribution.evidence[:EVIDENCE_MAX],
        priority=PRIORITY.get(attribution.source, 0),
        said_at=attribution.at,
    )
