"""A typed client of Festinger's own endpoints, in one module on httpx.

Written by scripts/make_client.py from the endpoints' declarations: change those."""

from __future__ import annotations

from types import TracebackType
from typing import Any, Generic, Literal, NotRequired, TypedDict, TypeVar
from urllib.parse import quote

import httpx

Item = TypeVar("Item")


class FestingerError(Exception):
    """An answer with an error status; ``content`` is its JSON."""

    def __init__(self, status: int, content: dict[str, Any]) -> None:
        super().__init__(content.get("error", f"HTTP {status}"))
        self.status = status
        self.content = content


class Page(TypedDict, Generic[Item]):
    """``count`` is that of all pages."""

    items: list[Item]
    count: int


CandidateOut = TypedDict(
    "CandidateOut",
    {
        "channel": "str",
        "concept": "str",
        "confidence": "float",
        "conversations": "int",
        "dimension": "str",
        "evidence": "str | None",
        "first_said_at": "str",
        "for": "NotRequired[dict[str, str | None] | None]",
        "id": "int",
        "is_isa": "bool",
        "last_said_at": "str",
        "needs_operator": "NotRequired[bool]",
        "parent": "str",
        "resolved_by": "str",
        "said_count": "int",
        "state": "str",
        "voices": "list[Voice]",
        "why": "str",
    },
)

Kind = Literal["edge_slot", "memory_slot", "cross_layer", "narrative"]


class AgentOut(TypedDict):
    allowed_projects: list[str]
    allows_all_projects: bool
    ask: bool
    can_teach: str
    created_at: str
    episodes: str
    id: int
    learn: bool
    name: str
    project: str | None
    recall: bool
    scope: str


class AliasOut(TypedDict):
    agent: str
    alias: str
    at: str
    channel: str
    concept: str


class Change(TypedDict):
    action: str
    actor: str
    after: Any
    at: str
    before: Any
    channel: str
    reason: str | None


class ConflictDetails(TypedDict):
    decisions: NotRequired[list[DecisionOut]]
    detected_at: str
    id: int
    kind: str
    members: NotRequired[list[MemberOut]]
    other_facts: NotRequired[list[EdgeOut]]
    priority: int
    project: str | None
    question: str | None
    resolution: Any
    resolved_at: str | None
    ring: NotRequired[list[EdgeOut]]
    seen: NotRequired[str]
    slot_key: dict[str, Any]
    slot_kind: str
    status: str
    tier: str


class ConflictOut(TypedDict):
    decisions: NotRequired[list[DecisionOut]]
    detected_at: str
    id: int
    kind: str
    members: NotRequired[list[MemberOut]]
    priority: int
    project: str | None
    question: str | None
    resolution: Any
    resolved_at: str | None
    seen: NotRequired[str]
    slot_key: dict[str, Any]
    slot_kind: str
    status: str
    tier: str


class CreatedProject(TypedDict):
    created_at: str
    description: str
    id: int
    is_open: bool
    name: str
    note: NotRequired[str]
    slug: str


class Decided(TypedDict):
    conflict: ConflictOut | None
    decision: DecisionOut
    decisions: list[DecisionOut]


class DecidedCandidate(TypedDict):
    conflict_id: NotRequired[int | None]
    decision_id: NotRequired[int | None]
    fact: NotRequired[Fact | None]
    status: str


class DecisionOut(TypedDict):
    actor: str
    arguments: dict[str, Any]
    at: str
    conflict: int | None
    id: int
    kind: str
    member: int | None
    reason: str
    run: int | None
    source: str
    undoes: int | None
    undone: NotRequired[bool]
    undone_by: NotRequired[int | None]


class DisputedEdgeOut(TypedDict):
    agent: str
    channel: str
    concept: str
    confidence: float
    conflicts: NotRequired[list[OpenConflict]]
    dimension: str
    id: int
    is_isa: bool
    label: str
    last_confirmed: str
    parent: str
    said_at: str | None
    source: str


class EdgeOut(TypedDict):
    agent: str
    channel: str
    concept: str
    confidence: float
    dimension: str
    is_isa: bool
    label: str
    last_confirmed: str
    parent: str
    said_at: str | None
    source: str


class Fact(TypedDict):
    concept: str
    dimension: str
    is_isa: bool
    parent: str


class FactOutcome(TypedDict):
    collision_type: NotRequired[str]
    conflict_id: NotRequired[int | None]
    existing: NotRequired[Fact | None]
    fact: Fact
    member_id: NotRequired[int | None]
    reason: NotRequired[str]
    status: str


