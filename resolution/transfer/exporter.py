"""Exports the graph and the memories as a file (docs/interchange.md), from one database snapshot."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal

import orjson
from django.db import connection, transaction

from memory.domain.secrets.redaction import mask_secrets
from resolution.domain.verdicts import classify_collision
from resolution.models import CollisionType
from resolution.transfer.interchange import format_header, format_line
from resolution.transfer.lines import mask_said

LINES_AT_ONCE: Final = 500  # about 100 kB

# The columns are the keys of each kind of line, in order. Rows are sorted by code points, so that two exports of one
# graph are the same bytes on any server.
DIMENSIONS: Final = """
    SELECT word.token, question, is_isa, on_collision, origin.token FROM dimension
    JOIN soas AS word ON word.id = dimension.id LEFT JOIN soas AS origin ON origin.id = split_from_id
    ORDER BY word.token COLLATE "C"
"""
# Concepts about which the file says more than their facts do.
CONCEPTS: Final = """
    SELECT token, is_muted, label FROM soas WHERE is_muted OR label <> '' ORDER BY token COLLATE "C"
"""
ALIASES: Final = """
    SELECT word.token, concept.token, channel, agent, at FROM alias
    JOIN soas AS word ON word.id = alias.id JOIN soas AS concept ON concept.id = concept_id
    ORDER BY word.token COLLATE "C"
"""
# A concept's facts in a dimension come before those in dimensions split from it: in the other order, an import would
# take the first for known.
FACTS: Final = """
    WITH RECURSIVE lineage (id, depth) AS (
        SELECT id, 0 FROM dimension WHERE split_from_id IS NULL
        UNION ALL SELECT dimension.id, depth + 1 FROM dimension JOIN lineage ON split_from_id = lineage.id
    )
    SELECT concept.token, parent.token, dim.token, is_isa, confidence, source, channel, agent, is_corroborated, said_at,
           last_confirmed
    FROM urd
    JOIN soas AS concept ON concept.id = urd.id JOIN soas AS parent ON parent.id = parent_id
    JOIN soas AS dim ON dim.id = dim_id LEFT JOIN lineage ON lineage.id = dim_id
    WHERE urd.id <> parent_id ORDER BY concept.token COLLATE "C", depth, dim.token COLLATE "C",
                                   parent.token COLLATE "C"
"""
# A ruling about a triple that has become a fact again has no effect.
DECIDED: Final = """
    SELECT concept.token, parent.token, dim.token, kind, moved.token, agents, encode(conversation, 'hex'), decided_at
    FROM decided_triple AS decided
    JOIN soas AS concept ON concept.id = concept_id JOIN soas AS parent ON parent.id = parent_id
    JOIN soas AS dim ON dim.id = dim_id LEFT JOIN soas AS moved ON moved.id = moved_to_id
    WHERE NOT EXISTS (SELECT FROM urd WHERE (urd.id, urd.dim_id, urd.parent_id)
                                          = (decided.concept_id, decided.dim_id, decided.parent_id))
    ORDER BY concept.token COLLATE "C", dim.token COLLATE "C", parent.token COLLATE "C"
"""
# Against what is in the place now, which may not be what the claim was queued against. The last column is its is_isa.
CONFLICTS: Final = """
    SELECT concept.token, parent.token, dim.token, incoming_is_isa, collision_type, against.token, blocking.token,
           incoming_confidence, incoming_source, queued.channel, queued.agent, role, encode(conversation, 'hex'),
           evidence, priority, queued.said_at, created_at, urd.is_isa
    FROM resolution_queue AS queued
    JOIN soas AS concept ON concept.id = concept_id JOIN soas AS parent ON parent.id = incoming_parent_id
    JOIN soas AS dim ON dim.id = queued.dim_id
    LEFT JOIN urd ON (urd.id, urd.dim_id) = (concept_id, queued.dim_id)
                 AND (NOT is_additive OR urd.parent_id = incoming_parent_id)
    LEFT JOIN soas AS against ON against.id = coalesce(urd.parent_id, existing_parent_id)
    LEFT JOIN soas AS blocking ON blocking.id = blocking_concept_id
    WHERE status IN ('pending', 'proposed')
      AND (collision_type = 'retraction' OR urd.parent_id IS DISTINCT FROM incoming_parent_id)
    ORDER BY concept.token COLLATE "C", dim.token COLLATE "C", parent.token COLLATE "C"
"""
PROJECTS: Final = 'SELECT slug, name, description, is_open FROM project ORDER BY slug COLLATE "C"'
STATES: Final = """
    SELECT slug, category, key, value, actor, reason, set_at FROM project_state JOIN project ON project.id = project_id
    WHERE status = 'active' ORDER BY slug COLLATE "C", category COLLATE "C", key COLLATE "C"
"""
# A memory's name is a digest of its text, speaker, project and time, so that later exports, also those of the database
# it was imported into, give it the same name.
NAMED: Final = """
    WITH named AS MATERIALIZED (
        SELECT id, slug, digest, number, digest || CASE number WHEN 1 THEN '' ELSE '-' || number END AS name
        FROM (
            SELECT id, slug, digest, row_number() OVER (PARTITION BY digest ORDER BY id) AS number
            FROM (
                SELECT memory.id, slug, left(encode(sha256(convert_to(concat_ws(chr(31), coalesce(slug, ''), agent,
                    person, extract(epoch FROM said_at), text), 'UTF8')), 'hex'), 16) AS digest
                FROM memory LEFT JOIN project ON project.id = project_id WHERE set_aside_at IS NULL
            ) AS digests
        ) AS numbered
    ), derived AS (
        SELECT memory_id, array_agg(name ORDER BY name COLLATE "C") AS others
        FROM memory_lineage JOIN named ON named.id = row WHERE kind = 'memory' GROUP BY memory_id
    ), disputes AS (
        SELECT memory_id,
            jsonb_agg(jsonb_build_object('id', name, 'confidence', was) ORDER BY name COLLATE "C") AS others
        FROM (
            SELECT DISTINCT ON (memory_id, name) memory_id, name, (before ->> 'confidence')::float8 AS was
            FROM memory_history JOIN memory ON memory.id = memory_id AND memory.is_disputed
            JOIN memory AS other ON other.id = (after ->> 'beside')::bigint AND other.is_disputed
            JOIN named ON named.id = other.id
            WHERE action = 'dispute' AND (memory.status, other.status) = ('active', 'active')
            ORDER BY memory_id, name, memory_history.id
        ) AS pairs GROUP BY memory_id
    )
