"""The world as a file, from one snapshot (resolution/transfer/interchange.py)."""

from collections.abc import Iterator
from typing import Any, Final

from django.db import connection, transaction

from resolution.domain.collisions import classify
from resolution.transfer import interchange, staging
from resolution.transfer.interchange import ConceptLine, ConflictLine, DecidedLine, DimensionLine, FactLine
from resolution.transfer.staging import Progress, unheard

LINES_AT_ONCE: Final = 500  # some 100 kB

COUNTS = """
    SELECT (SELECT count(*) FROM dimension), (SELECT count(*) FROM soas WHERE is_muted),
           (SELECT count(*) FROM urd WHERE id <> parent_id), (SELECT count(*) FROM ({decided}) AS decided),
           (SELECT count(*) FROM ({conflicts}) AS conflicts)
"""
DIMENSIONS = """
    SELECT word.token, question, is_isa, on_collision, origin.token FROM dimension
    JOIN soas AS word ON word.id = dimension.id LEFT JOIN soas AS origin ON origin.id = split_from_id
    ORDER BY word.token COLLATE "C"
"""
MUTED = 'SELECT token, is_muted FROM soas WHERE is_muted ORDER BY token COLLATE "C"'
FACTS = """
    SELECT concept.token, parent.token, dim.token, is_isa, confidence, source, agent, said_at, last_confirmed FROM urd
    JOIN soas AS concept ON concept.id = urd.id JOIN soas AS parent ON parent.id = parent_id
    JOIN soas AS dim ON dim.id = dim_id
    WHERE urd.id <> parent_id ORDER BY concept.token COLLATE "C", dim.token COLLATE "C"
"""
# What was decided about a triple that stands again says nothing any more.
DECIDED = """
    SELECT concept.token, parent.token, dim.token, kind, moved.token, agents, encode(conversation, 'hex'), decided_at
    FROM decided_triple AS decided
    JOIN soas AS concept ON concept.id = concept_id JOIN soas AS parent ON parent.id = parent_id
    JOIN soas AS dim ON dim.id = dim_id LEFT JOIN soas AS moved ON moved.id = moved_to_id
    WHERE NOT EXISTS (SELECT FROM urd WHERE (urd.id, urd.dim_id, urd.parent_id)
                                          = (decided.concept_id, decided.dim_id, decided.parent_id))
    ORDER BY concept.token COLLATE "C", dim.token COLLATE "C", parent.token COLLATE "C"
"""
# Against what stands now.
CONFLICTS = """
    SELECT concept.token, parent.token, dim.token, incoming_is_isa, collision_type, urd.is_isa, against.token,
           blocking.token, incoming_confidence, incoming_source, queued.agent, role, encode(conversation, 'hex'),
           evidence, priority, queued.said_at, created_at
    FROM resolution_queue AS queued
    JOIN soas AS concept ON concept.id = concept_id JOIN soas AS parent ON parent.id = incoming_parent_id
    JOIN soas AS dim ON dim.id = queued.dim_id
    LEFT JOIN urd ON (urd.id, urd.dim_id) = (concept_id, queued.dim_id)
    LEFT JOIN soas AS against ON against.id = coalesce(urd.parent_id, existing_parent_id)
    LEFT JOIN soas AS blocking ON blocking.id = blocking_concept_id
    WHERE status IN ('pending', 'proposed') AND urd.parent_id IS DISTINCT FROM incoming_parent_id
    ORDER BY concept.token COLLATE "C", dim.token COLLATE "C", parent.token COLLATE "C"
"""


def export(progress: Progress = unheard) -> Iterator[bytes]:
    """The file, some hundred lines at a time, from one snapshot: whatever is written meanwhile is not in it."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            if not connection.savepoint_ids:  # else there is a snapshot already, or none is to be had
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            cursor.execute(COUNTS.format(decided=DECIDED, conflicts=CONFLICTS))
            kinds = ("dimensions", "muted", "facts", "decided", "conflicts")
            counts = dict(zip(kinds, cursor.fetchone(), strict=True))
        yield interchange.header(counts)
        done, total = 0, sum(counts.values())
        for query, made in PARTS:
            for rows in staging.rows(query):
                for start in range(0, len(rows), LINES_AT_ONCE):
                    some = rows[start : start + LINES_AT_ONCE]
                    yield b"".join([interchange.write(made(*row)) for row in some])
                    done += len(some)
                    progress("Writing", done, total)


def _decided_line(*row: Any) -> DecidedLine:
    concept, parent, dimension, kind, moved_to, agents, *rest = row
    return DecidedLine(concept, parent, dimension, kind, moved_to, tuple(agents), *rest)


def _conflict_line(*row: Any) -> ConflictLine:
    concept, parent, dimension, is_isa, collision, standing_is_isa, against, blocking, *rest = row
    if standing_is_isa is not None:
        collision, blocking = classify(standing_is_isa, is_isa), None
    return ConflictLine(concept, parent, dimension, is_isa, collision, against, blocking, *rest)


PARTS = (
    (DIMENSIONS, DimensionLine),
    (MUTED, ConceptLine),
    (FACTS, FactLine),
    (DECIDED, _decided_line),
    (CONFLICTS, _conflict_line),
)
