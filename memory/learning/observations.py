"""Writes statements to the table ``observation``, where they wait to be placed."""

import logging
from collections.abc import Sequence
from typing import Final

import psycopg

from memory.db.connections import PAST, Connection, columns, first_line
from memory.graph.statement import Statement, storable

logger = logging.getLogger(__name__)

INSERT: Final = f"""
    INSERT INTO observation
        (kind, digest, concept, parent, dimension, is_isa, confidence, role, agent, said_at, evidence, channel,
         says, is_hedged, instead_of, for_speaker, for_person, paragraph, request)
    SELECT 'triple', key, subject, parent, dimension, is_isa, confidence, role, agent,
        {PAST.format("at")}, evidence, channel, says, is_hedged, instead_of, speaker, person, paragraph, request
    FROM unnest(
        %s::bytea[], %s::text[], %s::text[], %s::text[], %s::bool[], %s::float8[], %s::text[], %s::text[],
        %s::float8[], %s::text[], %s::text[], %s::text[], %s::bool[], %s::text[],
        %s::text[], %s::text[], %s::text[], %s::text[]
    ) AS said
        (key, subject, parent, dimension, is_isa, confidence, role, agent, at, evidence, channel, says, is_hedged,
         instead_of, speaker, person, paragraph, request)
    -- Said again, it is placed again.
    ON CONFLICT (digest, concept, parent, dimension, is_isa) WHERE kind = 'triple' DO UPDATE SET
        said_at = excluded.said_at, says = excluded.says, is_hedged = excluded.is_hedged,
        instead_of = excluded.instead_of, request = excluded.request, state = 'pending', outcome = '', attempts = 0,
        next_attempt_at = statement_timestamp(), claimed_until = NULL, set_aside_at = NULL, set_aside_by_id = NULL
    WHERE observation.state <> 'pending' AND excluded.said_at > observation.said_at
"""


async def insert_observations(connection: Connection, statements: Sequence[Statement]) -> None:
    """Insert statements; existing ones stay as they are. Those that the table refuses are logged."""
    try:
        async with connection.transaction():
            await connection.execute(INSERT, columns(map(storable, statements), len(Statement._fields)))
        return
    except (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.CardinalityViolation) as error:
        if len(statements) == 1:
            logger.warning("observation.refused", extra={"error": first_line(error)})
            return
    middle = len(statements) // 2
    await insert_observations(connection, statements[:middle])
    await insert_observations(connection, statements[middle:])
