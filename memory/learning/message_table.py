"""Writes new messages to the tables ``heard_message`` and ``episode``, over one connection that is kept open."""

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple

import orjson
import psycopg

from memory.db.connections import PAST, Connection, KeptConnection, columns, insert_in_parts
from memory.learning.messages import AGAIN_S, NewMessage
from memory.learning.setting_aside import ForgetOrder, run_on, set_aside
from memory.search.lexemes import LEXEMES
from memory.search.vectors.schema import write_vector

logger = logging.getLogger(__name__)

# Returns, for what a message says itself, the vector that it was searched with, and the id of its embedder.
FindVector = Callable[[str], tuple[int, Sequence[float]] | None]

WRITE_S: Final = 10.0  # per batch, timeout for a Postgres that hangs
HANG_UP_S: Final = 0.5  # for libpq to notice that its connection is gone

# A message that was seen teaches nothing again. Not kept as episodes: those that exist, those that were forgotten, and
# those that were in a conversation before keeping was requested.
INSERT: Final = f"""
    WITH said AS MATERIALIZED (
        SELECT row_number() OVER () AS number, decode(digest, 'hex') AS digest, decode(key, 'hex') AS key, agent,
            speaker, person, project, role, text, at, voice, is_dated, is_kept, episode, quoted, unsure, is_fiction,
            own, passed_on, episode_at, ends_request, nullif(decode(place, 'hex'), '') AS place, request,
            EXISTS (
                SELECT FROM seen_message seen WHERE seen.digest = decode(key, 'hex')
                    AND NOT (ends_request AND seen.last_seen < to_timestamp(at) - interval '{AGAIN_S} seconds')
            ) AS is_seen
        FROM jsonb_to_recordset(%s::jsonb) AS row (
            digest text, key text, agent text, speaker text, person text, project int8, role text, text text,
            at float8, voice text, is_dated bool, is_kept bool, episode text, quoted text, unsure text, is_fiction bool,
            own text, passed_on text, episode_at float8, place text, request text,
            ends_request bool
        )
    ), kept AS (
        INSERT INTO episode (digest, conversation, agent, person, project_id, role, text, quoted, unsure, is_fiction,
            lexemes, said_at, place)
        SELECT digest, substr(key, 1, 16), speaker, person, project, role, episode, quoted::int[], unsure::int[],
            is_fiction, {LEXEMES}, {PAST.format("episode_at")}, place
        FROM said
        WHERE episode IS NOT NULL
            AND NOT EXISTS (SELECT FROM said same WHERE same.digest = said.digest AND same.number < said.number)
            AND (ends_request OR NOT EXISTS (SELECT FROM episode one WHERE one.digest = said.digest))
            AND NOT EXISTS (SELECT FROM forgotten_episode gone WHERE gone.digest = said.digest)
            AND (is_dated OR NOT (is_seen OR EXISTS (SELECT FROM heard_message heard WHERE heard.key = said.key)))
        ORDER BY number
        -- Said again: it is as new as then, and read again for what it asks to remember.
        ON CONFLICT (digest) DO UPDATE SET said_at = excluded.said_at, read_at = NULL, attempts = 0,
            set_aside_at = NULL, set_aside_by_id = NULL
        WHERE excluded.said_at > coalesce(episode.set_aside_at, episode.said_at + interval '{AGAIN_S} seconds')
        RETURNING role
    ), heard AS (
        INSERT INTO heard_message
            (digest, key, agent, speaker, person, project_id, role, text, said_at, voice, is_dated, is_kept,
            request, ends_request)
        SELECT digest, key, agent, speaker, person, project, role, text, {PAST.format("at")}, voice, is_dated,
            is_kept, request, ends_request
        FROM said WHERE NOT is_seen ORDER BY number
        ON CONFLICT (digest) DO NOTHING RETURNING id
    )
    SELECT (SELECT count(*) FROM heard), (SELECT count(*) FROM kept), (SELECT count(*) FROM kept WHERE role = 'user')
"""
# A prompt's search vector need not be computed again, and the message is found at once.
STORE_VECTORS: Final = """
    WITH made AS (
        SELECT episode.id, embedder, vector
        FROM unnest(%s::bytea[], %s::int8[], %s::text[]) AS made (digest, embedder, vector) JOIN episode USING (digest)
    ), stored AS (
        INSERT INTO episode_vector (id, embedder_id, vector) SELECT id, embedder, vector::halfvec FROM made
        ON CONFLICT DO NOTHING
    )
    DELETE FROM pending_embedding USING made WHERE kind = 'episode' AND row = made.id
"""


