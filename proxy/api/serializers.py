"""The answers' JSON for facts, candidates, conflicts, decisions and runs."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, TypeVar

from django.db.models import Prefetch, prefetch_related_objects
from ninja import Field
from pydantic import AliasPath, BeforeValidator

from memory.english.name_shapes import find_doubt
from memory.models import Edge, EdgeHistory, Memory, ProjectState
from proxy.api.endpoint import OpenOutput, Output
from resolution.conflicts.members import DisputedRow, find_opponent, read_rows
from resolution.conflicts.opening import list_open_of
from resolution.conflicts.queue import IN_ORDER, OPEN
from resolution.models import Candidate, Claim, Conflict, ConflictMember, Decision, Run
from resolution.naming.names import TWO_NAMES
from resolution.pages import audits, conflict_facts, conflict_list
from resolution.pages.words import dated, newcomer

OTHER_FACTS_MAX = 100
CLAIM_FIELDS = (
    *("channel", "agent", "role", "evidence", "status", "collision_type", "priority", "attempts", "last_error"),
    *("next_attempt_at", "proposal", "resolution", "created_at", "resolved_at"),
)
CLAIM_TRUST = ConflictMember.TRUST[ConflictMember.Kind.CLAIM]

OrNone = Annotated[str | None, BeforeValidator(lambda text: text or None)]
Dated = Annotated[datetime | None, BeforeValidator(dated)]


# --- facts ---


class Fact(Output):
    concept: str
    parent: str
    dimension: str
    is_isa: bool


class OutcomeOut(Output):
    """What became of a statement."""

    status: str
    existing: Fact | None = None
    conflict_id: int | None = None
    member_id: int | None = Field(None, description="The claim against the fact that is known.")
    collision_type: str = ""
    reason: str = ""


class FactOutcome(OutcomeOut):
    fact: Fact


class EdgeOut(Fact):
    concept: str = Field(validation_alias=AliasPath("fact", "concept"))
    parent: str = Field(validation_alias=AliasPath("fact", "parent"))
    dimension: str = Field(validation_alias=AliasPath("fact", "dimension"))
    label: str = Field(validation_alias=AliasPath("parent", "shown"), description="The parent as it is shown.")
    confidence: float
    source: str
    channel: str
    agent: str
    said_at: Dated
    last_confirmed: datetime


class OpenConflict(Output):
    id: int
    kind: str
    conflicts_with: dict[str, Any] | None = Field(description="The row of a higher layer that it contradicts.")


class Disputable(Output):
    id: int = Field(validation_alias="pk")
    conflicts: list[OpenConflict] = Field([], validation_alias="open_conflicts")


class DisputedEdgeOut(EdgeOut, Disputable):
    pass


Disputed = TypeVar("Disputed", bound=Disputable)


def with_conflicts(kind: str, out: type[Disputed], rows: Sequence[Any]) -> list[Disputed]:
    """Serialize rows of one kind, each with the open conflicts that it is a member of."""
    conflicts = list_open_of(kind, [row.pk for row in rows])
    items = [out.model_validate(row) for row in rows]
    for item in items:
        item.conflicts = [OpenConflict(**one) for one in conflicts.get(item.id, ())]
    return items


def list_voices(pairs: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"agent": agent, "channel": channel} for agent, channel in pairs]


class Voice(Output):
    agent: str
    channel: str


class CandidateOut(Fact):
    id: int
    channel: str
    confidence: float
    voices: Annotated[list[Voice], BeforeValidator(list_voices)]
    said_count: int
    conversations: int
    evidence: str | None = Field(description="A sentence in which it was said; null for whoever may not read it.")
    why: str = Field(description="Why it waits.")
    holder: dict[str, str | None] | None = Field(None, alias="for", description="The speaker for whom alone it holds.")
    needs_operator: bool = False
    state: str
    resolved_by: str
    first_said_at: datetime
    last_said_at: datetime


def candidate_out(row: Candidate) -> CandidateOut:
    found = CandidateOut.model_validate(row)
    found.holder = {"agent": row.for_speaker, "user": row.for_person or None} if row.for_speaker else None
    is_doubtful = find_doubt(row.concept, row.parent, row.dimension, row.evidence) is not None
    found.needs_operator = row.why == TWO_NAMES or is_doubtful
    return found


# --- decisions and runs ---


class DecisionHead(Output):
    id: int
    kind: str
    conflict: int | None = Field(validation_alias="conflict_id")
    actor: str
    reason: str
    at: datetime
    undone: bool = False


class DecisionOut(DecisionHead):
    member: int | None = Field(validation_alias="claim_id", description="The claim that it is about.")
    run: int | None = Field(validation_alias="run_id")
    arguments: dict[str, Any]
    source: str
    undoes: int | None = Field(validation_alias="undoes_id")
    undone_by: int | None = Field(None, validation_alias=AliasPath("undone_by", "pk"))


class Supersession(DecisionHead):
    winner: dict[str, Any] | None = None
    superseded: list[dict[str, Any]] = []


Decided = TypeVar("Decided", bound=DecisionHead)


def read_decision(out: type[Decided], decision: Decision) -> Decided:
    is_undone = hasattr(decision, "undone_by")
    found = out.model_validate(decision)
    found.conflict = decision.conflict_id or (decision.claim.conflict_id if decision.claim is not None else None)
    found.undone = is_undone
    return found


def decision_out(decision: Decision) -> DecisionOut:
    found = read_decision(DecisionOut, decision)
    found.undone_by = found.undone_by  # sent, also if it is null
    return found


def supersession_out(decision: Decision) -> Supersession:
    return read_decision(Supersession, decision).model_copy(update=audits.describe_supersession(decision))


class RunOut(Output):
    id: int
    status: str
    trigger: str
    actor: str
    mode: str
    model: str = Field(validation_alias="model_name")
    limit: int | None
    total: int = Field(validation_alias="conflicts_total", description="Conflicts that it goes over.")
    seen: int = Field(validation_alias="conflicts_seen", description="Those that are done.")
    counts: dict[str, Any] = Field(description="What became of them.")
    input_tokens: int
    output_tokens: int
    cost: float | None
    note: str = Field(description="Why it ended early, and the first errors.")
    started_at: datetime
    ended_at: datetime | None


class RunDetails(RunOut):
    decisions: list[DecisionOut] = Field([], validation_alias="own_decisions")


def run_with_decisions_out(run: Run) -> RunDetails:
    """Return the run with its decisions, oldest first, without its undos."""
    decided = run.decisions.exclude(kind=Decision.Kind.UNDO).select_related("claim", "conflict", "undone_by")
    found = RunDetails.model_validate(run)
    found.decisions = [decision_out(decision) for decision in decided.order_by("id")]
    return found


# --- conflicts ---


class MemberOut(OpenOutput):
    """One side of a conflict. What else it has depends on its kind."""

    kind: str
    id: int
    trust: int
    text: str
    support: Annotated[list[Voice], BeforeValidator(list_voices)]
    agent: str = ""
    evidence: str | None = Field(None, description="The sentence of a claim; null for whoever may not read it.")


class ConflictOut(Output):
    id: int
    kind: str = Field(validation_alias="slot_kind")
    slot_kind: str
    tier: str
    slot_key: dict[str, Any]
    project: OrNone
    status: str
    priority: int
    question: OrNone
    resolution: Any
    detected_at: datetime
    resolved_at: datetime | None
    decisions: list[DecisionOut] = Field([], validation_alias="own_decisions")
    members: list[MemberOut] = Field([], validation_alias="own_members", description="The most trusted layer first.")


class ConflictDetails(ConflictOut):
    other_facts: list[EdgeOut] = Field([], description="What else is known of the concept.")
    ring: list[EdgeOut] = Field([], description="The facts that make up the rest of the ring that a claim would close.")


Serialized = TypeVar("Serialized", bound=ConflictOut)


def conflicts_out(rows: Sequence[Conflict], out: type[Serialized]) -> list[Serialized]:
    """Serialize the conflicts with the support of each side, in a bounded number of queries."""
    decided = Decision.objects.select_related("claim", "undone_by").order_by("id")
    related = Claim.objects.select_related("concept", "dim", "existing_parent", "incoming_parent", "blocking_concept")
    claims = conflict_list.with_support(related).prefetch_related(Prefetch("decisions", decided)).order_by(*IN_ORDER)
    whole = Prefetch("members", ConflictMember.objects.select_related("conflicts_with"))
    prefetch_related_objects(rows, Prefetch("claims", claims), whole, Prefetch("decisions", decided))
    disputed: dict[int, list[DisputedRow]] = {}
    for one in read_rows([member for row in rows for member in row.members.all()]):
        disputed.setdefault(one.member.conflict_id, []).append(one)
    items = [out.model_validate(row) for row in rows]
    for item, row in zip(items, rows, strict=True):
        item.decisions = [decision_out(decision) for decision in row.decisions.all()]
        item.members = [MemberOut(**one) for one in _list_members(row, disputed.get(row.pk, ()))]
    return items


def surroundings_out(conflict_id: int) -> ConflictDetails | None:
    """Return one conflict with the concept's facts in other dimensions, and the facts that make up its ring; None if
    there is no such conflict."""
    told = next(iter(conflicts_out(list(Conflict.objects.filter(pk=conflict_id)), ConflictDetails)), None)
    first = Claim.objects.filter(conflict_id=conflict_id).order_by(*IN_ORDER).first()
    if told is None or first is None:
        return told
    others = conflict_facts.other_facts(first).order_by("dim__token")[:OTHER_FACTS_MAX]
    closing = [row for row in Claim.objects.filter(conflict_id=conflict_id) if row.collision_type == "cycle"]
    ring = conflict_facts.ring(closing[0]) if closing else []
    told.other_facts = [EdgeOut.model_validate(edge) for edge in others]
    told.ring = [EdgeOut.model_validate(edge) for edge in ring]
    return told


def _list_members(row: Any, disputed_rows: Sequence[DisputedRow]) -> list[dict[str, Any]]:
    # Insert claims in the order in which they are decided, after the facts that they dispute.
    members = [_member_out(one) for one in disputed_rows if not isinstance(one.row, Claim)]
    at = next((number for number, member in enumerate(members) if member["trust"] < CLAIM_TRUST), len(members))
    edges = [one.row for one in disputed_rows if isinstance(one.row, Edge)]
    members[at:at] = [_claim_out(claim, edges) for claim in row.claims.all()]
    return members


def _claim_out(row: Any, edges: Iterable[Edge]) -> dict[str, Any]:
    """Serialize a claim that was loaded with its support."""
    existing = find_opponent(row, edges)
    against: Any = EdgeOut.model_validate(existing) if existing is not None else None
    if row.status not in OPEN and row.existing_parent is not None and not (existing and row.is_against(existing)):
        # It was decided, and something else may stand in the slot by now.
        against = _existing_out(row)
    return {name: getattr(row, name) for name in CLAIM_FIELDS} | {
        "kind": "claim",
        "id": row.pk,
        "trust": CLAIM_TRUST,
        "text": newcomer(row),
        "support": row.support or (),
        **asdict(row.fact),
        "confidence": row.incoming_confidence,
        "source": row.incoming_source,
        "said_at": dated(row.said_at),
        "existing": against,
        "existing_parent": row.existing_parent.token if row.existing_parent is not None else None,
        "blocking_concept": row.blocking_concept.token if row.blocking_concept is not None else None,
        "run": row.run_id,
        "decisions": [decision_out(decision) for decision in row.decisions.all()],
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
        "support": member.support,
        "holds": one.holds,
        "is_asked": member.is_asked,
        "conflicts_with": {"kind": higher.kind, "id": higher.object_id} if higher is not None else None,
    }
    if one.heir is not None:
        gone = {"status": "superseded", "superseded_by": {"kind": "claim", "id": one.heir.pk}}
        return told | _existing_out(one.heir) | ({"status": "moved"} if one.is_moved else gone)
    if isinstance(row, Edge):
        return told | EdgeOut.model_validate(row).model_dump()
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
