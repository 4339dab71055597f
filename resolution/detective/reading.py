"""Reads the story of a project from the tables; of a long one, only what the forgetting curve leaves.

A project's story consists of its memories and state; of facts whose concept or dimension carries its name, that its
agents stated, or that were stated in its conversations; and of the decisions about all of these. Everything that
belongs to no project is a story of its own.
"""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any, Final, NamedTuple

from django.db import connection

from memory.models import Project
from resolution.detective import lines as told
from resolution.domain.forgetting import choose, number_of
from resolution.domain.story import BATCH_CHARACTERS, StoryLine, StoryRow, measure, sort_lines
from resolution.views.belongings import Belongings, find_belongings

ROWS_MAX: Final = 50_000  # rows of a table that are considered; a random sample if there are more
WHOLE_MAX: Final = 500  # rows that may fit into one batch
RELATED_MAX: Final = 20  # rows of one slot, or with the words of one row
LOOKED_AROUND_MAX: Final = 20  # newest changes whose related rows are read, too
CHANGED_MAX: Final = 500

HISTORY, MEMORY, STATE = "edge_history", "memory", "project_state"

# Samples a share of the pages if there are too many rows, so that the cost does not grow with the table.
SHARED_EDGES: Final = """
    FROM edge_history AS h TABLESAMPLE SYSTEM (%(percent)s) REPEATABLE (%(number)s)
    WHERE h.concept_id <> ALL(%(names)s) AND h.dim_id <> ALL(%(names)s) AND h.actor <> ALL(%(agents)s)
      AND NOT EXISTS (
        SELECT FROM episode WHERE episode.conversation = h.conversation AND episode.project_id IS NOT NULL
      )
"""
PROJECT_EDGES: Final = """
    FROM edge_history AS h
    WHERE (h.concept_id = ANY(%(names)s) OR h.dim_id = ANY(%(names)s) OR h.actor = ANY(%(agents)s)
      OR h.conversation = ANY(%(conversations)s))
"""
# The number of conflicts about each slot.
FLAGGED_SLOTS: Final = """
    SELECT concept_id, dim_id, count(*) AS conflicts FROM (
        SELECT concept_id, dim_id FROM conflict WHERE concept_id IS NOT NULL
        UNION ALL
        SELECT urd.id, urd.dim_id FROM conflict_member AS m JOIN urd ON m.kind = 'edge' AND m.object_id = edge_id
        UNION ALL
        SELECT h.concept_id, h.dim_id FROM conflict_member AS m
        JOIN edge_history AS h ON m.kind = 'edge_history' AND m.object_id = h.id
    ) AS each GROUP BY concept_id, dim_id
"""
EDGES: Final = """
    WITH own AS MATERIALIZED (
        SELECT h.id, h.at, h.concept_id, h.dim_id {own} AND h.action <> 'confirm' AND h.at <= %(now)s
    )
    SELECT own.id, own.at, coalesce(conflicts, 0) FROM own
    LEFT JOIN (""" + FLAGGED_SLOTS + """) AS flagged USING (concept_id, dim_id)
    WHERE abs(hashint8extended(own.id, %(number)s)::float8) / 9.3e18
        <= %(most)s::float8 / (SELECT count(*) + 1 FROM own)
"""  # fmt: skip
ROWS: Final = """
    WITH own AS MATERIALIZED (
        SELECT id, {at} AS at FROM {table}
        WHERE project_id IS NOT DISTINCT FROM %(project)s AND status = ANY(%(told)s) AND {at} <= %(now)s
    )
    SELECT own.id, own.at, coalesce(conflicts, 0) FROM own
    LEFT JOIN (
        SELECT object_id, count(*) AS conflicts FROM conflict_member WHERE kind = '{table}' GROUP BY object_id
    ) AS flagged ON flagged.object_id = own.id
    WHERE abs(hashint8extended(own.id, %(number)s)::float8) / 9.3e18
        <= %(most)s::float8 / (SELECT count(*) + 1 FROM own)
"""
OF_SLOTS: Final = """
    SELECT near.id FROM unnest(%s::int[], %s::int[]) AS slot (concept_id, dim_id) CROSS JOIN LATERAL (
        SELECT id FROM edge_history AS h
        WHERE (h.concept_id, h.dim_id) = (slot.concept_id, slot.dim_id) AND action <> 'confirm'
        ORDER BY h.at DESC LIMIT %s
    ) AS near
"""
# Rows about the same things: the memories that share most words, and the facts about the concepts that are named.
WITH_WORDS: Final = """
    SELECT near.id FROM unnest(%s::text[]) AS changed (text) CROSS JOIN LATERAL (
        SELECT id FROM (
            SELECT id, lexemes, asked.query FROM memory, (
                SELECT string_agg(quote_literal(lexeme), ' | ')::tsquery AS query
                FROM unnest(to_tsvector('english', changed.text))
            ) AS asked
            WHERE memory.project_id IS NOT DISTINCT FROM %s AND status = ANY(%s) AND lexemes @@ asked.query LIMIT 500
        ) AS hit ORDER BY ts_rank(lexemes, query) DESC, id DESC LIMIT %s
    ) AS near
"""
OF_NAMED: Final = """
    SELECT near.id FROM soas CROSS JOIN LATERAL (
        SELECT id FROM edge_history AS h WHERE h.concept_id = soas.id AND action <> 'confirm'
        ORDER BY h.id DESC LIMIT %s
    ) AS near
    WHERE soas.token = ANY(%s) AND NOT soas.is_common AND soas.novelty > 0
"""


