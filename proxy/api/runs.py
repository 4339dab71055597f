"""The routes that start, list and undo runs of the resolver."""

from typing import Annotated, Any

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import JsonResponse
from ninja import Body, Field, Query, Router
from pydantic import BaseModel

from proxy.api import serializers
from proxy.api.changes import PageQuery, ReasonIn, apply_change, caller_with, make_sentence
from proxy.errors import NotFound
from resolution import resolver
from resolution.actors import Actor
from resolution.consolidation.undoing import undo_consolidation
from resolution.decisions import undo
from resolution.models import Run
from resolution.resolver import AlreadyRunning

router = Router(tags=["conflicts"])


class RunIn(BaseModel):
    limit: int | None = Field(None, ge=1, le=1_000_000, description="Conflicts that it goes over, at most.")


# Defaults of optional bodies.
NO_REASON = ReasonIn()
ALL = RunIn(limit=None)


@router.post("/resolve/run", summary="Run the resolver now")
async def run_resolver(request: ASGIRequest, given: Annotated[RunIn, Body()] = ALL) -> JsonResponse:
    """A worker carries the run out; `GET /resolve/runs/{id}` tells how far it is. 409 with the `run` that is under
    way, if one is."""
    caller = caller_with(request, "operator")
    try:
        run = await sync_to_async(resolver.request_run)(Run.Trigger.API, caller.signature, limit=given.limit)
    except AlreadyRunning as error:
        return JsonResponse({"error": make_sentence(error), "run": error.run.pk}, status=409)
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
    `refused`. Of memories, `memories` says how many are as before, and the ids of those that are something else
    by now."""

    def take_back(actor: Actor) -> dict[str, Any]:
        run = Run.objects.filter(pk=run_id, trigger__in=Run.OF_MEMORIES).exclude(status=Run.Status.RUNNING).first()
        if run is not None:
            done = undo_consolidation(run, actor, given.reason)
            left = [memory.pk for memory in done.refused]
            return {"undone": [], "refused": [], "memories": {"put_back": done.undone, "left": left}}
        report = undo.undo_run(run_id, actor, given.reason)
        return {
            "undone": [serializers.decision_out(decision) for decision in report.undone],
            "refused": [
                {"decision": serializers.decision_out(decision), "why": why} for decision, why in report.refused
            ],
        }

    return JsonResponse(await apply_change(request, take_back))


def find_runs(page: PageQuery) -> dict[str, Any]:
    rows = Run.objects.order_by("-started_at", "-id")
    items = [serializers.run_out(run) for run in rows[page.offset : page.offset + page.limit]]
    return {"items": items, "count": rows.count()}


def find_run(run_id: int) -> dict[str, Any] | None:
    run = Run.objects.filter(pk=run_id).first()
    return serializers.run_with_decisions_out(run) if run is not None else None
