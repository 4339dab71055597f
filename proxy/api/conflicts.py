"""The routes of conflicts, decisions and runs of the resolver: to look at, to decide, to undo."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Annotated, Any, Literal, TypeVar

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db.models import Q
from django.db.models.functions import Now
from django.http import JsonResponse
from django.utils.timezone import is_naive, make_aware
from ninja import Body, Field, Query, Router, Schema
from pydantic import AfterValidator, BaseModel

from memory.cache.sync import announce
from memory.domain.text.tokenizer import parse_name
from memory.models import Source
from proxy import runtime
from proxy.api import serializers
from proxy.api.visibility import hide_sentences
from proxy.auth import Permission, caller_of, require
from proxy.errors import NotFound, ProxyError
from resolution import decisions, resolver
from resolution.actors import Actor
from resolution.decisions import undo
from resolution.domain.verdicts import NAME_MAX, REASON_MAX, Verdict, VerdictMistake, read_reason, read_verdict
from resolution.errors import DecisionError, InvalidDecision, UnknownId
from resolution.intake.conflict_queue import IN_ORDER, OPEN
from resolution.models import Claim, CollisionType, Conflict, Run
from resolution.resolver import AlreadyRunning
from resolution.views import conflict_list

Done = TypeVar("Done")

RECENT = timedelta(days=7)
LIMIT_MAX = 500
OFFSET_MAX = 1_000_000_000  # Postgres counts no further than a bigint
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


class PageQuery(Schema):
    limit: int = Field(50, ge=1, le=LIMIT_MAX)
    offset: int = Field(0, ge=0, le=OFFSET_MAX)


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


Reason = Annotated[str, Field(max_length=REASON_MAX, description="Is kept with the decision.")]


# Not Ninja's Schema, which reads any other JSON than an object as one without keys: then the defaults would decide.
class ReasonIn(BaseModel):
    reason: Reason = ""


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


class RunIn(BaseModel):
    limit: int | None = Field(None, ge=1, le=1_000_000, description="Conflicts that it goes over, at most.")


# Bodies that may be left out.
NO_REASON = DismissalIn(member_id=None)
ONLY_MEMBER = MemberIn(member_id=None)
ALL = RunIn(limit=None)


# --- what goes wrong ---


class Clash(ProxyError):
    """Somebody else was faster, or the world is no longer what this was about."""

    status = 409


class BadDecision(ProxyError):
    """It cannot be decided like this."""

    status = 422


# --- conflicts ---


@router.get("/conflicts", summary="What is disputed")
async def list_conflicts(request: ASGIRequest, wanted: Query[ConflictQuery]) -> JsonResponse:
    """What contradicts each other, by place. `members` are the fact that stands there now (`edge`; none where it was
    taken out), and the facts that dispute it (`claim`), each with who has said so (`support`); `existing` of a claim is
    what is in its way. `evidence`, the sentence in which it was said, is for operators and for who said it.

    Open ones come first, then those with priority, said on purpose by gutask or an operator, then the oldest.
    `count` is how many there are on all pages."""
    caller = caller_with(request, "agent")
    told = await sync_to_async(find_conflicts)(wanted)
    hide_sentences(caller, told["items"])
    return JsonResponse(told)


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


# --- runs ---


@router.post("/resolve/run", summary="Run the resolver now", response={202: Any})
async def run_resolver(request: ASGIRequest, given: Annotated[RunIn, Body()] = ALL) -> JsonResponse:
    """A worker carries the run out; `GET /resolve/runs/{id}` tells how far it is. 409 with the `run` that is under
    way, if one is."""
    caller = caller_with(request, "operator")
    try:
        run = await sync_to_async(resolver.request_run)(Run.Trigger.API, caller.signature, limit=given.limit)
    except AlreadyRunning as error:
        return JsonResponse({"error": _sentence(error), "run": error.run.pk}, status=409)
    return JsonResponse({"run": run.pk}, status=202)


@router.get("/resolve/runs", summary="The resolver's runs")
async def list_runs(request: ASGIRequest, page: Query[PageQuery]) -> JsonResponse:
    """The newest first. `count` is how many there are on all pages."""
    caller_with(request, "agent")
    return JsonResponse(await sync_to_async(find_runs)(page))


@router.get("/resolve/runs/{run_id}", summary="A run's progress and result")
async def get_run(request: ASGIRequest, run_id: int) -> JsonResponse:
    """`seen` of `total` conflicts are done; `counts` is what became of them, `note` why it ended early and the first
    errors. Its `status` is `running`, `done`, `failed`, or `skipped` where no model is configured."""
    caller_with(request, "agent")
    told = await sync_to_async(find_run)(run_id)
    if told is None:
        raise NotFound(f"There is no run {run_id}.")
    return JsonResponse(told)


@router.post("/resolve/runs/{run_id}/undo", summary="Undo a run")
async def undo_run(request: ASGIRequest, run_id: int, given: Annotated[ReasonIn, Body()] = NO_REASON) -> JsonResponse:
    """Undoes all that it decided, the newest first. What cannot be put back is left as it is and listed in
    `refused`."""

    def take_back(actor: Actor) -> dict[str, Any]:
        report = undo.undo_run(run_id, actor, given.reason)
        return {
            "undone": [serializers.decision_out(decision) for decision in report.undone],
            "refused": [
                {"decision": serializers.decision_out(decision), "why": why} for decision, why in report.refused
            ],
        }

    return JsonResponse(await apply_change(request, take_back))


# --- the parts of them ---


def caller_with(request: ASGIRequest, permission: Permission) -> Any:
    caller = caller_of(runtime.current().world, request.scope)
    require(caller, permission)
    return caller


async def apply_change(request: ASGIRequest, change: Callable[[Actor], Done]) -> Done:
    """Makes a change in an operator's name, and returns when this process's cache has it: the next prompt shows it."""
    caller = caller_with(request, "operator")
    async with runtime.current().coherence.barrier(announce), translate_errors():
        return await sync_to_async(change)(Actor(caller.signature, Source.OPERATOR))


@asynccontextmanager
async def translate_errors() -> AsyncIterator[None]:
    try:
        yield
    except UnknownId as error:
        raise NotFound(str(error)) from error
    except InvalidDecision as error:
        raise BadDecision(str(error)) from error
    except DecisionError as error:
        raise Clash(str(error)) from error


def _verdict(given: VerdictIn) -> Verdict:
    try:
        return read_verdict(given.model_dump(), None)
    except VerdictMistake as mistake:
        raise BadDecision(_sentence(mistake)) from mistake


def _sentence(error: Exception) -> str:
    text = str(error)
    return f"{text[0].upper()}{text[1:]}."


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


def find_runs(page: PageQuery) -> dict[str, Any]:
    rows = Run.objects.order_by("-started_at", "-id")
    items = [serializers.run_out(run) for run in rows[page.offset : page.offset + page.limit]]
    return {"items": items, "count": rows.count()}


def find_run(run_id: int) -> dict[str, Any] | None:
    run = Run.objects.filter(pk=run_id).first()
    return serializers.run_with_decisions_out(run) if run is not None else None
