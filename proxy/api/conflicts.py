"""The endpoints that list and decide conflicts, and undo decisions."""

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from django.db.models import Q, QuerySet
from ninja import Field
from pydantic import AfterValidator, BeforeValidator, ConfigDict, model_validator

from memory.english.tokenizer import parse_name
from proxy import runtime
from proxy.access.caller import Caller
from proxy.access.scopes import may, scope_of
from proxy.api import endpoint
from proxy.api.changes import Reason, ReasonIn, act_as
from proxy.api.endpoint import Input, Output, Page, PageQuery, Tool, make_page
from proxy.api.serializers import (
    ConflictDetails,
    ConflictOut,
    DecisionOut,
    Supersession,
    conflicts_out,
    decision_out,
    supersession_out,
    surroundings_out,
)
from proxy.api.visibility import hide_sentences, is_hidden
from proxy.errors import NotFound
from resolution.conflicts import undo
from resolution.conflicts.decide import decide, find_claim
from resolution.conflicts.verdict import NAME_MAX, ConflictAction, read_verdict
from resolution.models import Conflict, Decision
from resolution.nightly import resolver
from resolution.pages import queries

ConflictId = Annotated[int, Field(description="The `id` of the conflict.")]
DecisionId = Annotated[int, Field(description="The `id` of the decision.")]


def name_or_reference(text: str) -> str:
    found = text if queries.REFERENCE.fullmatch(text) else parse_name(text)
    if found is None:
        raise ValueError(f"{text!r} is no name of a concept")
    return found


def kind_of_slot(text: object) -> object:
    return Conflict.Kind.EDGE_SLOT if text == "entity_slot" else text


class SupersessionQuery(PageQuery):
    kind: Annotated[Conflict.Kind, BeforeValidator(kind_of_slot)] | None = Field(
        None, description="What contradicts each other; `entity_slot` is `edge_slot`."
    )
    project: str | None = Field(None, max_length=64, description="The project's slug.")
    touches: Annotated[str, Field(max_length=NAME_MAX), AfterValidator(name_or_reference)] | None = Field(
        None, description="A name that it is about or that a member names; or a row, as in `memory:5`."
    )


class ConflictQuery(SupersessionQuery):
    status: Literal["open", "pending", "proposed", "resolved", "dismissed", "all"] = Field(
        "open", description="`pending` and `proposed` are open, by their claims."
    )


@endpoint.get(
    "/conflicts",
    tool=Tool(
        "conflicts",
        "Contradictions that wait for a decision: facts, memories and project state, with who said what.",
        defaults={"limit": 10},
    ),
)
def list_conflicts(caller: Caller, given: ConflictQuery) -> Page[ConflictOut]:
    """List conflicts.

    The contradictions, by slot. `members` are project state, facts (`edge`, `edge_history`), the
    claims that dispute them (`claim`) and memories, the most trusted layer first, each with who has said so
    (`support`); `slot_kind` follows from them, and `slot_key` is the slot in words.

    `holds` says whether a member is in force, `conflicts_with` what it contradicts in a higher layer, `is_asked`
    whether the `question` is about it. `existing` of a claim is what is in its way; its `evidence`, the sentence in
    which it was said, is for operators and for who said it. Conflicts with memories or values that the caller may not
    see are for operators.

    Open ones come first, then those with priority, said on purpose by gutask or an operator, then the oldest."""
    rows = find_conflicts(given, given.status).exclude(hidden_from(caller))
    page = make_page(Page[ConflictOut], rows, given, lambda page: conflicts_out(page, ConflictOut))
    hide_sentences(caller, page.items)
    return page


def find_conflicts(given: SupersessionQuery, status: str = "all") -> QuerySet[Conflict]:
    return queries.find_conflicts(status, kind=given.kind, project=given.project, touches=given.touches)


def hidden_from(caller: Caller) -> Q:
    """Return the filter for conflicts that the caller may not see."""
    return Q(pk=None) if may(caller, "operator") else is_hidden(scope_of(runtime.current().cache, caller, {}))


@endpoint.get("/conflicts/supersessions")
def list_supersessions(caller: Caller, given: SupersessionQuery) -> Page[Supersession]:
    """List what superseded what because of a conflict.

    Each decision by which something gave way, the newest first: the `winner` and what it has `superseded`, as kind,
    id and text. `winner` is null where a question was answered with no and nothing took its place; `undone` says
    that it was taken back."""
    conflicts = find_conflicts(given).exclude(hidden_from(caller)).order_by()
    rows = queries.find_supersessions().filter(Q(conflict__in=conflicts) | Q(claim__conflict__in=conflicts))
    return make_page(Page[Supersession], rows, given, lambda page: [supersession_out(row) for row in page])


@endpoint.get("/conflicts/{conflict_id}")
def get_conflict(caller: Caller, conflict_id: int) -> ConflictDetails:
    """Read a conflict.

    Also what else is known of the concept (`other_facts`) and, where it would close a ring, the facts that make up
    the rest of it (`ring`)."""
    is_secret = Conflict.objects.filter(hidden_from(caller), pk=conflict_id).exists()
    found = None if is_secret else surroundings_out(conflict_id)
    if found is None:
        raise NotFound(f"There is no conflict {conflict_id}.")
    hide_sentences(caller, [found])
    return found


# --- decisions ---


class MemberIn(Input):
    member_id: int | None = Field(None, examples=[7], description="The claim; may be left out where one is open.")


class DismissalIn(ReasonIn, MemberIn):
    pass


