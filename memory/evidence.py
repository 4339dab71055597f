"""Keeps the sentences that name a concept: what a language model is shown when it is asked what the concept is."""

import asyncio
import logging
from collections.abc import Iterable

import psycopg

from memory.cache import Cache
from memory.database import Connection
from memory.domain.evidence import sentences_naming
from memory.domain.messages import Message
from memory.encounters import Heard
from memory.loading import Pace
from memory.reading import what_is_said

logger = logging.getLogger(__name__)

KEPT = 5  # sentences of a concept, the newest
NAMES_MAX = 300  # of one message
LONG_TEXT = 8_000  # characters: some 2 ms, for which the event loop may stand still
# Not the model's own words: what it makes up would explain itself.
SPEAKERS = frozenset({"user", "system", "tool"})

KEEP = """
    INSERT INTO evidence (concept_id, sentence, role, agent, said_at)
    SELECT soas.id, said.sentence, said.role, said.agent, to_timestamp(said.at)
    FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::float8[]) AS said (token, sentence, role, agent, at)
    JOIN soas USING (token)
    ORDER BY soas.id
    ON CONFLICT (concept_id, sentence) DO UPDATE SET said_at = greatest(evidence.said_at, excluded.said_at)
    RETURNING concept_id
"""
TRIM = """
    DELETE FROM evidence USING (
        SELECT id, row_number() OVER (PARTITION BY concept_id ORDER BY said_at DESC, id DESC) AS place
        FROM evidence WHERE concept_id = ANY(%s)
    ) AS ranked
    WHERE evidence.id = ranked.id AND place > %s
"""


async def keep(connection: Connection, cache: Cache, new: Iterable[Heard]) -> None:
    """Stores the sentences in which new messages name concepts. What goes wrong here costs only evidence."""
    pace = Pace()
    for message in new:
        try:
            await _keep(connection, cache, message)
        except (psycopg.IntegrityError, psycopg.DataError):
            logger.exception("evidence.refused")
        await pace.step()


async def _keep(connection: Connection, cache: Cache, message: Heard) -> None:
    said = what_is_said(Message(message.reading.role, message.text))
    if said.role not in SPEAKERS or not said.text:
        return
    names = worth_explaining(cache, message)
    if len(said.text) > LONG_TEXT:
        sentences = await asyncio.to_thread(sentences_naming, said.text, names)
    else:
        sentences = sentences_naming(said.text, names)
    if not sentences:
        return
    speaker = [[value] * len(sentences) for value in (said.role, message.agent, message.at)]
    async with connection.transaction():
        cursor = await connection.execute(KEEP, [list(sentences), list(sentences.values()), *speaker])
        concepts = sorted({concept for (concept,) in await cursor.fetchall()})
        await connection.execute(TRIM, [concepts, KEPT])


def worth_explaining(cache: Cache, message: Heard) -> list[str]:
    """The distinctive words of the message that nobody muted."""
    rows = cache.soas_by_token
    names = (name for name in sorted(message.reading.names - message.reading.parts) if name in rows)
    return [name for name in names if not rows[name].is_common and not rows[name].is_muted][:NAMES_MAX]
