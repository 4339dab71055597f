"""The routes that list conflicts, and what was superseded because of them."""

from datetime import datetime, timedelta
from typing import Annotated, Any, Literal

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.http import JsonResponse
from django.utils.timezone import is_naive, make_aware
from ninja import Field, Query, Router
from pydantic import AfterValidator, BeforeValidator

from memory.domain.text.tokenizer import parse_name
from memory.models import Source
from proxy import runtime
from proxy.access.caller import Caller
from proxy.access.scopes import may, scope_of
from proxy.api import serializers
from proxy.api.changes import PageQuery, caller_with
from proxy.api.visibility import hide_sentences, is_hidden
from proxy.errors import NotFound
from resolution.domain.verdicts import NAME_MAX
from resolution.intake.open_claims import OPEN
from resolution.models import CollisionType, Conflict
from resolution.views import audits, conflict_list

RECENT = timedelta(days=7)
# The bounds hold in any time zone: after the epoch, and before what Postgres cannot read.
LONGEST_AGO, FARTHEST = datetime(1970, 1, 2), datetime(9999, 1, 1)

router = Router(tags=["conflicts"])


# --- what comes in ---


def name(text: str) -> str:
    found = parse_name(text)
    if found is None:
        raise ValueError(f"{text!r} is no name of a concept")
    return found


def name_or_reference(text: str) -> str:
    return text if audits.REFERENCE.fullmatch(text) else name(text)


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


def kind_of_slot(text: object) -> object:
    return Conflict.Kind.EDGE_SLOT if text == "entity_slot" else text


Kind = Annotated[Conflict.Kind, BeforeValidator(kind_of_slot)]
ConceptName = Annotated[str, Field(max_length=NAME_MAX), AfterValidator(name)]


class ConflictsQuery(PageQuery):
    kind: Kind | None = Field(None, description="What contradicts each other; `entity_slot` is `edge_slot`.")
    slot_kind: Kind | None = Field(None, description="The same.")
    project: str | None = Field(None, max_length=64, description="The project's slug.")
    touches: Annotated[str, Field(max_length=NAME_MAX), AfterValidator(name_or_reference)] | None = Field(
        None, description="A name that it is about or that a member names; or a row, as in `memory:5`."
    )
    since: Annotated[datetime, AfterValidator(in_time_zone)] | None = Field(
        None, description="Not those that are older, by `detected_at`, or by `at` of the decision."
    )


class ConflictQuery(ConflictsQuery):
    status: Literal["open", "pending", "proposed", "resolved", "dismissed", "all"] | None = Field(
        None, description="`pending` and `proposed` are open. Without it: open, and decided within the last 7 days."
    )
    type: CollisionType | None = Field(None, description="The type of the collision.")
    concept: ConceptName | None = None
    dimension: ConceptName | None = None
    agent: Annotated[str, Field(max_length=120), AfterValidator(storable)] | None = Field(
        None, description="Who stated a claim of it first."
    )
    source: Source | None = Field(None, description="How a claim of it came to be known.")


# --- conflicts ---


@router.get("/conflicts", summary="What is disputed")
async def list_conflicts(request: ASGIRequest, wanted: Query[ConflictQuery]) -> JsonResponse:
    """The contradictions, by slot. `members` are values of projects, facts (`edge`, `edge_history`), the
    claims that dispute them (`claim`) and memories, the most trusted layer first, each with who has said so
    (`support`); `slot_kind` follows from them, and `slot_key` is the slot in words.

    `holds` says whether a member is in force, `conflicts_with` what it contradicts in a higher layer, `is_asked`
    whether the `question` is about it. `existing` of a claim is what is in its way; its `evidence`, the sentence in
    which it was said, is for operators and for who said it. Conflicts with memories or values that the caller may not
    see are for operators.

    Open ones come first, then those with priority, said on purpose by gutask or an operator, then the oldest.
    `count` is how many there are on all pages."""
    return JsonResponse(await list_for(caller_with(request, "agent"), wanted))


async def list_for(caller: Caller, wanted: ConflictQuery) -> dict[str, Any]:
    told = await sync_to_async(find_conflicts)(wanted, hidden_from(caller))
    hide_sentences(caller, told["items"])
    return told


def hidden_from(caller: Caller) -> Q | None:
    """Return the filter for conflicts that the caller may not see; None if it may see all."""
    return None if may(caller, "operator") else is_hidden(scope_of(runtime.current().cache, caller, {}))


@router.get("/conflicts/supersessions", summary="What superseded what because of a conflict")
async def list_supersessions(request: ASGIRequest, wanted: Query[ConflictsQuery]) -> JsonResponse:
    """Each decision by which something gave way, the newest first: the `winner` and what it has `superseded`, as kind,
    id and text. `winner` is null where a question was answered with no and nothing took its place; `undone` says
    that it was taken back. `count` is how many there are on all pages."""
    hidden = hidden_from(caller_with(request, "agent"))

    def find() -> dict[str, Any]:
        conflicts = _narrow(Conflict.objects.all(), wanted, hidden)
        rows = audits.find_supersessions()
        rows = rows.filter(Q(conflict__in=conflicts) | Q(claim__conflict__in=conflicts))
        rows = rows.filter(at__gte=wanted.since) if wanted.since is not None else rows
        page = rows[wanted.offset : wanted.offset + wanted.limit]
        return {"items": [serializers.supersession_out(row) for row in page], "count": rows.count()}

    return JsonResponse(await sync_to_async(find)())


@router.get("/conflicts/{conflict_id}", summary="One conflict")
async def get_conflict(request: ASGIRequest, conflict_id: int) -> JsonResponse:
    """Also what else is known of the concept (`other_facts`) and, where it would close a ring, the facts that make up
    the rest of it (`ring`)."""
    caller = caller_with(request, "agent")
    hidden = hidden_from(caller)

    def find() -> dict[str, Any] | None:
        is_secret = hidden is not None and Conflict.objects.filter(hidden, pk=conflict_id).exists()
        return None if is_secret else serializers.surroundings_out(conflict_id)

    told = await sync_to_async(find)()
    if told is None:
        raise NotFound(f"There is no conflict {conflict_id}.")
    hide_sentences(caller, [told])
    return JsonResponse(told)


def find_conflicts(wanted: ConflictQuery, hidden: Q | None = None) -> dict[str, Any]:
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
    rows = _narrow(rows, wanted, hidden)
    if wanted.status in OPEN or any((wanted.type, wanted.agent, wanted.source)):
        rows = rows.filter(pk__in=claims.values("conflict_id"))
    if wanted.status is None:
        rows = rows.filter(Q(status=Conflict.Status.OPEN) | Q(resolved_at__gte=Now() - RECENT))
    shown = conflict_list.open_first(rows)[wanted.offset : wanted.offset + wanted.limit]
    return {"items": serializers.conflicts_out(shown), "count": rows.count()}


def _narrow(rows: QuerySet[Conflict], wanted: ConflictsQuery, hidden: Q | None) -> QuerySet[Conflict]:
    for kind in {wanted.kind, wanted.slot_kind} - {None}:
        rows = rows.filter(slot_kind=kind)
    rows = rows.filter(conflict_list.of_project(wanted.project)) if wanted.project is not None else rows
    rows = rows.filter(audits.touching(wanted.touches)) if wanted.touches is not None else rows
    return rows if hidden is None else rows.exclude(hidden)