class Forgotten(TypedDict):
    items: list[ForgottenItem]
    status: str


class ForgottenItem(TypedDict):
    collision_type: NotRequired[str]
    conflict_id: NotRequired[int | None]
    episode: NotRequired[dict[str, Any]]
    existing: NotRequired[Fact | None]
    fact: NotRequired[Fact | None]
    member_id: NotRequired[int | None]
    memory: NotRequired[dict[str, Any]]
    reason: NotRequired[str]
    status: str


class ForgottenMemory(TypedDict):
    id: NotRequired[int | None]
    items: list[ForgottenItem]
    result: str
    status: str
    text: NotRequired[str]


class FoundItem(TypedDict):
    agent: str
    confidence: float
    disputed: NotRequired[bool]
    id: int
    kind: str
    said_by: str
    score: float
    text: str
    timestamp: str | None
    weak: NotRequired[bool]


class GraduatedMemory(TypedDict):
    agent: str
    category: str
    channel: str
    collision_type: NotRequired[str]
    confidence: float
    conflict_id: NotRequired[int | None]
    conflicts: NotRequired[list[OpenConflict]]
    disputed_by: NotRequired[list[int]]
    evidence_count: int
    existing: NotRequired[Fact | None]
    fact: NotRequired[Fact | None]
    id: int
    is_disputed: bool
    last_updated: str
    member_id: NotRequired[int | None]
    merged_into: int | None
    project: str | None
    reason: NotRequired[str]
    result: NotRequired[str]
    said_at: str | None
    slot: str | None
    source: str
    status: str
    superseded: NotRequired[list[int]]
    superseded_by: int | None
    text: str
    user: str | None


class Health(TypedDict):
    ready: bool


class MemberOut(TypedDict):
    agent: NotRequired[str]
    evidence: NotRequired[str | None]
    id: int
    kind: str
    support: list[Voice]
    text: str
    trust: int


class MemoryDetails(TypedDict):
    agent: str
    category: str
    channel: str
    confidence: float
    conflicts: NotRequired[list[OpenConflict]]
    evidence_count: int
    history: NotRequired[list[Change]]
    id: int
    is_disputed: bool
    last_updated: str
    lineage: NotRequired[list[Origin]]
    merged_into: int | None
    project: str | None
    said_at: str | None
    slot: str | None
    source: str
    status: str
    superseded_by: int | None
    text: str
    user: str | None


class MemoryOut(TypedDict):
    agent: str
    category: str
    channel: str
    confidence: float
    conflicts: NotRequired[list[OpenConflict]]
    evidence_count: int
    id: int
    is_disputed: bool
    last_updated: str
    merged_into: int | None
    project: str | None
    said_at: str | None
    slot: str | None
    source: str
    status: str
    superseded_by: int | None
    text: str
    user: str | None


class MergeOut(TypedDict):
    concept: str
    counts: dict[str, int]
    facts: list[dict[str, Any]]
    into: str
    is_rename: bool
    run: int | None


class NamedAlias(TypedDict):
    agent: str
    alias: str
    at: str
    channel: str
    concept: str
    status: NotRequired[str]


class OpenConflict(TypedDict):
    conflicts_with: dict[str, Any] | None
    id: int
    kind: str


class Origin(TypedDict):
    at: str
    id: int
    kind: str
    text: str | None


class ProjectOut(TypedDict):
    created_at: str
    description: str
    id: int
    is_open: bool
    name: str
    slug: str


class RecollectionOut(TypedDict):
    block: str
    concepts: list[dict[str, str]]
    cues: list[dict[str, Any]]
    notes: list[dict[str, Any]]
    restrictions: dict[str, str]
    search: str
    search_ms: float | None
    style: str


class Reloaded(TypedDict):
    cache: dict[str, Any]


class RequestOut(TypedDict):
    agent: str
    at: str
    block: str
    concepts: list[dict[str, str]]
    notes: list[dict[str, Any]]
    page: NotRequired[str]
    person: str
    refused: NotRequired[list[str]]
    request: str
    restrictions: dict[str, str]
    search: str
    search_ms: float | None
    set_aside: NotRequired[list[dict[str, Any]]]


class RunDetails(TypedDict):
    actor: str
    cost: float | None
    counts: dict[str, Any]
    decisions: NotRequired[list[DecisionOut]]
    ended_at: str | None
    id: int
    input_tokens: int
    limit: int | None
    mode: str
    model: str
    note: str
    output_tokens: int
    seen: int
    started_at: str
    status: str
    total: int
    trigger: str


