"""Reads the story of a project from the tables; of a long one, only what the forgetting curve leaves.

A project's story consists of its memories and state; of facts whose concept or dimension carries its name, that its
agents stated, or that were stated in its conversations; and of the decisions about all of these. Everything that
belongs to no project is a story of its own.
"""

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from typing import Any, Final

from memory.db.connections import fetch_rows
from memory.models import Project
from resolution.detective.lines import MEMORY_TOLD, STATE_TOLD, load_decisions, load_lines, split_names
from resolution.detective.story import (
    BATCH_CHARACTERS,
    StoryLine,
    StoryRow,
    choose_survivors,
    measure,
    sort_lines,
)
from resolution.pages.belongings import find_belongings

ROWS_MAX: Final = 50_000  # rows of a table that are considered; a random sample if there are more
WHOLE_MAX: Final = 500  # rows that may fit into one batch
RELATED_MAX: Final = 20  # rows of one slot, or with the words of one row
LOOKED_AROUND_MAX: Final = 20  # newest changes whose words are looked for

SHARED_EDGES: Final = """
    concept_id <> ALL(%(names)s) AND dim_id <> ALL(%(names)s) AND actor <> ALL(%(agents)s) AND NOT EXISTS (
        SELECT FROM episode WHERE episode.conversation = h.conversation AND episode.project_id IS NOT NULL
    )
"""
PROJECT_EDGES: Final = """
    (concept_id = ANY(%(names)s) OR dim_id = ANY(%(names)s) OR actor = ANY(%(agents)s)
     OR conversation = ANY(%(conversations)s))
"""
# With the number of conflicts about each row's slot.
EDGES: Final = """
    SELECT 'edge_history', id, at, coalesce(conflicts, 0) FROM (
        SELECT id, at, concept_id, dim_id FROM edge_history AS h
        WHERE {own} AND action <> 'confirm' AND at <= %(now)s
        ORDER BY hashint8extended(id, hashtextextended(%(seed)s, 0)) LIMIT %(most)s
    ) AS own
    LEFT JOIN (
        SELECT concept_id, dim_id, count(*) AS conflicts FROM (
            SELECT concept_id, dim_id FROM conflict WHERE concept_id IS NOT NULL
            UNION ALL
            SELECT urd.id, urd.dim_id FROM conflict_member AS m JOIN urd ON m.kind = 'edge' AND m.object_id = edge_id
            JOIN conflict ON conflict.id = conflict_id AND slot_kind <> 'edge_slot'
            UNION ALL
            SELECT h.concept_id, h.dim_id FROM conflict_member AS m
            JOIN edge_history AS h ON m.kind = 'edge_history' AND m.object_id = h.id
        ) AS each GROUP BY concept_id, dim_id
    ) AS flagged USING (concept_id, dim_id)
"""
ROWS: Final = """
    SELECT '{table}', id, at, coalesce(conflicts, 0) FROM (
        SELECT id, {at} AS at FROM {table}
        WHERE project_id IS NOT DISTINCT FROM %(project)s AND status = ANY(%(told)s) AND {at} <= %(now)s
        ORDER BY hashint8extended(id, hashtextextended(%(seed)s, 0)) LIMIT %(most)s
    ) AS own
    LEFT JOIN (
        SELECT object_id, count(*) AS conflicts FROM conflict_member WHERE kind = '{table}' GROUP BY object_id
    ) AS flagged ON object_id = id
"""
IN_SLOTS: Final = """
    WITH changed (kind, id) AS (SELECT * FROM unnest(%(kinds)s::text[], %(ids)s::int8[]))
    SELECT 'edge_history', near.id FROM (
        SELECT DISTINCT concept_id, dim_id FROM edge_history JOIN changed USING (id) WHERE kind = 'edge_history'
    ) AS slot CROSS JOIN LATERAL (
        SELECT id FROM edge_history AS h
        WHERE (h.concept_id, h.dim_id) = (slot.concept_id, slot.dim_id) AND action <> 'confirm'
        ORDER BY h.at DESC LIMIT %(most)s
    ) AS near
    UNION ALL SELECT 'memory', near.id FROM (
        SELECT DISTINCT project_id, category, slot FROM memory JOIN changed USING (id)
        WHERE kind = 'memory' AND slot <> ''
    ) AS own CROSS JOIN LATERAL (
        SELECT id FROM memory
        WHERE memory.project_id IS NOT DISTINCT FROM own.project_id AND status = ANY(%(told)s)
          AND (memory.category, memory.slot) = (own.category, own.slot)
        ORDER BY id DESC LIMIT %(most)s
    ) AS near
    UNION ALL SELECT 'project_state', near.id FROM (
        SELECT DISTINCT project_id, category, key FROM project_state JOIN changed USING (id)
        WHERE kind = 'project_state'
    ) AS own CROSS JOIN LATERAL (
        SELECT id FROM project_state AS state
        WHERE (state.project_id, state.category, state.key) = (own.project_id, own.category, own.key)
        ORDER BY id DESC LIMIT %(most)s
    ) AS near
"""
# The memories that share most words, and the facts about the concepts that are named.
WITH_WORDS: Final = """
    SELECT 'memory', near.id FROM unnest(%(texts)s::text[]) AS changed (text) CROSS JOIN LATERAL (
        SELECT id FROM (
            SELECT id, lexemes, asked.query FROM memory, (
                SELECT string_agg(quote_literal(lexeme), ' | ')::tsquery AS query
                FROM unnest(to_tsvector('english', changed.text))
            ) AS asked
            WHERE memory.project_id IS NOT DISTINCT FROM %(project)s AND status = ANY(%(told)s)
              AND lexemes @@ asked.query LIMIT 500
        ) AS hit ORDER BY ts_rank(lexemes, query) DESC, id DESC LIMIT %(most)s
    ) AS near
    UNION ALL SELECT 'edge_history', near.id FROM soas CROSS JOIN LATERAL (
        SELECT id FROM edge_history AS h WHERE h.concept_id = soas.id AND action <> 'confirm'
        ORDER BY h.id DESC LIMIT %(most)s
    ) AS near
    WHERE soas.token = ANY(%(words)s) AND NOT soas.is_common AND soas.novelty > 0
"""


