"""The routes that decide conflicts and undo decisions."""

from typing import Annotated, Any, Literal

from django.core.handlers.asgi import ASGIRequest
from django.http import JsonResponse
from ninja import Body, Field, Router
from pydantic import BaseModel, model_validator

from proxy.api import serializers
from proxy.api.changes import BadDecision, Reason, ReasonIn, apply_change, make_sentence
from resolution import decisions, resolver
from resolution.actors import Actor
from resolution.decisions import undo
from resolution.decisions.conflicts import find_open, resolve
from resolution.domain.verdicts import (
    ConflictAction,
    Resolution,
    Verdict,
    VerdictMistake,
    read_member,
    read_reason,
    read_verdict,
)
from resolution.errors import InvalidDecision, UnknownId
from resolution.models import Claim, Conflict, Decision

router = Router(tags=["conflicts"])


class MemberIn(BaseModel):
    member_id: int | None = Field(None, description="The claim; may be left out where one is open.")


class DismissalIn(ReasonIn, MemberIn):
    pass


class VerdictIn(DismissalIn):
    """Either a ``decision`` about a claim, or an ``action`` about the whole conflict."""

    decision: Literal["update", "decompose", "relocate", "dismiss"] | None = None
    existing_dimension: str = Field("", description="decompose: where the fact goes that stands.")
    new_dimension: str = Field("", description="decompose: where the claim goes.")
    dimension: str = Field("", description="relocate: where the claim goes.")
    is_isa: bool | None = Field(None, description="relocate: what the fact is there; null leaves it as it was said.")
    action: Literal["supersede_others", "no_action"] | None = None
    winner_member_id: int | str | None = Field(
        None, description="supersede_others: the `id` of the member that is right; `memory:5` where two have the same."
    )
    resolution_notes: Reason = ""

    @model_validator(mode="after")
    def _check(self) -> "VerdictIn":
        if (self.decision is None) == (self.action is None):
            raise ValueError("name either a decision or an action")
        return self


class AnswerIn(ReasonIn):
    answer: Literal["yes", "no"]


# Defaults of optional bodies.
NO_REASON = DismissalIn(member_id=None)
ONLY_MEMBER = MemberIn(member_id=None)


@router.post("/conflicts/{conflict_id}/resolve", summary="Decide a conflict")
async def resolve_conflict(request: ASGIRequest, conflict_id: int, given: VerdictIn) -> JsonResponse:
    """Decide a whole conflict, of any kind, in one decision:

    - `action` = `supersede_others`: the member that `winner_member_id` names is right. It holds, and so does what says
      the same; the others do not any more, and claims are dropped. What is of its kind points to it, and the decision
      links all;
    - `action` = `no_action`: what stands stays, claims are dropped, and nobody is asked again.

    Or about one claim of it; `member_id` names it where several are open:

    - `decision` = `update`: the claim is right. What stands against it is retired;
    - `decompose`: both are right. What stands moves to `existing_dimension`, the claim goes to `new_dimension`;
    - `relocate`: the claim is right, but in `dimension`;
    - `dismiss`: the claim is dropped.

    409 where it was decided already, or the world has changed meanwhile; then nothing has happened."""

    def decide(actor: Actor) -> dict[str, Any]:
        if given.action is not None:
            reason = given.resolution_notes or given.reason
            return decide_whole(conflict_id, actor, given.action, reason, winner=given.winner_member_id)
        claim_id = find_claim(conflict_id, given.member_id)
        try:
            verdict = read_verdict(given.model_dump(), None)
        except VerdictMistake as mistake:
            raise BadDecision(make_sentence(mistake)) from mistake
        return decided_out([decisions.decide(claim_id, actor, verdict)])

    return JsonResponse(await apply_change(request, decide))


@router.post("/conflicts/{conflict_id}/answer", summary="Answer the question of a conflict")
async def answer_conflict(request: ASGIRequest, conflict_id: int, given: AnswerIn) -> JsonResponse:
    """`yes`: what is asked about holds, and takes the place of the other members. `no`: it does not hold any more."""
    return JsonResponse(
        await apply_change(request, lambda actor: decide_whole(conflict_id, actor, given.answer, given.reason))
    )


