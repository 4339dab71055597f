"""The routes that create and list projects."""

from typing import Any, Final

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import JsonResponse
from ninja import Field, Query, Router, Schema

from memory.access.projects import CLOSED, ProjectExists, ProjectMistake, create
from memory.models import Project
from proxy import runtime
from proxy.access.scopes import list_nameable
from proxy.api.changes import BadDecision, Clash, PageQuery, caller_with

router = Router(tags=["memory"])

NAME_MAX: Final = 120
DESCRIPTION_MAX: Final = 2_000


class ProjectIn(Schema):
    slug: str = Field(max_length=64, examples=["p05"], description="At most 64 small letters, digits and . _ -")
    name: str = Field("", max_length=NAME_MAX, description="Without one, the slug.")
    description: str = Field("", max_length=DESCRIPTION_MAX)
    is_open: bool = Field(False, description="Requests without a token may name it, too.")


@router.post("/projects", summary="Make a project")
async def post_project(request: ASGIRequest, said: ProjectIn) -> JsonResponse:
    """Make a project, which requests may name from then on. 201: made. 409: there is one with this slug. 422: the slug
    is invalid."""
    caller_with(request, "operator")
    try:
        async with runtime.current().coherence.barrier():
            project = await sync_to_async(create)(**said.model_dump())
    except ProjectExists as mistake:
        raise Clash(str(mistake)) from mistake
    except ProjectMistake as mistake:
        raise BadDecision(str(mistake)) from mistake
    note = {} if project.is_open else {"note": CLOSED}
    return JsonResponse(project_out(project) | note, status=201)


@router.get("/projects", summary="The projects that one may name")
async def list_projects(request: ASGIRequest, query: Query[PageQuery]) -> dict[str, Any]:
    """Sorted by slug. An agent gets its own, those that its settings allow, and the open ones; operators get all."""
    caller = caller_with(request, "agent")
    rows = Project.objects.filter(pk__in=list_nameable(runtime.current().cache, caller)).order_by("slug")

    def read() -> dict[str, Any]:
        page = rows[query.offset : query.offset + query.limit]
        return {"items": [project_out(row) for row in page], "count": rows.count()}

    return await sync_to_async(read)()


def project_out(project: Project) -> dict[str, Any]:
    return {
        "id": project.pk,
        "slug": project.slug,
        "name": project.name,
        "description": project.description,
        "is_open": project.is_open,
        "created_at": project.created_at,
    }