def read_story(project: Project | None, changed: Collection[StoryRow], *, now: datetime, seed: str) -> list[StoryLine]:
    """Return the story's lines, oldest first. ``changed`` are the rows that triggered the reading; they and the rows
    related to them are never forgotten."""
    kept = {*changed, *find_related(project, changed)}
    aged = dict(sample_rows(project, now, seed))
    decisions = load_decisions(project)
    if len(aged) + len(kept) + len(decisions) <= WHOLE_MAX:
        whole = [*load_lines(aged.keys() | kept, project), *decisions]
        if measure(whole) <= BATCH_CHARACTERS:
            return sort_lines(whole)
    aged |= {line.row: (now - line.at, 0) for line in decisions}
    left = choose_survivors(aged, kept, seed=seed)
    decided = [line for line in decisions if line.row in left]
    return sort_lines([*load_lines(left - {line.row for line in decisions}, project), *decided])


def sample_rows(project: Project | None, now: datetime, seed: str) -> Iterator[tuple[StoryRow, tuple[timedelta, int]]]:
    """Yield rows of the project with their age and number of conflicts. The same seed samples the same rows."""
    own = find_belongings(project)
    values: dict[str, Any] = {
        "now": now,
        "seed": seed,
        "most": ROWS_MAX,
        "project": project.pk if project is not None else None,
        "names": own.names,
        "agents": own.agents,
        "conversations": own.conversations,
    }
    rows = [
        *fetch_rows(EDGES.format(own=SHARED_EDGES if project is None else PROJECT_EDGES), values),
        *fetch_rows(ROWS.format(table="memory", at="created_at"), values | {"told": MEMORY_TOLD}),
        *fetch_rows(ROWS.format(table="project_state", at="set_at"), values | {"told": STATE_TOLD}),
    ]
    for kind, key, at, conflicts in rows:
        yield StoryRow(kind, key), (now - at, conflicts)


def find_related(project: Project | None, changed: Collection[StoryRow]) -> set[StoryRow]:
    """Return the rows of the slots of what has changed, and rows with its words."""
    newest = sorted(changed, key=lambda row: row.id, reverse=True)
    texts = [line.text for line in load_lines(newest[:LOOKED_AROUND_MAX], project)]
    values: dict[str, Any] = {
        "kinds": [row.kind for row in newest],
        "ids": [row.id for row in newest],
        "texts": texts,
        "words": sorted({word for text in texts for word in split_names(text)}),
        "project": project.pk if project is not None else None,
        "told": MEMORY_TOLD,
        "most": RELATED_MAX,
    }
    return {StoryRow(*row) for query in (IN_SLOTS, WITH_WORDS) for row in fetch_rows(query, values)}
