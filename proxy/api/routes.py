"""The HTTP routes of Festinger's own endpoints."""

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.handlers.asgi import ASGIRequest
from django.db import Error as DatabaseError
from django.http import HttpRequest, HttpResponse, JsonResponse
from ninja import Query
from ninja.errors import HttpError, ValidationError
from ninja.parser import Parser
from psycopg import DataError, Error

from memory import bounds
from memory.domain.cues.matches import describe_match
from memory.domain.fact_syntax import FactMistake
from memory.models import ForgetRequest, Observation
from proxy import runtime
from proxy.access.caller import Caller
from proxy.access.scopes import may, scope_of
from proxy.api.candidates import router as candidates
from proxy.api.changes import caller_with
from proxy.api.conflicts import router as conflicts
from proxy.api.decisions import router as decisions
from proxy.api.facts import router as facts
from proxy.api.memories import Asked, PersonIn
from proxy.api.memories import router as memories
from proxy.api.names import router as names
from proxy.api.project_state import router as project_state
from proxy.api.projects import router as projects
from proxy.api.runs import router as runs
from proxy.api.statuses import DescribedAPI
from proxy.api.visibility import sees_words_of
from proxy.domain.formats import error_body
from proxy.domain.json_text import is_heavy
from proxy.enrichment.dry_run import TEXT_PATH, write_prompt
from proxy.enrichment.prompt_search import describe_given
from proxy.enrichment.request_records import is_request_of
from proxy.errors import BadRequest, DatabaseAway, NotFound, ProxyError, map_database_error
from proxy.explanation import run_in_server
from proxy.health.findings import describe_cache, is_ready, report_health
from proxy.health.scrape import write_metrics

logger = logging.getLogger(__name__)

GUTASK = Path(settings.PROJECT) / "clients" / "gutask" / "gutask"

OWN_VALUES = bounds.define("own_values", "bodies with too many values in their JSON, to own endpoints, refused")


