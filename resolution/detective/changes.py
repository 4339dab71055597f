"""Finds what has changed since the detective last looked, and in whose story."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db import connection
from django.utils import timezone

from memory.models import Agent, Memory, Project, ProjectState
from resolution.detective.reading import CHANGED_MAX
from resolution.domain.story import StoryRow, carries
from resolution.models import DetectiveMark

# A row may be committed after others with higher ids. Newer rows than this wait, so that none is skipped.
SETTLED_S: Final = 5.0
TABLES: Final = {
    # The column of each table that holds the time, and the condition for rows that matter.
    "edge_history": ("at", "action <> 'confirm'"),
    "memory_history": ("at", "action IN ('create', 'promote', 'edit', 'restore', 'undo')"),
    "project_state": ("set_at", "true"),
}
NEWEST: Final = """
    SELECT id, {at} FROM {table} WHERE id > %s AND {looks} ORDER BY id DESC LIMIT %s
"""
LAST: Final = """
    SELECT coalesce(max(id), 0) FROM {table} WHERE {at} <= clock_timestamp() - make_interval(secs => %s)
      AND id > (SELECT coalesce(max(id), 0) - 10000 FROM {table})
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
class NewRows:
    """The newest rows since the marks, and the new ``marks`` to set once they have been read."""

    rows: ByStory
    first: datetime | None
    last: datetime | None
    marks: Mapping[str, int]


def find_changes() -> NewRows:
    """Find the rows since the marks. Without marks nothing is new: older rows are read only on request."""
    known = dict(DetectiveMark.objects.values_list("source", "row"))
    found: dict[str, list[int]] = {}
    times: list[datetime] = []
    marks: dict[str, int] = {}
    with connection.cursor() as cursor:
        for table, (at, looks) in TABLES.items():
            cursor.execute(LAST.format(table=table, at=at), [SETTLED_S])
            (marks[table],) = cursor.fetchone()
            cursor.execute(
                NEWEST.format(table=table, at=at, looks=looks), [known.get(table, marks[table]), CHANGED_MAX]
            )
            rows = cursor.fetchall()
            found[table] = [key for key, _ in rows]
            times += [at for _, at in rows]
    if not times or known.keys() != marks.keys():
        set_marks(marks)  # so that the same confirmations are not scanned every minute
        return NewRows({}, None, None, marks)
    return NewRows(group(found), min(times), max(times), marks)


def find_changes_since(time: datetime) -> ByStory:
    found: dict[str, list[int]] = {}
    with connection.cursor() as cursor:
        for table, (at, looks) in TABLES.items():
            query = (
                f"SELECT id FROM (SELECT id, {at} AS at FROM {table} WHERE {looks} ORDER BY id DESC LIMIT %s) AS new"
            )
            cursor.execute(f"{query} WHERE at > %s", [CHANGED_MAX, time])
            found[table] = [key for (key,) in cursor.fetchall()]
    return group(found)


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
    with connection.cursor() as cursor:
        cursor.execute(PROJECTS_OF_EDGES, [list(history_ids)])
        return {
            key: {
                *(project for project, slug in slugs if carries(concept, slug) or carries(dim, slug)),
                *filter(None, [project_of.get(actor)]),
                *(spoken_in or ()),
            }
            for key, concept, dim, actor, spoken_in in cursor.fetchall()
        }


def set_marks(marks: Mapping[str, int]) -> None:
    now = timezone.now()
    DetectiveMark.objects.bulk_create(
        [DetectiveMark(source=table, row=row, at=now) for table, row in marks.items()],
        update_conflicts=True, unique_fields=["source"], update_fields=["row", "at"],
    )  # fmt: skip
