"""The endpoint that lists registered agents."""

from datetime import datetime
from typing import Annotated, Any

from ninja import Field
from pydantic import BeforeValidator

from memory.models import Agent
from proxy.access.caller import Caller
from proxy.api import endpoint
from proxy.api.endpoint import Output, Page, PageQuery, make_page
from proxy.api.serializers import SlugOrNone


def list_slugs(projects: Any) -> list[str]:
    return [project.slug for project in projects.all()]


class AgentOut(Output):
    id: int
    name: str
    scope: str
    recall: bool
    learn: bool
    ask: bool
    can_teach: str
    episodes: str = Field(description="Whether its conversations are kept.")
    project: SlugOrNone = Field(description="Of requests that name none.")
    allowed_projects: Annotated[list[str], BeforeValidator(list_slugs)] = Field(
        description="Other projects that its requests may name."
    )
    allows_all_projects: bool
    created_at: datetime


@endpoint.get("/agents", scope="operator")
def list_agents(caller: Caller, given: PageQuery) -> Page[AgentOut]:
    """List the registered agents, by name.

    Tokens are not shown."""
    rows = Agent.objects.order_by("name").select_related("project").prefetch_related("allowed_projects")
    return make_page(Page[AgentOut], rows, given)