class RunOut(TypedDict):
    actor: str
    cost: float | None
    counts: dict[str, Any]
    ended_at: str | None
    id: int
    input_tokens: int
    limit: int | None
    mode: str
    model: str
    note: str
    output_tokens: int
    seen: int
    started_at: str
    status: str
    total: int
    trigger: str


class SettledOut(TypedDict):
    archived_at: str | None
    archived_by: str | None
    category: str
    conflict_id: NotRequired[int | None]
    conflicts: NotRequired[list[OpenConflict]]
    id: int
    is_disputed: bool
    key: str
    note: NotRequired[str]
    project: str
    reason: str | None
    result: NotRequired[str]
    set_at: str
    set_by: str
    status: str
    superseded: NotRequired[int | None]
    superseded_by: int | None
    value: str
    warning: NotRequired[str]


class StartedRun(TypedDict):
    run: int


class StateOut(TypedDict):
    archived_at: str | None
    archived_by: str | None
    category: str
    conflicts: NotRequired[list[OpenConflict]]
    id: int
    is_disputed: bool
    key: str
    project: str
    reason: str | None
    set_at: str
    set_by: str
    status: str
    superseded_by: int | None
    value: str


class Supersession(TypedDict):
    actor: str
    at: str
    conflict: int | None
    id: int
    kind: str
    reason: str
    superseded: NotRequired[list[dict[str, Any]]]
    undone: NotRequired[bool]
    winner: NotRequired[dict[str, Any] | None]


class UndoneRun(TypedDict):
    refused: list[dict[str, Any]]
    undone: list[DecisionOut]


class Voice(TypedDict):
    agent: str
    channel: str


class WrittenMemory(TypedDict):
    agent: str
    category: str
    channel: str
    confidence: float
    conflict_id: NotRequired[int | None]
    conflicts: NotRequired[list[OpenConflict]]
    disputed_by: NotRequired[list[int]]
    evidence_count: int
    id: int
    is_disputed: bool
    last_updated: str
    merged_into: int | None
    project: str | None
    result: NotRequired[str]
    said_at: str | None
    slot: str | None
    source: str
    status: str
    superseded: NotRequired[list[int]]
    superseded_by: int | None
    text: str
    user: str | None


