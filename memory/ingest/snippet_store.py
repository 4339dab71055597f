"""Keeps the sentences that name a concept: what a language model is shown when it is asked what the concept is."""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import psycopg

from memory.cache.loader import Pace
from memory.cache.state import Cache
from memory.db.connections import Connection, chunks, columns
from memory.domain.messages import Message
from memory.domain.recall.saliency import is_salient
from memory.domain.text.snippets import sentences_naming
from memory.ingest.extraction import Heard
from memory.ingest.reader import what_is_said

logger = logging.getLogger(__name__)

KEPT = 5  # sentences of a concept, the newest
NAMES_MAX = 40  # of one message: each costs some 50 microseconds
ROWS_A_STATEMENT = 1_000
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


class Said(NamedTuple):
    """A sentence that names a concept. ``at``: seconds since the epoch."""

    concept: str
    sentence: str
    role: str
    agent: str
    at: float


async def keep(connection: Connection, cache: Cache, new: Iterable[Heard]) -> None:
    """Stores the newest sentences in which new messages name concepts. What goes wrong here costs only evidence."""
    found = await collect(cache, new)
    for some in chunks(found, ROWS_A_STATEMENT):
        try:
            await write(connection, some)
        except (psycopg.IntegrityError, psycopg.DataError):
            logger.exception("evidence.refused")


async def collect(cache: Cache, new: Iterable[Heard]) -> list[Said]:
    """At most ``KEPT`` different sentences of a concept, the newest first."""
    found: dict[tuple[str, str], Said] = {}
    counts: Counter[str] = Counter()
    pace = Pace()
    for message in sorted(new, key=lambda message: message.at, reverse=True):
        names = [name for name in worth_explaining(cache, message) if counts[name] < KEPT]
        for name, sentence in (await sentences_of(message, names)).items():
            key = (name, sentence)
            if key not in found:
                found[key] = Said(name, sentence, message.reading.role, message.agent, message.at)
                counts[name] += 1
        await pace.step()
    return list(found.values())


def worth_explaining(cache: Cache, message: Heard) -> list[str]:
    """The salient words of the message that nobody muted, those without facts first. Others are met again before
    anybody asks about them."""
    if message.reading.role not in SPEAKERS or not message.text:
        return []
    threshold, rows = cache.tuning.saliency_read_threshold, cache.soas_by_token
    names = ((name, rows.get(name)) for name in sorted(message.reading.names - message.reading.parts))
    salient = (name for name, row in names if row and is_salient(row, threshold) and not row.is_common)
    return sorted(salient, key=lambda name: rows[name].id in cache.urd_by_concept)[:NAMES_MAX]


async def sentences_of(message: Heard, names: list[str]) -> dict[str, str]:
    if not names:
        return {}
    text = what_is_said(Message(message.reading.role, message.text)).text
    if len(text) > LONG_TEXT:
        return await asyncio.to_thread(sentences_naming, text, names)
    return sentences_naming(text, names)


async def write(connection: Connection, said: list[Said]) -> None:
    async with connection.transaction():
        cursor = await connection.execute(KEEP, columns(said, 5))
        concepts = sorted({concept for (concept,) in await cursor.fetchall()})
        await connection.execute(TRIM, [concepts, KEPT])
