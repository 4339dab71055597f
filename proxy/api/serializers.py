"""Serializes conflicts, decisions and runs to plain values for JSON, in a bounded number of queries."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from django.db.models import Prefetch, QuerySet

from memory.domain.name_shapes import find_doubt
from memory.domain.types import Place
from memory.models import Edge, EdgeHistory, Memory, ProjectState
from resolution.decisions.naming import TWO_NAMES
from resolution.decisions.sides import DisputedRow, read_rows
from resolution.intake.in_the_way import edges_near, in_the_way
from resolution.intake.open_claims import IN_ORDER, OPEN
from resolution.models import Candidate, Claim, Conflict, ConflictMember, Decision, Run
from resolution.views import audits, conflict_facts, conflict_list
from resolution.views.phrases import dated, newcomer

OTHER_FACTS_MAX = 100
CLAIM_TRUST = ConflictMember.TRUST[ConflictMember.Kind.CLAIM]


def conflicts_out(rows: QuerySet[Conflict]) -> list[dict[str, Any]]:
    """Return the conflicts with the support of each side, in a bounded number of queries."""
    decided = Decision.objects.select_related("claim", "undone_by").defer("before", "after").order_by("id")
    related = Claim.objects.select_related("concept", "dim", "existing_parent", "incoming_parent", "blocking_concept")
    claims = conflict_list.with_support(related).prefetch_related(Prefetch("decisions", decided)).order_by(*IN_ORDER)
    whole = Prefetch("members", ConflictMember.objects.select_related("conflicts_with"))
    of_all = Prefetch("decisions", decided.select_related("conflict"))
    related_rows = rows.select_related("concept", "dim").prefetch_related(Prefetch("claims", claims), whole, of_all)
    found = list(related_rows)
    standing = edges_near(claim for row in found for claim in row.claims.all())
    disputed: dict[int, list[DisputedRow]] = {}
    for one in read_rows([member for row in found for member in row.members.all()]):
        disputed.setdefault(one.member.conflict_id, []).append(one)
    return [_conflict_out(row, standing, disputed.get(row.pk, ())) for row in found]


def conflict_out(conflict_id: int) -> dict[str, Any] | None:
    """Return one conflict; None if there is none with this id."""
    found = conflicts_out(Conflict.objects.filter(pk=conflict_id))
    return found[0] if found else None


def surroundings_out(conflict_id: int) -> dict[str, Any] | None:
    """Return one conflict with the concept's facts in other dimensions, and the facts that make up its ring; None if
    there is no such conflict."""
    told = conflict_out(conflict_id)
    first = Claim.objects.filter(conflict_id=conflict_id).order_by(*IN_ORDER).first()
    if told is None or first is None:
        return told
    others = conflict_facts.other_facts(first).order_by("dim__token")[:OTHER_FACTS_MAX]
    closing = [row for row in Claim.objects.filter(conflict_id=conflict_id) if row.collision_type == "cycle"]
    ring = conflict_facts.ring(closing[0]) if closing else []
    return told | {"other_facts": [edge_out(edge) for edge in others], "ring": [edge_out(edge) for edge in ring]}


def edge_out(edge: Edge) -> dict[str, Any]:
    return asdict(edge.fact) | {
        "label": edge.parent.shown,
        "confidence": edge.confidence,
        "source": edge.source,
        "channel": edge.channel,
        "agent": edge.agent,
        "said_at": dated(edge.said_at),
        "last_confirmed": edge.last_confirmed,
    }


def decision_out(decision: Decision) -> dict[str, Any]:
    undone_by = getattr(decision, "undone_by", None)
    return {
        "id": decision.pk,
        "kind": decision.kind,
        "conflict": decision.conflict_id or (decision.claim.conflict_id if decision.claim is not None else None),
        "member": decision.claim_id,
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
    """Return the run with its decisions, oldest first, without its undos."""
    decided = (
        run.decisions.exclude(kind=Decision.Kind.UNDO)
        .select_related("claim", "conflict", "undone_by")
        .defer("before", "after")
    )
    return run_out(run) | {"decisions": [decision_out(decision) for decision in decided.order_by("id")]}


def candidate_out(row: Candidate) -> dict[str, Any]:
    doubt = find_doubt(row.concept, row.parent, row.dimension, row.evidence)
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
        "for": {"agent": row.for_speaker, "user": row.for_person or None} if row.for_speaker else None,
        "needs_operator": row.why == TWO_NAMES or doubt is not None,
        "state": row.state,
        "resolved_by": row.resolved_by,
        "first_said_at": row.first_said_at,
        "last_said_at": row.last_said_at,
    }


def supersession_out(decision: Decision) -> dict[str, Any]:
    about = ("id", "kind", "conflict", "at", "actor", "reason", "undone")
    told = decision_out(decision)
    return {name: told[name] for name in about} | audits.describe_supersession(decision)


def _conflict_out(
    row: Any, standing: Mapping[Place, Edge], disputed_rows: Iterable[DisputedRow] = ()
) -> dict[str, Any]:
    # Insert claims in the order in which they are decided, after the facts that they dispute.
    members = [_member_out(one) for one in disputed_rows if not isinstance(one.row, Claim)]
    at = next((number for number, member in enumerate(members) if member["trust"] < CLAIM_TRUST), len(members))
    members[at:at] = [_claim_out(claim, standing) for claim in row.claims.all()]
    return {
        "id": row.pk,
        "kind": row.slot_kind,
        "slot_kind": row.slot_kind,
        "tier": row.tier,
        "slot_key": row.slot_key,
        "project": row.project or None,
        "status": row.status,
        "priority": row.priority,
        "question": row.question or None,
        "resolution": row.resolution,
        "detected_at": row.detected_at,
        "resolved_at": row.resolved_at,
        "decisions": [decision_out(decision) for decision in row.decisions.all()],
        "members": members,
    }


def _claim_out(row: Any, standing: Mapping[Place, Edge]) -> dict[str, Any]:
    """Serialize a claim that was loaded with its support."""
    existing = in_the_way(row, standing)
    against = edge_out(existing) if existing is not None else None
    if row.status not in OPEN and row.existing_parent is not None and not (existing and row.is_against(existing)):
        # It was decided, and something else may stand in the slot by now.
        against = _existing_out(row)
    return {
        "kind": "claim",
        "id": row.pk,
        "trust": CLAIM_TRUST,
        "text": newcomer(row),
        "support": [{"agent": agent, "channel": channel} for agent, channel in row.support or ()],
        **asdict(row.fact),
        "confidence": row.incoming_confidence,
        "source": row.incoming_source,
        "channel": row.channel,
        "agent": row.agent,
        "role": row.role,
        "said_at": dated(row.said_at),
        "evidence": row.evidence,
        "status": row.status,
        "collision_type": row.collision_type,
        "existing": against,
        "existing_parent": row.existing_parent.token if row.existing_parent is not None else None,
        "blocking_concept": row.blocking_concept.token if row.blocking_concept is not None else None,
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


def _existing_out(row: Claim) -> dict[str, Any]:
    """Serialize what is known of the fact that a decided claim was against."""
    parent = row.existing_parent
    if parent is None:
        return {}
    return asdict(row.fact) | {"parent": parent.token, "is_isa": row.existing_is_isa, "label": parent.shown}


def _member_out(one: DisputedRow) -> dict[str, Any]:
    member, row = one.member, one.row
    higher = member.conflicts_with
    told = {
        "kind": member.kind,
        "id": member.object_id,
        "trust": member.trust,
        "text": one.text,
        "text_then": member.text,
        "support": [{"agent": agent, "channel": channel} for agent, channel in member.support],
        "holds": one.holds,
        "is_asked": member.is_asked,
        "conflicts_with": {"kind": higher.kind, "id": higher.object_id} if higher is not None else None,
    }
    if one.heir is not None:
        gone = {"status": "superseded", "superseded_by": {"kind": "claim", "id": one.heir.pk}}
        return told | _existing_out(one.heir) | ({"status": "moved"} if one.is_moved else gone)
    if isinstance(row, Edge):
        return told | edge_out(row)
    if isinstance(row, EdgeHistory):
        return told | {"agent": row.actor, "channel": row.channel, "at": row.at}
    if isinstance(row, Memory):
        names = ("category", "status", "confidence", "agent", "channel")
        successor = {"superseded_by": row.superseded_by_id, "said_at": dated(row.said_at)}
        return told | {name: getattr(row, name) for name in names} | successor
    if isinstance(row, ProjectState):
        names = ("category", "key", "value", "status", "set_at")
        told |= {name: getattr(row, name) for name in names}
        return told | {"project": row.project.slug, "agent": row.actor, "superseded_by": row.superseded_by_id}
    return told
