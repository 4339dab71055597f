"""Exports the graph and the memories as a file (docs/interchange.md), from one database snapshot."""

from collections.abc import Iterator, Sequence
from typing import Any, Final, Literal

from django.db import connection, transaction

from memory.secrets.redaction import mask_secrets
from resolution.transfer.lines import format_header, format_line, mask_said

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
PROJECTS: Final = 'SELECT slug, name, description, is_open FROM project ORDER BY slug COLLATE "C"'
STATES: Final = """
    SELECT slug, category, key, value, actor, reason, set_at FROM project_state JOIN project ON project.id = project_id
    WHERE status = 'active' ORDER BY slug COLLATE "C", category COLLATE "C", key COLLATE "C"
"""
# A disputed memory is as sure as it was before: whether it is disputed is found anew where it is imported.
MEMORIES: Final = """
    SELECT slug, agent, person, text, category, status,
        coalesce((SELECT max((before ->> 'confidence')::float8) FROM memory_history
                  WHERE memory_id = memory.id AND is_disputed AND action = 'dispute'), confidence),
        channel, slot, other_slot, slot_version, evidence_count, coalesce(encode(conversation, 'hex'), ''), said_at,
        last_updated, archived_at
    FROM memory LEFT JOIN project ON project.id = project_id
    WHERE set_aside_at IS NULL ORDER BY said_at, memory.id
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
)
REMEMBERED: Final = (
    ("projects", "project", PROJECTS),
    ("states", "state", STATES),
    ("memories", "memory", MEMORIES),
)
# How much a file holds; each extent includes the previous ones.
Extent = Literal["graph", "memories", "episodes"]
PARTS: Final = {
    "graph": GRAPH,
    "memories": (*GRAPH, *REMEMBERED),
    "episodes": (*GRAPH, *REMEMBERED, ("episodes", "episode", EPISODES)),
}


def export(*, extent: Extent = "memories") -> Iterator[bytes]:
    """Yield the file, some hundred lines at a time. Concurrent writes are not in it. The transaction stays open until
    the last part is taken."""
    parts = PARTS[extent]
    # One snapshot for all parts, or a memory could be in the file without its project.
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
                    yield b"".join(format_line(kind, _mask(kind, row)) for row in rows)


def _mask(kind: str, row: Sequence[Any]) -> Sequence[Any]:
    """Mask secrets again: the rules may know more kinds of secrets now than when the text was stored."""
    match kind, row:
        case (("state" | "memory"), (first, second, third, text, *rest)):
            return (first, second, third, mask_secrets(text), *rest)
        case "episode", (*values, text, quoted, said_at):
            said = mask_said(text, quoted)
            return (*values, said.text, [place for span in said.quoted for place in span], said_at)
    return row