class SampledRow(NamedTuple):
    row: StoryRow
    at: datetime
    conflicts: int


def read_story(project: Project | None, changed: Collection[StoryRow], *, now: datetime, seed: str) -> list[StoryLine]:
    """Return the story's lines, oldest first. ``changed`` are the rows that triggered the reading; they and the rows
    related to them are never forgotten."""
    kept = {*changed, *find_related(project, changed)}
    found = list(sample_rows(find_belongings(project), now, seed))
    decisions = told.load_decisions(project)
    if len(found) + len(kept) + len(decisions) <= WHOLE_MAX:
        whole = [*told.load_lines({each.row for each in found} | kept, project), *decisions]
        if measure(whole) <= BATCH_CHARACTERS:
            return sort_lines(whole)
    aged = {each.row: (now - each.at, each.conflicts) for each in found}
    aged |= {line.row: (now - line.at, 0) for line in decisions}
    left = choose(aged, kept, seed=seed)
    decided = [line for line in decisions if line.row in left]
    return sort_lines([*told.load_lines(left - {line.row for line in decisions}, project), *decided])


def sample_rows(own: Belongings, now: datetime, seed: str) -> Iterable[SampledRow]:
    values: dict[str, Any] = {
        "now": now,
        "number": number_of(seed),
        "most": ROWS_MAX,
        "project": own.project.pk if own.project is not None else None,
        "names": own.names,
        "agents": own.agents,
        "conversations": own.conversations,
    }
    with connection.cursor() as cursor:
        if own.project is None:
            cursor.execute("SELECT coalesce(max(id) - min(id), 0) + 1 FROM edge_history")
            values["percent"] = min(100.0, 100.0 * ROWS_MAX / cursor.fetchone()[0])
        cursor.execute(EDGES.format(own=SHARED_EDGES if own.project is None else PROJECT_EDGES), values)
        yield from (SampledRow(StoryRow(HISTORY, key), at, conflicts) for key, at, conflicts in cursor.fetchall())
        for table, at, statuses in ((MEMORY, "created_at", told.MEMORY_TOLD), (STATE, "set_at", told.STATE_TOLD)):
            cursor.execute(ROWS.format(table=table, at=at), values | {"told": statuses})
            yield from (SampledRow(StoryRow(table, key), at, conflicts) for key, at, conflicts in cursor.fetchall())


def find_related(project: Project | None, changed: Collection[StoryRow]) -> set[StoryRow]:
    """Return the rows of the slots of what has changed, and rows with its words."""
    newest = sorted(changed, key=lambda row: row.id, reverse=True)
    lines = told.load_lines(newest[:LOOKED_AROUND_MAX], project)
    slots = told.find_slots([row.id for row in newest if row.kind == HISTORY])
    words = sorted({word for line in lines for word in told.split_names(line.text)})
    project_id = project.pk if project is not None else None
    with connection.cursor() as cursor:

        def fetch(kind: str, query: str, *values: Any) -> set[StoryRow]:
            cursor.execute(query, values)
            return {StoryRow(kind, key) for (key,) in cursor.fetchall()}

        return (
            fetch(HISTORY, OF_SLOTS, [slot[0] for slot in slots], [slot[1] for slot in slots], RELATED_MAX)
            | fetch(MEMORY, WITH_WORDS, [line.text for line in lines], project_id, told.MEMORY_TOLD, RELATED_MAX)
            | fetch(HISTORY, OF_NAMED, RELATED_MAX, words)
            | told.find_memories_of_slots([row.id for row in newest if row.kind == MEMORY])
            | told.find_state_of_slots([row.id for row in newest if row.kind == STATE])
        )
