"""The endpoints for projects, and for what operators settle for one."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final, Literal

from asgiref.sync import sync_to_async
from ninja import Field
from pydantic import AliasPath

from memory.access.projects import CLOSED, ProjectExists, ProjectMistake, create
from memory.models import Project, ProjectState
from memory.models.state import VALUE_CHARACTERS
from proxy import runtime
from proxy.access.caller import Caller
from proxy.access.scopes import list_nameable
from proxy.api import endpoint
from proxy.api.changes import Reason, act_as
from proxy.api.endpoint import Input, Output, Page, PageQuery, Tool, make_page
from proxy.api.memories import SLUG_MAX
from proxy.api.serializers import Disputable, OrNone, with_conflicts
from proxy.api.visibility import find_project
from proxy.errors import BadValue, Clash
from resolution.memories import project_state as service
from resolution.memories.project_state import SettledState
from resolution.models import ConflictMember

NAME_MAX: Final = 200  # characters as they are sent
STATUS: Final = {"created": 201, "replaced": 201, "unchanged": 200, "withdrawn": 200}
PROJECT_FIELD: Any = Field(
    "", max_length=SLUG_MAX, description="Its slug; else that of X-Festinger-Project or the token."
)


class ProjectIn(Input):
    slug: str = Field(max_length=SLUG_MAX, examples=["p05"], description="At most 64 small letters, digits and . _ -")
    name: str = Field("", max_length=120, description="Without one, the slug.")
    description: str = Field("", max_length=2_000)
    is_open: bool = Field(False, description="Requests without a token may name it, too.")


class ProjectOut(Output):
    id: int
    slug: str
    name: str
    description: str
    is_open: bool
    created_at: datetime


class CreatedProject(ProjectOut):
    note: str = ""


@endpoint.post("/projects", scope="operator", writes=True, statuses=[201], errors=[409])
def post_project(caller: Caller, given: ProjectIn) -> CreatedProject:
    """Create a project.

    Requests may name it from then on. 409: there is one with this slug. 422: the slug is invalid."""
    try:
        project = create(**given.model_dump())
    except ProjectExists as mistake:
        raise Clash(str(mistake)) from mistake
    except ProjectMistake as mistake:
        raise BadValue(str(mistake)) from mistake
    told = CreatedProject.model_validate(project)
    return told if project.is_open else told.model_copy(update={"note": CLOSED})


@endpoint.get("/projects")
async def list_projects(caller: Caller, given: PageQuery) -> Page[ProjectOut]:
    """List the projects that the caller may name.

    Sorted by slug. An agent gets its own, those that its settings allow, and the open ones; operators get all."""
    rows = Project.objects.filter(pk__in=list_nameable(runtime.current().cache, caller)).order_by("slug")
    return await sync_to_async(make_page)(Page[ProjectOut], rows, given)


# --- project state ---


class StateIn(Input):
    project: str = PROJECT_FIELD
    category: str = Field(max_length=NAME_MAX, examples=["decision"])
    key: str = Field(max_length=NAME_MAX, examples=["lateral_support_material"])
    value: str | None = Field(
        ..., max_length=10 * VALUE_CHARACTERS, examples=["GF-PTFE"], description="null takes the value back."
    )
    reason: Reason = ""


class StateQuery(PageQuery):
    project: str = PROJECT_FIELD
    category: str = Field("", max_length=NAME_MAX, description="Such as decision or requirement; else all.")
    key: str = Field("", max_length=NAME_MAX)
    status: Literal["active", "superseded", "all"] = "active"


class StateOut(Disputable):
    project: str = Field(validation_alias=AliasPath("project", "slug"))
    category: str
    key: str
    value: str
    status: str
    is_disputed: bool
    set_by: str = Field(validation_alias="actor")
    set_at: datetime
    reason: OrNone
    superseded_by: int | None = Field(validation_alias="superseded_by_id")
    archived_at: datetime | None
    archived_by: OrNone

    def lines(self) -> Iterator[str]:
        marks = "".join(f" (disputed: conflict {one.id})" for one in self.conflicts)
        yield f"{self.category}.{self.key} = {self.value}{'' if self.status == 'active' else ' (superseded)'}{marks}"


class SettledOut(StateOut):
    result: str = Field("", description="`created`, `replaced`, `unchanged` or `withdrawn`.")
    conflict_id: int | None = None
    superseded: int | None = Field(None, validation_alias="replaced", description="The row whose place it has taken.")
    warning: str = Field("", description="A conflict about it was open before.")
    note: str = Field("", description="The call made the project, which is closed to requests without a token.")


@endpoint.post("/project/state", scope="operator", writes=True, statuses=[201, 200], errors=[404, 409])
async def post_state(caller: Caller, given: StateIn) -> tuple[int, SettledOut]:
    """Set a value of a project, or retire one.

    Project state is injected into the project's prompts first. Another value under the same category and key
    takes the place of the one before it, which stays in the history; null takes it back. A value for a project that
    does not exist makes it. 201: new, or in the place of another. 200: it was so already, or it was taken back."""
    note = await runtime.current().projects.make_for_write(caller, given.project) if given.value is not None else ""
    project = find_project(caller, given.project)

    def change() -> tuple[int, SettledOut]:
        row, actor = Project.objects.get(pk=project), act_as(caller)
        if given.value is None:
            outcome = service.withdraw(row, given.category, given.key, actor, given.reason)
        else:
            outcome = service.settle(row, given.category, given.key, given.value, actor, given.reason)
        return STATUS[outcome.status], describe_settled(outcome, note)

    return await sync_to_async(change)()


@endpoint.get(
    "/project/state",
    errors=[404],
    tool=Tool(
        "project_state",
        "What the operators have settled for this project: decisions, requirements and the like, by category and key."
        " It holds against anything else that was said.",
    ),
)
def get_state(caller: Caller, given: StateQuery) -> Page[StateOut]:
    """List the values of a project.

    The values that hold, by category and key; with `status=all` also what held before, the newest first."""
    rows = ProjectState.objects.filter(project=find_project(caller, given.project)).select_related("project")
    rows = rows.filter(status=given.status) if given.status != "all" else rows
    rows = rows.filter(category=given.category) if given.category else rows
    rows = rows.filter(key=given.key) if given.key else rows
    kind = ConflictMember.Kind.PROJECT_STATE
    ordered = rows.order_by("category", "key", "-id")
    return make_page(Page[StateOut], ordered, given, lambda page: with_conflicts(kind, StateOut, page))


def describe_settled(outcome: SettledState, note: str) -> SettledOut:
    [told] = with_conflicts(ConflictMember.Kind.PROJECT_STATE, SettledOut, [outcome.row])
    told.result, told.conflict_id = outcome.status, outcome.conflict_id
    told.superseded = outcome.replaced.pk if outcome.replaced is not None else None
    more = {"warning": outcome.warning, "note": note}
    return told.model_copy(update={key: text for key, text in more.items() if text})