"""
# ``said_in`` is empty in files without episodes, where it could only tell that there were some.
SAID_IN: Final = """
    ARRAY(SELECT encode(digest, 'hex') FROM memory_lineage JOIN episode ON episode.id = row AND set_aside_at IS NULL
          WHERE memory_id = memory.id AND kind = 'episode' ORDER BY digest)
"""
MEMORIES: Final = """
    {named} SELECT own.name, own.slug, agent, person, text, category, status, confidence, channel, slot, other_slot,
        slot_version, evidence_count, successor.name, winner.name, is_disputed, coalesce(disputes.others, '[]'),
        coalesce(derived.others, '{{}}'), {said_in}, coalesce(encode(conversation, 'hex'), ''), said_at, last_updated,
        archived_at
    FROM memory JOIN named AS own USING (id)
    LEFT JOIN named AS successor ON successor.id = superseded_by_id
    LEFT JOIN named AS winner ON winner.id = merged_into_id
    LEFT JOIN derived ON derived.memory_id = memory.id LEFT JOIN disputes ON disputes.memory_id = memory.id
    ORDER BY said_at, own.digest COLLATE "C", own.number
"""
# In the order in which they were said.
EPISODES: Final = """
    SELECT encode(digest, 'hex'), slug, agent, person, encode(conversation, 'hex'), role, text, quoted, said_at
    FROM episode LEFT JOIN project ON project.id = project_id WHERE set_aside_at IS NULL ORDER BY episode.id
"""
# The name of the count, the kind of the lines, and the query.
GRAPH: Final = (
    ("dimensions", "dimension", DIMENSIONS),
    ("concepts", "concept", CONCEPTS),
    ("aliases", "alias", ALIASES),
    ("facts", "fact", FACTS),
    ("decided", "decided", DECIDED),
    ("conflicts", "conflict", CONFLICTS),
)
REMEMBERED: Final = (
    ("projects", "project", PROJECTS),
    ("states", "state", STATES),
    ("memories", "memory", MEMORIES.format(named=NAMED, said_in="ARRAY[]::text[]")),
)
SAID: Final = (
    ("projects", "project", PROJECTS),
    ("states", "state", STATES),
    ("episodes", "episode", EPISODES),
    ("memories", "memory", MEMORIES.format(named=NAMED, said_in=SAID_IN)),
)
# How much a file holds; each extent includes the previous ones.
Extent = Literal["graph", "memories", "episodes"]
PARTS: Final = {"graph": GRAPH, "memories": (*GRAPH, *REMEMBERED), "episodes": (*GRAPH, *SAID)}


def export(*, extent: Extent = "memories") -> Iterator[bytes]:
    """Yield the file, some hundred lines at a time. Concurrent writes are not in it. The transaction stays open until
    the last part is taken."""
    parts = PARTS[extent]
    # One snapshot for all parts, or a conflict could be in the file without the fact that it is about.
    with transaction.atomic():
        with connection.cursor() as cursor:
            if not connection.savepoint_ids:  # inside another transaction it is too late to ask for a snapshot
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            lengths = ", ".join(f"(SELECT count(*) FROM ({query}) AS lines)" for *_, query in parts)
            cursor.execute(f"SELECT {lengths}")
            counts = dict(zip((name for name, *_ in parts), cursor.fetchone(), strict=True))
        yield format_header(counts)
        for _, kind, query in parts:
            with connection.chunked_cursor() as cursor:
                cursor.execute(query)
                while rows := cursor.fetchmany(LINES_AT_ONCE):
                    yield b"".join(format_line(kind, READ[kind](row) if kind in READ else row) for row in rows)


def _turn(row: tuple[Any, ...]) -> list[Any]:
    """Return the line of a claim, turned against what is in its place now."""
    *values, existing_is_isa = row
    is_isa, collision, blocking = 3, 4, 6
    if existing_is_isa is not None and values[collision] != CollisionType.RETRACTION:
        values[collision], values[blocking] = classify_collision(existing_is_isa, values[is_isa]), None
    return values


# Mask secrets again: the rules may know more kinds of secrets now than when the text was stored.


def _read_state(row: tuple[Any, ...]) -> list[Any]:
    slug, category, key, value, *more = row
    return [slug, category, key, mask_secrets(value), *more]


def _read_memory(row: tuple[Any, ...]) -> list[Any]:
    values, (text, disputes) = [*row], (4, 16)
    values[text], values[disputes] = mask_secrets(values[text]), orjson.loads(values[disputes])
    return values


def _read_episode(row: tuple[Any, ...]) -> list[Any]:
    *values, text, quoted, said_at = row
    said = mask_said(text, quoted)
    return [*values, said.text, [place for span in said.quoted for place in span], said_at]


READ: Final[Mapping[str, Callable[[tuple[Any, ...]], list[Any]]]] = {
    "conflict": _turn,
    "state": _read_state,
    "memory": _read_memory,
    "episode": _read_episode,
}