class Festinger:
    """Calls the endpoints, each by a method with its parameters and the keys of its body or query; None leaves an
    optional one out. Methods raise FestingerError, and httpx.TransportError where there is no answer.

    ``agent`` names an agent without a token, ``user`` the person it speaks for, ``project`` the project's slug."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:11435",
        token: str = "",
        *,
        agent: str = "",
        user: str = "",
        project: str = "",
        timeout_s: float = 30.0,
    ) -> None:
        headers = {
            "Authorization": f"Bearer {token}" if token else "",
            "X-Festinger-Agent": agent,
            "X-OpenWebUI-User-Id": user,
            "X-Festinger-Project": project,
        }
        sent = {name: value for name, value in headers.items() if value}
        self._http = httpx.Client(base_url=url, headers=sent, timeout=timeout_s)

    def __enter__(self) -> Festinger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def list_agents(self, *, limit: int | None = None, offset: int | None = None) -> Page[AgentOut]:
        """List the registered agents, by name."""
        return self._call("GET", "/agents", query=_given(limit=limit, offset=offset))

    def list_aliases(
        self, *, limit: int | None = None, offset: int | None = None, concept: str | None = None
    ) -> Page[AliasOut]:
        """List the aliases of concepts."""
        return self._call("GET", "/aliases", query=_given(limit=limit, offset=offset, concept=concept))

    def post_alias(self, *, alias: str, concept: str, idempotency_key: str = "") -> NamedAlias:
        """Give a concept an alias."""
        return self._call(
            "POST",
            "/aliases",
            body={
                "alias": alias,
                "concept": concept,
            },
            key=idempotency_key,
        )

    def delete_alias(self, alias: str) -> AliasOut:
        """Remove an alias."""
        return self._call("DELETE", f"/aliases/{_quote(alias)}")

    def list_candidates(
        self,
        *,
        limit: int | None = None,
        offset: int | None = None,
        state: Literal["open", "promoted", "dismissed", "expired"] | None = None,
        concept: str | None = None,
    ) -> Page[CandidateOut]:
        """List candidates: facts that wait for a supporter or an operator."""
        return self._call("GET", "/candidates", query=_given(limit=limit, offset=offset, state=state, concept=concept))

    def dismiss_candidate(self, candidate_id: int, *, idempotency_key: str = "") -> DecidedCandidate:
        """Dismiss a candidate, for now and when it is said again."""
        return self._call("POST", f"/candidates/{_quote(candidate_id)}/dismiss", body={}, key=idempotency_key)

    def promote_candidate(self, candidate_id: int, *, idempotency_key: str = "") -> DecidedCandidate:
        """Promote a candidate to a fact."""
        return self._call("POST", f"/candidates/{_quote(candidate_id)}/promote", body={}, key=idempotency_key)

    def merge_concepts(
        self,
        *,
        concept: str,
        into: str,
        preview: bool | None = None,
        reason: str | None = None,
        idempotency_key: str = "",
    ) -> MergeOut:
        """Merge a concept or a dimension into another, or rename it."""
        return self._call(
            "POST",
            "/concepts/merge",
            body={"concept": concept, "into": into, **_given(preview=preview, reason=reason)},
            key=idempotency_key,
        )

    def list_conflicts(
        self,
        *,
        limit: int | None = None,
        offset: int | None = None,
        kind: Kind | None = None,
        project: str | None = None,
        touches: str | None = None,
        status: Literal["open", "pending", "proposed", "resolved", "dismissed", "all"] | None = None,
    ) -> Page[ConflictOut]:
        """List conflicts."""
        return self._call(
            "GET",
            "/conflicts",
            query=_given(limit=limit, offset=offset, kind=kind, project=project, touches=touches, status=status),
        )

    def list_supersessions(
        self,
        *,
        limit: int | None = None,
        offset: int | None = None,
        kind: Kind | None = None,
        project: str | None = None,
        touches: str | None = None,
    ) -> Page[Supersession]:
        """List what superseded what because of a conflict."""
        return self._call(
            "GET",
            "/conflicts/supersessions",
            query=_given(limit=limit, offset=offset, kind=kind, project=project, touches=touches),
        )

    def get_conflict(self, conflict_id: int) -> ConflictDetails:
        """Read a conflict."""
        return self._call("GET", f"/conflicts/{_quote(conflict_id)}")

    def answer_conflict(
        self, conflict_id: int, *, answer: Literal["yes", "no"], reason: str | None = None, idempotency_key: str = ""
    ) -> Decided:
        """Answer the question of a conflict."""
        return self._call(
            "POST",
            f"/conflicts/{_quote(conflict_id)}/answer",
            body={"answer": answer, **_given(reason=reason)},
            key=idempotency_key,
        )

    def approve_conflict(self, conflict_id: int, *, member_id: int | None = None, idempotency_key: str = "") -> Decided:
        """Carry out what the resolver proposed."""
        return self._call(
            "POST", f"/conflicts/{_quote(conflict_id)}/approve", body=_given(member_id=member_id), key=idempotency_key
        )

    def dismiss_conflict(
        self, conflict_id: int, *, member_id: int | None = None, reason: str | None = None, idempotency_key: str = ""
    ) -> Decided:
        """Dismiss a conflict, or one claim of it."""
        return self._call(
            "POST",
            f"/conflicts/{_quote(conflict_id)}/dismiss",
            body=_given(member_id=member_id, reason=reason),
            key=idempotency_key,
        )

    def resolve_conflict(
        self,
        conflict_id: int,
        *,
        action: Literal["supersede_others", "no_action", "dismiss", "yes", "no"] | None = None,
        decision: Literal["update", "decompose", "relocate", "dismiss"] | None = None,
        dimension: str | None = None,
        existing_dimension: str | None = None,
        is_isa: bool | None = None,
        member_id: int | None = None,
        new_dimension: str | None = None,
        reason: str | None = None,
        resolution_notes: str | None = None,
        seen: str | None = None,
        winner_member_id: int | str | None = None,
        idempotency_key: str = "",
    ) -> Decided:
        """Decide a conflict, or one claim of it."""
        return self._call(
            "POST",
            f"/conflicts/{_quote(conflict_id)}/resolve",
            body=_given(
                action=action,
                decision=decision,
                dimension=dimension,
                existing_dimension=existing_dimension,
                is_isa=is_isa,
                member_id=member_id,
                new_dimension=new_dimension,
                reason=reason,
                resolution_notes=resolution_notes,
                seen=seen,
                winner_member_id=winner_member_id,
            ),
            key=idempotency_key,
        )

    def undo_decision(self, decision_id: int, *, reason: str | None = None, idempotency_key: str = "") -> Decided:
        """Undo a decision."""
        return self._call(
            "POST", f"/decisions/{_quote(decision_id)}/undo", body=_given(reason=reason), key=idempotency_key
        )

    def list_all_facts(
        self,
        *,
        limit: int | None = None,
        offset: int | None = None,
        concept: str | None = None,
        dimension: str | None = None,
        agent: str | None = None,
        project: str | None = None,
        q: str | None = None,
    ) -> Page[DisputedEdgeOut]:
        """List facts, the newest first."""
        return self._call(
            "GET",
            "/facts",
            query=_given(
                limit=limit, offset=offset, concept=concept, dimension=dimension, agent=agent, project=project, q=q
            ),
        )

    def list_facts(self, concept: str, *, limit: int | None = None, offset: int | None = None) -> Page[DisputedEdgeOut]:
        """List the facts of a concept, each with its open conflicts."""
        return self._call("GET", f"/facts/{_quote(concept)}", query=_given(limit=limit, offset=offset))

    def post_forget(
        self, *, fact: str, project: str | None = None, user: str | None = None, idempotency_key: str = ""
    ) -> Forgotten:
        """Forget what this speaker said."""
        return self._call(
            "POST", "/forget", body={"fact": fact, **_given(project=project, user=user)}, key=idempotency_key
        )

    def get_gutask(self) -> str:
        """Download the client script."""
        return self._call("GET", "/gutask")

    def get_health(self) -> Health:
        """Report readiness and, with a token or from this machine, the state of each part."""
        return self._call("GET", "/health")

    def iknowthat(self, *, fact: str, idempotency_key: str = "") -> FactOutcome:
        """Teach a fact."""
        return self._call(
            "POST",
            "/iknowthat",
            body={
                "fact": fact,
            },
            key=idempotency_key,
        )

    def list_memories(
        self,
        *,
        user: str | None = None,
        project: str | None = None,
        limit: int | None = None,
        offset: int | None = None,
        status: Literal["active", "candidate", "deprecated", "merged_into", "superseded", "invalid", "all"]
        | None = None,
        category: Literal["identity", "preference", "project", "episodic", "other"] | None = None,
        text: str | None = None,
        disputed: bool | None = None,
    ) -> Page[MemoryOut]:
        """List memories."""
        return self._call(
            "GET",
            "/memory",
            query=_given(
                user=user,
                project=project,
                limit=limit,
                offset=offset,
                status=status,
                category=category,
                text=text,
                disputed=disputed,
            ),
        )

    def post_memory(
        self,
        *,
        text: str,
        category: Literal["identity", "preference", "project", "episodic", "other"] | None = None,
        project: str | None = None,
        user: str | None = None,
        idempotency_key: str = "",
    ) -> WrittenMemory | ForgottenMemory:
        """Create a memory."""
        return self._call(
            "POST",
            "/memory",
            body={"text": text, **_given(category=category, project=project, user=user)},
            key=idempotency_key,
        )

    def get_memory(self, memory_id: int, *, user: str | None = None, project: str | None = None) -> MemoryDetails:
        """Read a memory, its origins and its history."""
        return self._call("GET", f"/memory/{_quote(memory_id)}", query=_given(user=user, project=project))

    def graduate_memory(
        self,
        memory_id: int,
        *,
        concept: str,
        dimension: str,
        is_isa: bool | None = None,
        parent: str | None = None,
        idempotency_key: str = "",
    ) -> GraduatedMemory:
        """Make a fact of a memory."""
        return self._call(
            "POST",
            f"/memory/{_quote(memory_id)}/graduate",
            body={"concept": concept, "dimension": dimension, **_given(is_isa=is_isa, parent=parent)},
            key=idempotency_key,
        )

    def invalidate_memory(
        self, memory_id: int, *, reason: str | None = None, idempotency_key: str = ""
    ) -> WrittenMemory:
        """Retire a memory."""
        return self._call(
            "POST", f"/memory/{_quote(memory_id)}/invalidate", body=_given(reason=reason), key=idempotency_key
        )

    def promote_memory(self, memory_id: int, *, idempotency_key: str = "") -> WrittenMemory:
        """Promote a candidate to an active memory."""
        return self._call("POST", f"/memory/{_quote(memory_id)}/promote", body={}, key=idempotency_key)

    def restore_memory(self, memory_id: int, *, reason: str | None = None, idempotency_key: str = "") -> WrittenMemory:
        """Restore a memory that was retired or replaced."""
        return self._call(
            "POST", f"/memory/{_quote(memory_id)}/restore", body=_given(reason=reason), key=idempotency_key
        )

    def get_metrics(self) -> str:
        """Return metrics for Prometheus."""
        return self._call("GET", "/metrics")

    def get_state(
        self,
        *,
        limit: int | None = None,
        offset: int | None = None,
        project: str | None = None,
        category: str | None = None,
        key: str | None = None,
        status: Literal["active", "superseded", "all"] | None = None,
    ) -> Page[StateOut]:
        """List the values of a project."""
        return self._call(
            "GET",
            "/project/state",
            query=_given(limit=limit, offset=offset, project=project, category=category, key=key, status=status),
        )

    def post_state(
        self,
        *,
        category: str,
        key: str,
        value: str | None,
        project: str | None = None,
        reason: str | None = None,
        idempotency_key: str = "",
    ) -> SettledOut:
        """Set a value of a project, or retire one."""
        return self._call(
            "POST",
            "/project/state",
            body={"category": category, "key": key, "value": value, **_given(project=project, reason=reason)},
            key=idempotency_key,
        )

    def list_projects(self, *, limit: int | None = None, offset: int | None = None) -> Page[ProjectOut]:
        """List the projects that the caller may name."""
        return self._call("GET", "/projects", query=_given(limit=limit, offset=offset))

    def post_project(
        self,
        *,
        slug: str,
        description: str | None = None,
        is_open: bool | None = None,
        name: str | None = None,
        idempotency_key: str = "",
    ) -> CreatedProject:
        """Create a project."""
        return self._call(
            "POST",
            "/projects",
            body={"slug": slug, **_given(description=description, is_open=is_open, name=name)},
            key=idempotency_key,
        )

    def recollect(
        self,
        *,
        text: str,
        project: str | None = None,
        role: Literal["user", "assistant", "system", "tool"] | None = None,
        user: str | None = None,
    ) -> RecollectionOut:
        """Show what a new chat that begins with a text would get, and why."""
        return self._call("POST", "/recollect", body={"text": text, **_given(project=project, role=role, user=user)})

    def post_reload(self) -> Reloaded:
        """Make every process reload its cache."""
        return self._call("POST", "/reload", body={})

    def run_resolver(self, *, limit: int | None = None) -> StartedRun:
        """Run the resolver now."""
        return self._call("POST", "/resolve/run", body=_given(limit=limit))

    def list_runs(self, *, limit: int | None = None, offset: int | None = None) -> Page[RunOut]:
        """List runs."""
        return self._call("GET", "/resolve/runs", query=_given(limit=limit, offset=offset))

    def get_run(self, run_id: int) -> RunDetails:
        """Read a run's progress and result."""
        return self._call("GET", f"/resolve/runs/{_quote(run_id)}")

    def undo_run(self, run_id: int, *, reason: str | None = None, idempotency_key: str = "") -> UndoneRun:
        """Undo a run."""
        return self._call(
            "POST", f"/resolve/runs/{_quote(run_id)}/undo", body=_given(reason=reason), key=idempotency_key
        )

    def search_memory(
        self,
        *,
        query: str,
        limit: int | None = None,
        project: str | None = None,
        search_type: Literal["memories", "episodes", "facts", "both"] | None = None,
        user: str | None = None,
    ) -> Page[FoundItem]:
        """Search conversations, memories and facts."""
        return self._call(
            "POST",
            "/search_memory",
            body={"query": query, **_given(limit=limit, project=project, search_type=search_type, user=user)},
        )

    def get_why(self, request_id: str, *, user: str | None = None) -> RequestOut:
        """Show what a request got, and why."""
        return self._call("GET", f"/why/{_quote(request_id)}", query=_given(user=user))

    def _call(
        self,
        method: str,
        path: str,
        *,
        query: dict[str, Any] | None = None,
        body: dict[str, Any] | None = None,
        key: str = "",
    ) -> Any:
        headers = {"Idempotency-Key": key} if key else {}
        answer = self._http.request(method, path, params=query, json=body, headers=headers)
        is_json = answer.headers.get("content-type", "").startswith("application/json")
        content = answer.json() if is_json else answer.text
        if answer.is_success:
            return content
        raise FestingerError(answer.status_code, content if isinstance(content, dict) else {})


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _quote(part: object) -> str:
    return quote(str(part), safe="")