class Stored(NamedTuple):
    """Counts for a batch: messages that are new in the table, messages that it will never take, messages kept as
    episodes, and those of them that are users'."""

    new: int = 0
    refused: int = 0
    episodes: int = 0
    of_users: int = 0

    @property
    def needs_worker(self) -> bool:
        return bool(self.new or self.of_users)

    def __add__(self, other: "Stored") -> "Stored":  # type: ignore[override]  # not the tuple's: counts add up
        return Stored(*(mine + theirs for mine, theirs in zip(self, other, strict=True)))


class MessageTable:
    """Inserts one batch at a time. The connection is opened on demand, and again after it was lost."""

    def __init__(self, dsn: str, find_vector: FindVector = lambda text: None) -> None:
        self.connection = KeptConnection(dsn, "messages")
        self._find_vector = find_vector

    async def insert(self, batch: Sequence[NewMessage]) -> Stored:
        """Insert a batch. Existing messages stay as they are; what the tables refuse is logged and left out. An empty
        batch tests whether they accept any.

        Raises psycopg.Error or OSError if Postgres takes nothing now, or not in time. It may have taken some."""
        work = asyncio.create_task(self._insert(batch))
        try:
            await asyncio.wait({work}, timeout=WRITE_S)
            if not work.done():
                raise TimeoutError(f"no answer within {WRITE_S:g} s")
        finally:
            await self._end(work)
        return work.result()

    async def set_aside(self, order: ForgetOrder) -> Stored:
        """Carry out a request to forget; workers do the rest. Raises psycopg.Error or OSError."""
        try:
            async with asyncio.timeout(WRITE_S):
                await run_on(await self.connection.get(), set_aside(order))
        except BaseException:
            await self.connection.close()
            raise
        return Stored(new=1)

    async def _insert(self, batch: Sequence[NewMessage]) -> Stored:
        # In a thread: streams must not wait for a long message.
        rows, failed = await asyncio.to_thread(compose_rows, batch)
        try:
            connection = await self.connection.get()
            parts, refused = await insert_in_parts(rows, partial(_insert_rows, connection), "heard_message")
            stored = sum(parts, Stored(refused=failed + refused))
            if stored.of_users:
                await self._store_vectors(connection, rows)
            return stored
        except BaseException:
            await self.connection.close()
            raise

    async def _store_vectors(self, connection: Connection, rows: Sequence[dict[str, Any]]) -> None:
        found = []
        for row in rows:
            made = self._find_vector(row.get("own", "").strip()) if row["role"] == "user" else None
            if made is not None:
                embedder, vector = made
                found.append((bytes.fromhex(row["digest"]), embedder, write_vector(vector)))
        if found:
            # If they cannot be stored, a worker makes them.
            with suppress(psycopg.DataError, psycopg.IntegrityError, psycopg.ProgrammingError):
                await connection.execute(STORE_VECTORS, columns(found, 3))

    async def _end(self, work: asyncio.Task[Stored]) -> None:
        """End a write that takes too long."""
        if work.done():
            return
        # Cancelling alone would make psycopg roll back first, and so wait for the very Postgres that hangs. Once the
        # socket is shut down, everything that waits on it fails at once.
        if (opened := self.connection.opened) is not None:
            with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(opened.fileno())) as line:
                line.shutdown(socket.SHUT_RDWR)
            await asyncio.wait({work}, timeout=HANG_UP_S)
        work.cancel()
        await asyncio.wait({work})


def compose_rows(batch: Sequence[NewMessage]) -> tuple[list[dict[str, Any]], int]:
    """Return the rows, and how many messages none could be made of."""
    rows, failed = [], 0
    for heard in batch:
        try:
            rows.append(heard.to_row())
        except Exception:  # one bad message must not keep the others from being stored
            failed += 1
            logger.exception("message.failed")
    return rows, failed


async def _insert_rows(connection: Connection, rows: Sequence[dict[str, Any]]) -> Stored:
    cursor = await connection.execute(INSERT, [orjson.dumps(rows).decode()])
    new, episodes, of_users = await cursor.fetchone() or (0, 0, 0)
    return Stored(new, 0, episodes, of_users)
