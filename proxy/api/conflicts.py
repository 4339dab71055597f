"""The routes of conflicts and decisions: to look at, to decide, to undo."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db.models import Q
from django.db.models.functions import Now
from django.http import JsonResponse
from django.utils.timezone import is_naive, make_aware
from ninja import Body, Field, Query, Router
from pydantic import AfterValidator, BaseModel

from memory.domain.text.tokenizer import parse_name
from memory.models import Source
from proxy.api import serializers
from proxy.api.changes import BadDecision, PageQuery, ReasonIn, apply_change, caller_with, make_sentence
from proxy.api.visibility import hide_sentences
from proxy.auth import Caller
from proxy.errors import NotFound
from resolution import decisions, resolver
from resolution.actors import Actor
from resolution.decisions import undo
from resolution.domain.verdicts import NAME_MAX, Verdict, VerdictMistake, read_reason, read_verdict
from resolution.errors import InvalidDecision, UnknownId
from resolution.intake.conflict_queue import IN_ORDER, OPEN
from resolution.models import Claim, CollisionType, Conflict
from resolution.views import conflict_list

RECENT = timedelta(days=7)
# In any time zone later than what a clock can mean, and earlier than what Postgres cannot read.
LONGEST_AGO, FARTHEST = datetime(1970, 1, 2), datetime(9999, 1, 1)

router = Router(tags=["conflicts"])


# --- what comes in ---


def name(text: str) -> str:
    found = parse_name(text)
    if found is None:
        raise ValueError(f"{text!r} is no name of a concept")
    return found


def storable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("has a character that no name has")
    return text


def in_time_zone(time: datetime) -> datetime:
    if time.replace(tzinfo=None) < LONGEST_AGO:
        raise ValueError("is too long ago")
    if time.replace(tzinfo=None) > FARTHEST:
        raise ValueError("is too far away")
    return make_aware(time) if is_naive(time) else time


ConceptName = Annotated[str, Field(max_length=NAME_MAX), AfterValidator(name)]


class ConflictQuery(PageQuery):
    status: Literal["open", "pending", "proposed", "resolved", "dismissed", "all"] | None = Field(
        None, description="`pending` and `proposed` are open. Without it: open, and decided within the last 7 days."
    )
    type: CollisionType | None = Field(None, description="The type of the collision.")
    concept: ConceptName | None = None
    dimension: ConceptName | None = None
    touches: ConceptName | None = Field(None, description="A concept that it is about, as subject or as parent.")
    agent: Annotated[str, Field(max_length=120), AfterValidator(storable)] | None = Field(
        None, description="Who stated a claim of it first."
    )
    source: Source | None = Field(None, description="How a claim of it came to be known.")
    since: Annotated[datetime, AfterValidator(in_time_zone)] | None = Field(
        None, description="Not those that are older, by `detected_at`."
    )


class MemberIn(BaseModel):
    member_id: int | None = Field(None, description="The claim; may be left out where one is open.")


class DismissalIn(ReasonIn, MemberIn):
    pass


class VerdictIn(DismissalIn):
    decision: Literal["update", "decompose", "relocate", "dismiss"]
    existing_dimension: str = Field("", description="decompose: where the fact goes that stands.")
    new_dimension: str = Field("", description="decompose: where the claim goes.")
    dimension: str = Field("", description="relocate: where the claim goes.")
    is_isa: bool | None = Field(None, description="relocate: what the fact is there; null leaves it as it was said.")


# Bodies that may be left out.
NO_REASON = DismissalIn(member_id=None)
ONLY_MEMBER = MemberIn(member_id=None)


# --- conflicts ---


@router.get("/conflicts", summary="What is disputed")
async def list_conflicts(request: ASGIRequest, wanted: Query[ConflictQuery]) -> JsonResponse:
    """What contradicts each other, by place. `members` are the fact that stands there now (`edge`; none where it was
    taken out), and the facts that dispute it (`claim`), each with who has said so (`support`); `existing` of a claim is
    what is in its way. `evidence`, the sentence in which it was said, is for operators and for who said it.

    Open ones come first, then those with priority, said on purpose by gutask or an operator, then the oldest.
    `count` is how many there are on all pages."""
    return JsonResponse(await list_for(caller_with(request, "agent"), wanted))


async def list_for(caller: Caller, wanted: ConflictQuery) -> dict[str, Any]:
    told = await sync_to_async(find_conflicts)(wanted)
    hide_sentences(caller, told["items"])
    return told


@router.get("/conflicts/{conflict_id}", summary="One conflict")
async def get_conflict(request: ASGIRequest, conflict_id: int) -> JsonResponse:
    """Also what else is known of the concept (`other_facts`) and, where it would close a ring, the facts that make up
    the rest of it (`ring`)."""
    caller = caller_with(request, "agent")
    told = await sync_to_async(serializers.surroundings_out)(conflict_id)
    if told is None:
        raise NotFound(f"There is no conflict {conflict_id}.")
    hide_sentences(caller, [told])
    return JsonResponse(told)


@router.post("/conflicts/{conflict_id}/resolve", summary="Decide a conflict")
async def resolve_conflict(request: ASGIRequest, conflict_id: int, given: VerdictIn) -> JsonResponse:
    """What an operator decides about a claim, on any type of collision; `member_id` names it where several are open:

    - `update`: the claim is right. What stands against it is retired;
    - `decompose`: both are right. What stands moves to `existing_dimension`, the claim goes to `new_dimension`;
    - `relocate`: the claim is right, but in `dimension`;
    - `dismiss`: the claim is dropped.

    409 where it was decided already, or the world has changed meanwhile; then nothing has happened."""

    def decide(actor: Actor) -> dict[str, Any]:
        claim_id = find_claim(conflict_id, given.member_id)
        return _decision_out(decisions.decide(claim_id, actor, _verdict(given)))

    return JsonResponse(await apply_change(request, decide))


@router.post("/conflicts/{conflict_id}/dismiss", summary="Dismiss a conflict")
async def dismiss_conflict(
    request: ASGIRequest, conflict_id: int, given: Annotated[DismissalIn, Body()] = NO_REASON
) -> JsonResponse:
    """The claim that `member_id` names is dropped, or else all that are open; the world stays as it is. `decision` is
    the last of `decisions`."""

    def dismiss(actor: Actor) -> dict[str, Any]:
        verdict = Verdict("dismiss", read_reason(given.reason))
        chosen = [find_claim(conflict_id, given.member_id)] if given.member_id is not None else find_open(conflict_id)
        made = [decisions.decide(claim_id, actor, verdict) for claim_id in chosen or [find_claim(conflict_id, None)]]
        return {**_decision_out(made[-1]), "decisions": [serializers.decision_out(decision) for decision in made]}

    return JsonResponse(await apply_change(request, dismiss))


@router.post("/conflicts/{conflict_id}/approve", summary="Approve what the resolver proposed")
async def approve_conflict(
    request: ASGIRequest, conflict_id: int, given: Annotated[MemberIn, Body()] = ONLY_MEMBER
) -> JsonResponse:
    """What is not for the resolver to decide, or nothing is with the setting `resolution_mode` at `propose`, it only
    proposes; this does what it proposed."""

    def approve(actor: Actor) -> dict[str, Any]:
        return _decision_out(resolver.approve(find_claim(conflict_id, given.member_id), actor))

    return JsonResponse(await apply_change(request, approve))


@router.post("/decisions/{decision_id}/undo", summary="Undo a decision")
async def undo_decision(
    request: ASGIRequest, decision_id: int, given: Annotated[ReasonIn, Body()] = NO_REASON
) -> JsonResponse:
    """The graph and the conflict are as before, however long ago it was; 409 says what is in the way."""

    def take_back(actor: Actor) -> dict[str, Any]:
        return _decision_out(undo.undo(decision_id, actor, given.reason))

    return JsonResponse(await apply_change(request, take_back))


# --- the parts of them ---


def _verdict(given: VerdictIn) -> Verdict:
    try:
        return read_verdict(given.model_dump(), None)
    except VerdictMistake as mistake:
        raise BadDecision(make_sentence(mistake)) from mistake


def _decision_out(decision: Any) -> dict[str, Any]:
    return {
        "decision": serializers.decision_out(decision),
        "conflict": serializers.conflict_out(decision.claim.conflict_id) if decision.claim is not None else None,
    }


def find_open(conflict_id: int) -> list[int]:
    """The open claims, in the order in which they are decided."""
    rows = Claim.objects.filter(conflict_id=conflict_id, status__in=OPEN)
    return list(rows.order_by(*IN_ORDER).values_list("pk", flat=True))


def find_claim(conflict_id: int, member_id: int | None) -> int:
    """The one that a decision is about. Raises DecisionError."""
    rows = Claim.objects.filter(conflict_id=conflict_id)
    if member_id is not None:
        if not rows.filter(pk=member_id).exists():
            raise UnknownId(f"Conflict {conflict_id} has no claim {member_id}.")
        return member_id
    waiting = find_open(conflict_id)
    if len(waiting) > 1:
        raise InvalidDecision(f"Name the claim as member_id: {', '.join(map(str, waiting))} are open.")
    last = rows.order_by("-resolved_at", "-pk").first()
    if last is None:
        raise UnknownId(f"There is no conflict {conflict_id}.")
    return waiting[0] if waiting else last.pk


def find_conflicts(wanted: ConflictQuery) -> dict[str, Any]:
    claims = conflict_list.find_claims(
        wanted.status if wanted.status in OPEN else "all",
        collision_type=wanted.type,
        agent=wanted.agent,
        incoming_source=wanted.source,
    )
    rows = conflict_list.find_conflicts(
        "open" if wanted.status in OPEN else wanted.status or "all",
        concept__token=wanted.concept,
        dim__token=wanted.dimension,
        detected_at__gte=wanted.since,
    )
    if wanted.status in OPEN or any((wanted.type, wanted.agent, wanted.source)):
        rows = rows.filter(pk__in=claims.values("conflict_id"))
    if wanted.touches is not None:
        rows = rows.filter(conflict_list.touching(wanted.touches))
    if wanted.status is None:
        rows = rows.filter(Q(status=Conflict.Status.OPEN) | Q(resolved_at__gte=Now() - RECENT))
    shown = conflict_list.open_first(rows)[wanted.offset : wanted.offset + wanted.limit]
    return {"items": serializers.conflicts_out(shown), "count": rows.count()}
