"""The answers' JSON for facts, candidates, conflicts, decisions and runs."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Annotated, Any, TypeVar

from django.db.models import Prefetch, prefetch_related_objects
from ninja import Field
from pydantic import AliasPath, BeforeValidator

from memory.english.name_shapes import find_doubt
from memory.models import Edge, EdgeHistory, Memory, ProjectState
from memory.types import Triple
from proxy.api.endpoint import OpenOutput, Output
from resolution.conflicts.opening import list_open_of
from resolution.conflicts.queue import OPEN
from resolution.models import Candidate, Claim, Conflict, Decision, Run
from resolution.naming.names import TWO_NAMES
from resolution.pages.conflicts import ConflictPage, PageMember, read_conflicts, read_other_facts, read_ring
from resolution.pages.queries import describe_supersession
from resolution.pages.words import date_or_none

CLAIM_FIELDS = (
    *("channel", "agent", "role", "evidence", "status", "collision_type", "priority", "attempts", "last_error"),
    *("next_attempt_at", "proposal", "resolution", "created_at", "resolved_at"),
)

OrNone = Annotated[str | None, BeforeValidator(lambda text: text or None)]
SlugOrNone = Annotated[str | None, BeforeValidator(lambda project: project and project.slug)]
Dated = Annotated[datetime | None, BeforeValidator(date_or_none)]


# --- facts ---


class Fact(Output):
    concept: str
    parent: str
    dimension: str
    is_isa: bool

    def __str__(self) -> str:
        return str(Triple(self.concept, self.parent, self.dimension, self.is_isa))


class OutcomeOut(Output):
    """The outcome of a statement."""

    status: str
    existing: Fact | None = None
    conflict_id: int | None = None
    member_id: int | None = Field(None, description="The claim against the fact that is known.")
    collision_type: str = ""
    reason: str = ""


class FactOutcome(OutcomeOut):
    fact: Fact

    def lines(self) -> Iterator[str]:
        is_stored = self.status in ("inserted", "superseded", "confirmed")
        yield f"{self.status if is_stored else f'Not stored ({self.status})'}: {self.fact}"
        if self.existing is not None:
            yield f"{'Before' if is_stored else 'Known'}: {self.existing}"
        if self.conflict_id is not None:
            yield f"Conflict {self.conflict_id} is open: people decide."
        if self.reason:
            yield self.reason


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
    why: str = Field(description="Why it needs review.")
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
    return read_decision(Supersession, decision).model_copy(update=describe_supersession(decision))


def join_open(status: str) -> str:
    return "running" if status == Run.Status.REQUESTED else status


class RunOut(Output):
    id: int
    status: Annotated[str, BeforeValidator(join_open)]
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

    def lines(self) -> Iterator[str]:
        sides = ", ".join(dict.fromkeys(voice.agent for voice in self.support)) or self.agent
        said = f': "{self.evidence}"' if self.evidence else ""
        gone = "" if getattr(self, "holds", True) else ", no longer current"
        yield f"  {self.kind}:{self.id} {self.text} (stated by {sides}{said}{gone})"


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
    seen: str = Field("", description="What is shown of it; sent with a decision, what joins later stays open.")
    decisions: list[DecisionOut] = Field([], validation_alias="own_decisions")
    members: list[MemberOut] = Field([], validation_alias="own_members", description="The most trusted layer first.")

    def lines(self) -> Iterator[str]:
        yield f"Conflict {self.id} ({self.kind}, {self.status}){f': {self.question}' if self.question else ''}"
        for member in self.members:
            yield from member.lines()


class ConflictDetails(ConflictOut):
    other_facts: list[EdgeOut] = Field([], description="What else is known of the concept.")
    ring: list[EdgeOut] = Field([], description="The facts that make up the rest of the ring that a claim would close.")


Serialized = TypeVar("Serialized", bound=ConflictOut)


def conflicts_out(rows: Sequence[Conflict], out: type[Serialized]) -> list[Serialized]:
    """Serialize the conflicts with the support of each member, in a bounded number of queries."""
    return [_conflict_out(page, out) for page in _read_pages(rows).values()]


def surroundings_out(conflict_id: int) -> ConflictDetails | None:
    """Return one conflict with the concept's facts in other dimensions, and the facts that make up its ring; None if
    there is no such conflict."""
    page = _read_pages(Conflict.objects.filter(pk=conflict_id)).get(conflict_id)
    if page is None:
        return None
    found = _conflict_out(page, ConflictDetails)
    if any(member.key.startswith("claim:") for member in page.members):
        found.other_facts = [EdgeOut.model_validate(edge) for edge in read_other_facts(page)]
    found.ring = [EdgeOut.model_validate(edge) for edge in read_ring(page)]
    return found


def _read_pages(rows: Iterable[Conflict]) -> dict[int, ConflictPage]:
    """Read the conflicts with the decisions about them and about their claims."""
    pages = read_conflicts(rows)
    decided = Prefetch("decisions", Decision.objects.select_related("claim", "undone_by").order_by("id"))
    claims = [member.row for page in pages.values() for member in page.members if isinstance(member.row, Claim)]
    prefetch_related_objects([page.conflict for page in pages.values()], decided)
    prefetch_related_objects(claims, decided)
    return pages


def _conflict_out(page: ConflictPage, out: type[Serialized]) -> Serialized:
    found = out.model_validate(page.conflict)
    found.seen = page.seen.partition(":")[2]
    found.decisions = [decision_out(decision) for decision in page.conflict.decisions.all()]
    found.members = [MemberOut(**_member_out(member)) for member in page.members]
    return found


def _member_out(one: PageMember) -> dict[str, Any]:
    member, row, higher = one.member, one.row, one.member.conflicts_with
    found = {
        "kind": member.kind,
        "id": member.object_id,
        "trust": member.trust,
        "text": one.text,
        "support": member.support,
    }
    if isinstance(row, Claim):
        return found | _claim_out(row, one.existing)
    found |= {
        "text_then": member.text,
        "holds": one.is_current,
        "is_asked": member.is_asked,
        "conflicts_with": {"kind": higher.kind, "id": higher.object_id} if higher is not None else None,
    }
    if one.heir is not None:
        gone = {"status": "superseded", "superseded_by": {"kind": "claim", "id": one.heir.pk}}
        return found | _existing_out(one.heir) | ({"status": "moved"} if one.is_moved else gone)
    match row:
        case Edge():
            return found | EdgeOut.model_validate(row).model_dump()
        case EdgeHistory():
            return found | {"agent": row.actor, "channel": row.channel, "at": row.at}
        case Memory():
            names = ("category", "status", "confidence", "agent", "channel")
            found |= {name: getattr(row, name) for name in names}
            return found | {"superseded_by": row.superseded_by_id, "said_at": date_or_none(row.said_at)}
        case ProjectState():
            found |= {name: getattr(row, name) for name in ("category", "key", "value", "status", "set_at")}
            return found | {"project": row.project.slug, "agent": row.actor, "superseded_by": row.superseded_by_id}
    return found


def _claim_out(row: Claim, existing: Edge | None) -> dict[str, Any]:
    is_decided = row.status not in OPEN and row.existing_parent is not None and existing is None
    against: Any = EdgeOut.model_validate(existing) if existing is not None else None
    return {name: getattr(row, name) for name in CLAIM_FIELDS} | {
        **asdict(row.fact),
        "confidence": row.incoming_confidence,
        "source": row.incoming_source,
        "said_at": date_or_none(row.said_at),
        # Of a decided claim, what it was against, even if that is gone.
        "existing": _existing_out(row) if is_decided else against,
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
