"""The endpoints that start, list and undo runs of the resolver."""

from typing import Any

from ninja import Field

from proxy.access.caller import Caller
from proxy.api import endpoint
from proxy.api.changes import ReasonIn, act_as
from proxy.api.endpoint import Input, Output, Page, PageQuery, make_page
from proxy.api.serializers import DecisionOut, RunDetails, RunOut, decision_out, run_with_decisions_out
from proxy.errors import NotFound, Refused, make_sentence
from resolution.conflicts import undo
from resolution.models import Run
from resolution.nightly.runs import AlreadyRunning, request_run


class RunIn(Input):
    limit: int | None = Field(None, ge=1, le=1_000_000, examples=[100], description="How many conflicts at most.")


class StartedRun(Output):
    run: int


class UndoneRun(Output):
    undone: list[DecisionOut]
    refused: list[dict[str, Any]] = Field(description="What cannot be put back, each `decision` with `why`.")


@endpoint.post("/resolve/run", scope="operator", statuses=[202], errors=[409])
def run_resolver(caller: Caller, given: RunIn) -> StartedRun:
    """Run the resolver now.

    A worker carries the run out; `GET /resolve/runs/{id}` tells how far it is. 409 with the `run` that is under
    way, if one is."""
    try:
        run = request_run(Run.Trigger.API, caller.signature, limit=given.limit)
    except AlreadyRunning as error:
        raise Refused(409, {"error": make_sentence(error), "run": error.run.pk}) from error
    return StartedRun(run=run.pk)


@endpoint.get("/resolve/runs")
def list_runs(caller: Caller, given: PageQuery) -> Page[RunOut]:
    """List runs.

    The newest first."""
    return make_page(Page[RunOut], Run.objects.order_by("-started_at", "-id"), given)


@endpoint.get("/resolve/runs/{run_id}")
def get_run(caller: Caller, run_id: int) -> RunDetails:
    """Read a run's progress and result.

    `seen` of `total` conflicts are done. Its `status` is `running`, `done`, `failed`, or `skipped` where no model is
    configured."""
    run = Run.objects.filter(pk=run_id).first()
    if run is None:
        raise NotFound(f"There is no run {run_id}.")
    return run_with_decisions_out(run)


@endpoint.post("/resolve/runs/{run_id}/undo", scope="operator", writes=True)
def undo_run(caller: Caller, run_id: int, given: ReasonIn) -> UndoneRun:
    """Undo a run.

    Undoes all that it decided, the newest first. What cannot be put back is left as it is and listed in
    `refused`."""
    report = undo.undo_run(run_id, act_as(caller), given.reason)
    return UndoneRun(
        undone=[decision_out(decision) for decision in report.undone],
        refused=[{"decision": decision_out(decision), "why": why} for decision, why in report.refused],
    )