class BoundedParser(Parser):
    """Refuses JSON that takes so long to parse that every stream would wait; ninja answers 400."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        if is_heavy(request.body):
            OWN_VALUES.count_bite(bytes=len(request.body))
            raise BadRequest
        return super().parse_body(request)


api = DescribedAPI(
    title="Festinger",
    version=settings.VERSION,
    description="What Festinger itself answers. All other routes are the model server's.",
    docs_url="/docs",
    openapi_url="/openapi.json",
    parser=BoundedParser(),
)
api.add_router("", facts)
api.add_router("", conflicts)
api.add_router("", decisions)
api.add_router("", runs)
api.add_router("", candidates)
api.add_router("", names)
api.add_router("", memories)
api.add_router("", projects)
api.add_router("", project_state)


# --- Festinger's own endpoints ---


LISTED_MAX = 20  # statements that were kept out, and requests to forget


class TextIn(Asked):
    text: str
    role: Literal["user", "assistant", "system", "tool"] = "user"


@api.get("/health", summary="Is it ready, and what is wrong", tags=["operating"])
async def get_health(request: ASGIRequest) -> dict[str, Any]:
    """Tell if Festinger is ready. Details are for this machine and for those who bring a token."""
    current = runtime.current()
    try:
        caller_with(request, "agent")
    except ProxyError:
        # Readiness alone is public: load balancers and container probes send no token. It is known in memory, so that a
        # stranger takes up no connection to Postgres or the upstream.
        return {"ready": is_ready(current)}
    return await report_health(current)


@api.get("/metrics", summary="Metrics for Prometheus", tags=["operating"])
async def get_metrics(request: ASGIRequest) -> HttpResponse:
    """Counters of all processes of this home, and queues, for Prometheus."""
    caller_with(request, "agent")
    content, content_type = await write_metrics(runtime.current(), request.headers.get("accept", ""))
    return HttpResponse(content, content_type=content_type)


@api.post("/recollect", summary="What would be recalled", tags=["memory"])
async def post_recollect(request: ASGIRequest, said: TextIn) -> dict[str, Any]:
    """Show what a new chat that begins with the text would be given: the block that its prompt would get, and why each
    salient concept, and each value of the project, memory and episode that was looked at, is in or out (`notes`).
    Nothing is stored or counted."""
    return await recollect_text(caller_with(request, "agent"), said)


async def recollect_text(caller: Caller, said: TextIn) -> dict[str, Any]:
    """Raises NotAllowed."""
    scope = scope_of(runtime.current().cache, caller, {"user": said.user}, said.project)
    asking = replace(caller, person=scope.speaker.person, project=scope.project)
    run = await run_in_server(TEXT_PATH, write_prompt(said.text, said.role), asking)
    told = describe_given(run.lookup, run.plan.placed if run.plan is not None else None)
    return told | {
        "block": run.block,
        "style": run.recollection.style,
        "concepts": list_reasons(run.recollection.reasons),
        "cues": [describe_match(triple) for lesson in run.lessons for triple in lesson.message.read.triples],
        "notes": [{"kind": key.kind, "id": key.id, "text": line, "why": why} for key, line, why in run.notes],
        "restrictions": run.restrictions,
    }


@api.get("/why/{request_id}", summary="What a request was given, and why", tags=["memory"])
async def get_why(request: ASGIRequest, request_id: str, asked: Query[PersonIn]) -> dict[str, Any]:
    """The recollection of a real request, by the id in its answer's ``X-Festinger-Request`` header, for 7 days. Only
    operators are told of other agents' and other persons' requests."""
    return await tell_why(caller_with(request, "agent"), request_id, asked.user)


async def tell_why(caller: Caller, request_id: str, user: str = "") -> dict[str, Any]:
    """Raises NotFound, DatabaseAway."""
    current = runtime.current()
    try:
        event = await current.events.find(request_id)
    except DataError:
        event = None  # Postgres does not accept the text, so it is no id
    except (Error, TimeoutError) as error:
        raise DatabaseAway from error
    if event is None or not _is_told(caller, event, user):
        raise NotFound(f"no request {request_id!r} of yours is known; events are kept for 7 days")
    reasons = event.pop("reasons")
    event |= await sync_to_async(_list_kept_out)(event["request"])
    event["at"] = datetime.fromtimestamp(event["at"], UTC).isoformat(timespec="milliseconds")
    return event | {"concepts": list_reasons(reasons)}


def _list_kept_out(request_id: str) -> dict[str, Any]:
    """Return what a quota kept out of a request, which is taken when it is said again, and what it set aside."""
    refused = Observation.objects.filter(
        state=Observation.State.DONE, outcome=Observation.Outcome.OVER_QUOTA, request=request_id
    )
    asked = ForgetRequest.objects.filter(request=request_id, undone_at=None, row_count__gt=0)
    try:
        return {
            "refused": [str(row) for row in refused.order_by("id")[:LISTED_MAX]],
            "set_aside": [{"about": str(row), "rows": row.row_count} for row in asked.order_by("id")[:LISTED_MAX]],
        }
    except DatabaseError:  # the rest is known in memory
        return {}


def _is_told(caller: Caller, event: Mapping[str, Any], user: str) -> bool:
    if may(caller, "operator"):
        return True
    is_own = is_request_of(event["request"], caller.person_in({"user": user}))
    return is_own and sees_words_of(caller, [event["agent"]])


@api.post("/reload", summary="Read the cache anew", tags=["operating"])
async def post_reload(request: ASGIRequest) -> dict[str, Any]:
    """Make every process reload its whole cache."""
    caller_with(request, "operator")
    current = runtime.current()
    try:
        await current.coherence.reload()
    except TimeoutError as error:
        raise DatabaseAway from error
    return {"cache": describe_cache(current.cache)}


@api.get("/gutask", summary="The client script", tags=["memory"])
def get_gutask(request: HttpRequest) -> HttpResponse:
    """The client script: one file, Python's standard library only."""
    return HttpResponse(
        GUTASK.read_bytes(),
        content_type="text/x-python; charset=utf-8",
        headers={"Content-Disposition": 'attachment; filename="gutask"'},
    )


def list_reasons(reasons: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"concept": word, "why": why} for word, why in sorted(reasons.items())]


# --- errors, in the shape Ollama gives them at each path ---


@api.exception_handler(ProxyError)
def on_proxy_error(request: HttpRequest, error: ProxyError) -> HttpResponse:
    content = error_body(request.path, error.status, str(error))
    return JsonResponse(content, status=error.status, content_type="application/json; charset=utf-8")


@api.exception_handler(FactMistake)
def on_fact_mistake(request: HttpRequest, mistake: FactMistake) -> HttpResponse:
    content = {"error": str(mistake), "position": mistake.position, "hint": mistake.hint}
    return JsonResponse(content, status=422)


@api.exception_handler(DatabaseError)
def on_database_error(request: HttpRequest, error: DatabaseError) -> HttpResponse:
    return on_proxy_error(request, map_database_error(error))


@api.exception_handler(ValidationError)
def on_invalid(request: HttpRequest, error: ValidationError) -> HttpResponse:
    parts = []
    for mistake in error.errors:
        loc = mistake["loc"]
        # The body parameter's name in this code means nothing to the caller.
        where = ".".join(map(str, loc[2:] if loc[0] == "body" else loc[1:])) or str(loc[0])
        parts.append(f"{where}: {mistake['msg']}")
    return JsonResponse({"error": "; ".join(parts)}, status=422)


@api.exception_handler(HttpError)
def on_http_error(request: HttpRequest, error: HttpError) -> HttpResponse:
    return JsonResponse({"error": str(error)}, status=error.status_code)
