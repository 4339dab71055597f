"""The routes with which operators set project state, and agents of the project read it."""

from typing import Any, Final, Literal

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import JsonResponse
from ninja import Field, Query, Router, Schema

from memory.models import Project, ProjectState
from memory.models.state import VALUE_CHARACTERS
from proxy import runtime
from proxy.access.caller import Caller
from proxy.access.scopes import NO_PROJECT_YET, may, scope_of
from proxy.api.changes import BadDecision, PageQuery, Reason, apply_change, caller_with
from proxy.api.memories import SLUG_MAX
from proxy.errors import NotFound
from resolution.layers.conflicts import list_open_of
from resolution.memories import project_state as service
from resolution.memories.project_state import SettledState
from resolution.models import ConflictMember

router = Router(tags=["memory"])

NAME_MAX: Final = 200  # characters as they are sent
UNNAMED: Final = "Name the project."
STATUS: Final = {"created": 201, "replaced": 201, "unchanged": 200, "withdrawn": 200}
PROJECT_FIELD: Any = Field(
    "", max_length=SLUG_MAX, description="Its slug; else that of X-Festinger-Project or the token."
)


class StateIn(Schema):
    project: str = PROJECT_FIELD
    category: str = Field(max_length=NAME_MAX, examples=["decision"])
    key: str = Field(max_length=NAME_MAX, examples=["lateral_support_material"])
    value: str | None = Field(
        ..., max_length=10 * VALUE_CHARACTERS, examples=["GF-PTFE"], description="null takes the value back."
    )
    reason: Reason = ""


class StateQuery(PageQuery):
    project: str = PROJECT_FIELD
    category: str = Field("", max_length=NAME_MAX)
    key: str = Field("", max_length=NAME_MAX)
    status: Literal["active", "superseded", "all"] = "active"


@router.post("/project/state", summary="Settle a value of a project")
async def post_state(request: ASGIRequest, said: StateIn) -> JsonResponse:
    """Settle what holds for a project: its prompts are given it first. Another value under the same category and key
    takes the place of the one before it, which stays in the history; null takes it back. A value for a project that
    does not exist makes it.

    201: new, or in the place of another (`superseded`). 200: it was so already, or it was taken back. `conflict_id`:
    something contradicts it. `warning`: a conflict about it was open before. `note`: the call
    made the project, which is closed to requests without a token."""
    caller = caller_with(request, "operator")
    note = await runtime.current().projects.make_for_write(caller, said.project) if said.value is not None else ""
    project = find_project(caller, said.project)

    def change(actor: Any) -> SettledState:
        row = Project.objects.get(pk=project)
        if said.value is None:
            return service.withdraw(row, said.category, said.key, actor, said.reason)
        return service.settle(row, said.category, said.key, said.value, actor, said.reason)

    outcome = await apply_change(request, change)
    told = await sync_to_async(describe_settled)(outcome)
    return JsonResponse(told | ({"note": note} if note else {}), status=STATUS[outcome.status])


@router.get("/project/state", summary="What is settled for a project")
async def get_state(request: ASGIRequest, query: Query[StateQuery]) -> dict[str, Any]:
    """The values that hold, by category and key; with `status=all` also what held before, the newest first."""
    return await list_state(caller_with(request, "agent"), query)


async def list_state(caller: Caller, query: StateQuery) -> dict[str, Any]:
    """Raises NotAllowed, NotFound, BadDecision."""
    project = find_project(caller, query.project)

    def read() -> dict[str, Any]:
        rows = ProjectState.objects.filter(project=project)
        rows = rows.filter(status=query.status) if query.status != "all" else rows
        rows = rows.filter(category=query.category) if query.category else rows
        rows = rows.filter(key=query.key) if query.key else rows
        page = list(rows.select_related("project").order_by("category", "key", "-id")[query.offset :][: query.limit])
        return {"items": states_out(page), "count": rows.count()}

    return await sync_to_async(read)()


def find_project(caller: Caller, slug: str) -> int:
    """Return the id of the project that a call names, else of the one in its header or token. Operators may name any.
    Raises NotAllowed, NotFound, BadDecision."""
    current = runtime.current()
    if (named := slug.strip().lower()) and may(caller, "operator"):
        row = current.cache.projects.get(named)
        if row is None:
            raise NotFound(NO_PROJECT_YET.format(slug=named))
        return row.id
    project = scope_of(current.cache, caller, {}, slug).project
    if project is None:
        raise BadDecision(UNNAMED)
    return project


def describe_settled(outcome: SettledState) -> dict[str, Any]:
    told = {"result": outcome.status, **states_out([outcome.row])[0], "conflict_id": outcome.conflict_id}
    told["superseded"] = outcome.replaced.pk if outcome.replaced is not None else None
    return told | ({"warning": outcome.warning} if outcome.warning else {})


def states_out(rows: list[ProjectState]) -> list[dict[str, Any]]:
    conflicts = list_open_of(ConflictMember.Kind.PROJECT_STATE, [row.pk for row in rows])
    return [
        {
            "id": row.pk,
            "project": row.project.slug,
            "category": row.category,
            "key": row.key,
            "value": row.value,
            "status": row.status,
            "is_disputed": row.is_disputed,
            "set_by": row.actor,
            "set_at": row.set_at,
            "reason": row.reason or None,
            "superseded_by": row.superseded_by_id,
            "archived_at": row.archived_at,
            "archived_by": row.archived_by or None,
            "conflicts": conflicts.get(row.pk, []),
        }
        for row in rows
    ]