@router.post("/conflicts/{conflict_id}/dismiss", summary="Dismiss a conflict")
async def dismiss_conflict(
    request: ASGIRequest, conflict_id: int, given: Annotated[DismissalIn, Body()] = NO_REASON
) -> JsonResponse:
    """Close it as no conflict: what stands stays, all claims are dropped, and nobody is asked again. With a `member_id`
    that claim alone is dropped."""

    def dismiss(actor: Actor) -> dict[str, Any]:
        if given.member_id is None:
            return decide_whole(conflict_id, actor, "dismiss", given.reason)
        verdict = Verdict("dismiss", read_reason(given.reason))
        return decided_out([decisions.decide(find_claim(conflict_id, given.member_id), actor, verdict)])

    return JsonResponse(await apply_change(request, dismiss))


@router.post("/conflicts/{conflict_id}/approve", summary="Approve what the resolver proposed")
async def approve_conflict(
    request: ASGIRequest, conflict_id: int, given: Annotated[MemberIn, Body()] = ONLY_MEMBER
) -> JsonResponse:
    """The resolver only proposes decisions that it may not make; with the setting `resolution_mode` at `propose`, it
    may make none. This carries out what it proposed."""

    def approve(actor: Actor) -> dict[str, Any]:
        return decided_out([resolver.approve(find_claim(conflict_id, given.member_id), actor)])

    return JsonResponse(await apply_change(request, approve))


@router.post("/decisions/{decision_id}/undo", summary="Undo a decision")
async def undo_decision(
    request: ASGIRequest, decision_id: int, given: Annotated[ReasonIn, Body()] = NO_REASON
) -> JsonResponse:
    """Restores what it changed, and the conflict, however long ago it was; 409 says what is in the way."""

    def take_back(actor: Actor) -> dict[str, Any]:
        return decided_out([undo.undo(decision_id, actor, given.reason)])

    return JsonResponse(await apply_change(request, take_back))


# --- the parts of them ---


def decide_whole(
    conflict_id: int, actor: Actor, action: ConflictAction, reason: str, *, winner: int | str | None = None
) -> dict[str, Any]:
    """Raises DecisionError, BadDecision."""
    try:
        key = read_member(str(winner)) if winner is not None else None
        resolution = Resolution(action, read_reason(reason), key)
    except VerdictMistake as mistake:
        raise BadDecision(make_sentence(mistake)) from mistake
    return decided_out([resolve(conflict_id, actor, resolution)])


def decided_out(made: list[Decision]) -> dict[str, Any]:
    last = made[-1]
    conflict_id = last.conflict_id or (last.claim.conflict_id if last.claim is not None else None)
    return {
        "decision": serializers.decision_out(last),
        "decisions": [serializers.decision_out(decision) for decision in made],
        "conflict": serializers.conflict_out(conflict_id) if conflict_id is not None else None,
    }


def find_claim(conflict_id: int, member_id: int | None) -> int:
    """Return the id of the claim to decide: the one that is named, else the only open one, else the one resolved last.
    Raises DecisionError."""
    rows = Claim.objects.filter(conflict_id=conflict_id)
    if member_id is not None:
        if not rows.filter(pk=member_id).exists():
            raise UnknownId(f"Conflict {conflict_id} has no claim {member_id}.")
        return member_id
    waiting = find_open(conflict_id)
    if len(waiting) > 1:
        raise InvalidDecision(f"Name the claim as member_id: {', '.join(map(str, waiting))} are open.")
    if waiting:
        return waiting[0]
    if (last := rows.order_by("-resolved_at", "-pk").first()) is not None:
        return last.pk
    if (conflict := Conflict.objects.filter(pk=conflict_id).first()) is not None:
        raise InvalidDecision(f"Conflict {conflict_id} is of the kind {conflict.slot_kind}: decide it by an action.")
    raise UnknownId(f"There is no conflict {conflict_id}.")
