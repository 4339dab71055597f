"""What is told of conflicts, decisions and runs: plain values for JSON, in few queries however many there are."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.db.models import Prefetch, QuerySet

from memory.domain.name_shapes import find_doubt
from memory.domain.types import Slot
from memory.models import Edge
from resolution.models import Candidate, Conflict, Decision, Run
from resolution.views import conflict_facts

OTHER_FACTS_MAX = 100


def conflicts_out(rows: QuerySet[Conflict]) -> list[dict[str, Any]]:
    """The conflicts with all that speaks for both sides, in three queries."""
    decided = Decision.objects.select_related("undone_by").defer("before", "after").order_by("id")
    related = rows.select_related("concept", "dim", "existing_parent", "incoming_parent", "blocking_concept")
    found = list(related.prefetch_related(Prefetch("decisions", decided)))
    standing = conflict_facts.edges_in(slot for row in found for slot in conflict_facts.slots(row))
    return [_conflict_out(row, standing) for row in found]


def conflict_out(conflict_id: int) -> dict[str, Any] | None:
    """One conflict; None where it is not known."""
    found = conflicts_out(Conflict.objects.filter(pk=conflict_id))
    return found[0] if found else None


def surroundings_out(conflict_id: int) -> dict[str, Any] | None:
    """One conflict with the concept's facts in other dimensions, and the facts that make up its ring."""
    told = conflict_out(conflict_id)
    if told is None:
        return None
    row = Conflict.objects.get(pk=conflict_id)
    others = conflict_facts.other_facts(row).order_by("dim__token")[:OTHER_FACTS_MAX]
    ring = conflict_facts.ring(row) if row.collision_type == "cycle" else []
    return told | {"other_facts": [edge_out(edge) for edge in others], "ring": [edge_out(edge) for edge in ring]}


def edge_out(edge: Edge) -> dict[str, Any]:
    return _sides(edge.concept.token, edge.parent.token, edge.dim.token, edge.is_isa) | {
        "confidence": edge.confidence,
        "source": edge.source,
        "channel": edge.channel,
        "agent": edge.agent,
        "said_at": edge.said_at,
        "last_confirmed": edge.last_confirmed,
    }


def decision_out(decision: Decision) -> dict[str, Any]:
    undone_by = getattr(decision, "undone_by", None)
    return {
        "id": decision.pk,
        "kind": decision.kind,
        "conflict": decision.conflict_id,
        "run": decision.run_id,
        "arguments": decision.arguments,
        "actor": decision.actor,
        "source": decision.source,
        "reason": decision.reason,
        "at": decision.at,
        "undoes": decision.undoes_id,
        "undone": undone_by is not None,
        "undone_by": undone_by.pk if undone_by is not None else None,
    }


def run_out(run: Run) -> dict[str, Any]:
    return {
        "id": run.pk,
        "status": run.status,
        "trigger": run.trigger,
        "actor": run.actor,
        "mode": run.mode,
        "model": run.model_name,
        "limit": run.limit,
        "total": run.conflicts_total,
        "seen": run.conflicts_seen,
        "counts": run.counts,
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
        "cost": None if run.cost is None else float(run.cost),
        "note": run.note,
        "started_at": run.started_at,
        "ended_at": run.ended_at,
    }


def run_with_decisions_out(run: Run) -> dict[str, Any]:
    """The run with what it decided, in the order in which it did; not what it undid."""
    decided = run.decisions.exclude(kind=Decision.Kind.UNDO).select_related("undone_by").defer("before", "after")
    return run_out(run) | {"decisions": [decision_out(decision) for decision in decided.order_by("id")]}


def candidate_out(row: Candidate) -> dict[str, Any]:
    return {
        "id": row.pk,
        **asdict(row.triple),
        "channel": row.channel,
        "confidence": row.confidence,
        "voices": [{"agent": agent, "channel": channel} for agent, channel in row.voices],
        "said_count": row.said_count,
        "conversations": row.conversations,
        "evidence": row.evidence,
        "why": row.why,
        "needs_operator": find_doubt(row.concept, row.parent, row.dimension) is not None,
        "state": row.state,
        "resolved_by": row.resolved_by,
        "first_said_at": row.first_said_at,
        "last_said_at": row.last_said_at,
    }


def _conflict_out(row: Conflict, standing: Mapping[Slot, Edge]) -> dict[str, Any]:
    existing = conflict_facts.in_the_way(row, standing)
    incoming = _sides(row.concept.token, row.incoming_parent.token, row.dim.token, row.incoming_is_isa)
    said = {"confidence": row.incoming_confidence, "source": row.incoming_source, "channel": row.channel}
    said |= {"agent": row.agent}
    return {
        "id": row.pk,
        "concept": row.concept.token,
        "dimension": row.dim.token,
        "collision_type": row.collision_type,
        "status": row.status,
        "existing": edge_out(existing) if existing is not None else None,
        "incoming": incoming | said | {"role": row.role, "said_at": row.said_at},
        "existing_parent": row.existing_parent.token if row.existing_parent is not None else None,
        "blocking_concept": row.blocking_concept.token if row.blocking_concept is not None else None,
        "evidence": row.evidence,
        "priority": row.priority,
        "attempts": row.attempts,
        "last_error": row.last_error,
        "next_attempt_at": row.next_attempt_at,
        "proposal": row.proposal,
        "resolution": row.resolution,
        "run": row.run_id,
        "decisions": [decision_out(decision) for decision in row.decisions.all()],
        "created_at": row.created_at,
        "resolved_at": row.resolved_at,
    }


def _sides(concept: str, parent: str, dimension: str, is_isa: bool) -> dict[str, Any]:
    return {"concept": concept, "parent": parent, "dimension": dimension, "is_isa": is_isa}
