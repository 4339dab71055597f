"""Finds what makes facts, which all projects share, belong to a project."""

from dataclasses import dataclass, field
from typing import Final

from memory.db.connections import fetch_rows
from memory.models import Agent, Project, Soas, find_by_part
from resolution.conflicts.keys import carries

NAMES_MAX: Final = 5_000  # concepts that carry the name of a project
CONVERSATIONS_MAX: Final = 5_000
CONVERSATIONS: Final = """
    SELECT conversation FROM (
        SELECT conversation, max(id) AS id FROM episode WHERE project_id = %(project)s GROUP BY conversation
        UNION ALL
        SELECT conversation, max(id) FROM memory WHERE project_id = %(project)s AND conversation IS NOT NULL
        GROUP BY conversation
    ) AS each ORDER BY id DESC LIMIT %(most)s
"""


@dataclass(frozen=True, slots=True)
class Belongings:
    """The criteria by which facts belong to the project; if it is None, to any project."""

    project: Project | None
    names: list[int] = field(default_factory=list)  # ids of concepts
    agents: list[str] = field(default_factory=list)
    conversations: list[bytes] = field(default_factory=list)


def find_belongings(project: Project | None) -> Belongings:
    projects = [project] if project is not None else list(Project.objects.all())
    if not projects:
        return Belongings(project)
    names = [concept_id for each in projects for concept_id in find_names(each.slug)]
    agents = list(Agent.objects.filter(project__in=projects).values_list("name", flat=True))
    if project is None:
        return Belongings(project, names, agents)
    rows = fetch_rows(CONVERSATIONS, {"project": project.pk, "most": CONVERSATIONS_MAX})
    return Belongings(project, names, agents, [bytes(conversation) for (conversation,) in rows])


def find_names(slug: str) -> list[int]:
    """Return the concepts whose names contain the project's slug."""
    first = slug.replace("-", " ").replace("_", " ").replace(".", " ").split()[0]
    found = Soas.objects.filter(find_by_part(first)).order_by("-id").values_list("id", "token")[:NAMES_MAX]
    return [concept_id for concept_id, token in found if carries(token, slug)]