class VerdictIn(DismissalIn):
    """Either a ``decision`` about a claim, or an ``action`` about the whole conflict."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"decision": "update", "member_id": 7}]})

    decision: Literal["update", "decompose", "relocate", "dismiss"] | None = None
    existing_dimension: str = Field("", description="decompose: where the fact goes that stands.")
    new_dimension: str = Field("", description="decompose: where the claim goes.")
    dimension: str = Field("", description="relocate: where the claim goes.")
    is_isa: bool | None = Field(None, description="relocate: what the fact is there; null leaves it as it was said.")
    action: ConflictAction | None = Field(
        None,
        description="supersede_others: the winner holds, the others no longer; no_action: all stay as they are;"
        " dismiss: it is no conflict; yes, no: the answer to its question.",
    )
    winner_member_id: int | str | None = Field(
        None, description="supersede_others: the `id` of the member that is right; `memory:5` where two have the same."
    )
    resolution_notes: Reason = ""
    seen: str | None = Field(
        None, max_length=64, description="The `seen` of the conflict as it was read: 409 if it has changed since."
    )

    @model_validator(mode="after")
    def _check(self) -> "VerdictIn":
        if (self.decision is None) == (self.action is None):
            raise ValueError("name either a decision or an action")
        return self


class AnswerIn(ReasonIn):
    answer: Literal["yes", "no"] = Field(examples=["no"])


class Decided(Output):
    decision: DecisionOut
    decisions: list[DecisionOut]
    conflict: ConflictOut | None

    def lines(self) -> Iterator[str]:
        yield f"Decision {self.decision.id} ({self.decision.kind}) is made."
        if self.conflict is not None:
            yield from self.conflict.lines()


@endpoint.post(
    "/conflicts/{conflict_id}/resolve",
    scope="operator",
    writes=True,
    tool=Tool(
        "decide_conflict",
        "Decide a conflict, for operators only. People decide: call it only with what the user has said about this very"
        " conflict, never with your own judgement.",
    ),
)
def resolve_conflict(caller: Caller, conflict_id: ConflictId, given: VerdictIn) -> Decided:
    """Decide a conflict, or one claim of it.

    Decide a whole conflict, of any kind, in one decision:

    - `action` = `supersede_others`: the member that `winner_member_id` names is right. It holds, and so does what says
      the same; the others do not any more, and claims are dropped. What is of its kind points to it, and the decision
      links all;
    - `action` = `no_action`: what stands stays, claims are dropped, and nobody is asked again;
    - `dismiss`, `yes`, `no`: as the endpoints for that.

    Or about one claim of it; `member_id` names it where several are open:

    - `decision` = `update`: the claim is right. What stands against it is retired, other claims are dropped;
    - `decompose`: both are right. What stands moves to `existing_dimension`, the claim goes to `new_dimension`;
    - `relocate`: the claim is right, but in `dimension`;
    - `dismiss`: the claim is dropped.

    What joined after the conflict was `seen` stays open. 409 where it was decided already, or the world has changed
    meanwhile; then nothing has happened."""
    said = given.model_dump()
    if given.decision is not None:
        said["member_id"] = find_claim(conflict_id, given.member_id).id
    return carry_out(conflict_id, caller, said, given.seen)


@endpoint.post("/conflicts/{conflict_id}/answer", scope="operator", writes=True)
def answer_conflict(caller: Caller, conflict_id: int, given: AnswerIn) -> Decided:
    """Answer the question of a conflict.

    `yes`: what is asked about holds, and takes the place of the other members. `no`: it does not hold any more."""
    return carry_out(conflict_id, caller, {"action": given.answer, "reason": given.reason})


@endpoint.post("/conflicts/{conflict_id}/dismiss", scope="operator", writes=True)
def dismiss_conflict(caller: Caller, conflict_id: int, given: DismissalIn) -> Decided:
    """Dismiss a conflict, or one claim of it.

    Close it as no conflict: what stands stays, all claims are dropped, and nobody is asked again. With a `member_id`
    that claim alone is dropped."""
    if given.member_id is None:
        return carry_out(conflict_id, caller, {"action": "dismiss", "reason": given.reason})
    claim = find_claim(conflict_id, given.member_id)
    return carry_out(conflict_id, caller, {"decision": "dismiss", "reason": given.reason, "member_id": claim.id})


@endpoint.post("/conflicts/{conflict_id}/approve", scope="operator", writes=True)
def approve_conflict(caller: Caller, conflict_id: int, given: MemberIn) -> Decided:
    """Carry out what the resolver proposed.

    The resolver only proposes decisions that it may not make; with the setting `resolution_mode` at `propose`, it
    may make none. This carries out what it proposed."""
    claim = find_claim(conflict_id, given.member_id)
    return describe_decision(resolver.approve(conflict_id, act_as(caller), claim_id=claim.id))


@endpoint.post(
    "/decisions/{decision_id}/undo",
    scope="operator",
    writes=True,
    tool=Tool("undo_decision", "Take a decision about a conflict back, for operators only."),
)
def undo_decision(caller: Caller, decision_id: DecisionId, given: ReasonIn) -> Decided:
    """Undo a decision.

    Restores what it changed, and the conflict, however long ago it was; 409 says what is in the way."""
    return describe_decision(undo.undo(decision_id, act_as(caller), given.reason))


# --- the parts of them ---


def carry_out(conflict_id: int, caller: Caller, said: dict[str, Any], seen: str | None = None) -> Decided:
    """Raises DecisionError, VerdictMistake."""
    return describe_decision(decide(conflict_id, read_verdict(said, None), act_as(caller), seen=seen))


def describe_decision(made: Decision) -> Decided:
    told = decision_out(made)
    conflicts = conflicts_out(list(Conflict.objects.filter(pk__in=[told.conflict])), ConflictOut)
    return Decided(decision=told, decisions=[told], conflict=next(iter(conflicts), None))
