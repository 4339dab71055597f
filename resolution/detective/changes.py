"""Finds what has changed lately, and in whose story."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from memory.db.connections import fetch_rows
from memory.models import Agent, Memory, Project, ProjectState
from resolution.conflicts.keys import carries
from resolution.detective.story import StoryRow

CHANGED_MAX: Final = 500
# Rows of a table that are looked through, newest first: most may be confirmations, which change nothing.
LOOKED_AT_MAX: Final = 100_000
TABLES: Final = {
    # The column of each table that holds the time, and the condition for rows that matter.
    "edge_history": ("at", "action <> 'confirm'"),
    "memory_history": ("at", "action IN ('create', 'promote', 'edit', 'restore', 'undo')"),
    "project_state": ("set_at", "true"),
}
NEWEST: Final = """
    SELECT id, {at} FROM {table}
    WHERE {at} > %(since)s AND {looks} AND id > (SELECT coalesce(max(id), 0) - %(looked_at)s FROM {table})
    ORDER BY id DESC LIMIT %(most)s
"""
PROJECTS_OF_EDGES: Final = """
    SELECT h.id, concept.token, dim.token, h.actor, (
        SELECT array_agg(DISTINCT project_id) FROM episode
        WHERE episode.conversation = h.conversation AND project_id IS NOT NULL
    )
    FROM edge_history AS h JOIN soas AS concept ON concept.id = h.concept_id JOIN soas AS dim ON dim.id = h.dim_id
    WHERE h.id = ANY(%s)
"""

ByStory = dict[int | None, set[StoryRow]]  # by the id of the project


@dataclass(frozen=True, slots=True)
class Changes:
    """The newest rows, and the ``times`` at which they were written."""

    rows: ByStory
    times: Sequence[datetime]


def find_changes(since: datetime) -> Changes:
    found: dict[str, list[int]] = {}
    times: list[datetime] = []
    values = {"since": since, "looked_at": LOOKED_AT_MAX, "most": CHANGED_MAX}
    for table, (at, looks) in TABLES.items():
        rows = fetch_rows(NEWEST.format(table=table, at=at, looks=looks), values)
        found[table] = [key for key, _ in rows]
        times += [time for _, time in rows]
    return Changes(group(found) if times else {}, times)


def group(found: Mapping[str, Sequence[int]]) -> ByStory:
    """Group the changed rows by the projects whose story they belong to."""
    rows: ByStory = defaultdict(set)
    memories = Memory.objects.filter(history__pk__in=found["memory_history"]).values_list("pk", "project_id")
    for key, project in memories.distinct():
        rows[project].add(StoryRow("memory", key))
    for key, project in ProjectState.objects.filter(pk__in=found["project_state"]).values_list("pk", "project_id"):
        rows[project].add(StoryRow("project_state", key))
    for key, projects in find_projects(found["edge_history"]).items():
        for each in projects:
            rows[each].add(StoryRow("edge_history", key))
        if not projects:
            rows[None].add(StoryRow("edge_history", key))
    return dict(rows)


def find_projects(history_ids: Sequence[int]) -> dict[int, set[int]]:
    """Map changes of facts to the projects whose story they belong to (see ``reading``)."""
    slugs = list(Project.objects.values_list("pk", "slug"))
    project_of = dict(Agent.objects.exclude(project=None).values_list("name", "project_id"))
    return {
        key: {
            *(project for project, slug in slugs if carries(concept, slug) or carries(dim, slug)),
            *filter(None, [project_of.get(actor)]),
            *(spoken_in or ()),
        }
        for key, concept, dim, actor, spoken_in in fetch_rows(PROJECTS_OF_EDGES, [list(history_ids)])
    }
