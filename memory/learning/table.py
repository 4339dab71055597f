"""Writes statements to the table ``observation``, over one connection that is kept open."""

import asyncio
import logging
import os
import socket
from collections.abc import Sequence
from contextlib import AsyncExitStack, suppress
from typing import NamedTuple

import psycopg

from memory.db.connections import PAST, Connection, columns, first_line, open_connection
from memory.domain.statement import Statement

logger = logging.getLogger(__name__)

WRITE_S = 10.0  # for one batch, before we give up on a Postgres that hangs
HANG_UP_S = 0.5  # for libpq to notice that its connection is gone

INSERT = f"""
    INSERT INTO observation
        (kind, digest, concept, parent, dimension, is_isa, confidence, role, agent, said_at, evidence, channel,
         says, is_hedged, instead_of)
    SELECT 'triple', key, subject, parent, dimension, is_isa, confidence, role, agent,
        {PAST.format("at")}, evidence, channel, says, is_hedged, instead_of
    FROM unnest(
        %s::bytea[], %s::text[], %s::text[], %s::text[], %s::bool[], %s::float8[], %s::text[], %s::text[],
        %s::float8[], %s::text[], %s::text[], %s::text[], %s::bool[], %s::text[]
    ) AS said
        (key, subject, parent, dimension, is_isa, confidence, role, agent, at, evidence, channel, says, is_hedged,
         instead_of)
    ON CONFLICT DO NOTHING
"""


class Stored(NamedTuple):
    """How many statements of a batch are new in the table, and how many it will never take."""

    new: int = 0
    refused: int = 0


class ObservationTable:
    """One batch at a time. The connection is opened when it is needed, and anew when it was lost."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._connection: Connection | None = None
        self._lifetime = AsyncExitStack()

    async def insert(self, batch: Sequence[Statement]) -> Stored:
        """Statements that are there already stay as they are; what the table refuses is logged and left out. None at
        all tell whether it takes any.

        Raises psycopg.Error or OSError where Postgres takes nothing now, or not in time. It may have taken some."""
        work = asyncio.create_task(self._insert(batch))
        try:
            await asyncio.wait({work}, timeout=WRITE_S)
            if not work.done():
                raise TimeoutError(f"no answer within {WRITE_S:g} s")
        finally:
            await self._end(work)
        return work.result()

    async def close(self) -> None:
        self._connection = None
        with suppress(psycopg.Error, OSError):
            await self._lifetime.aclose()

    async def _insert(self, batch: Sequence[Statement]) -> Stored:
        try:
            if self._connection is None:
                self._connection = await self._lifetime.enter_async_context(open_connection(self._dsn, "observations"))
            return await insert(self._connection, batch)
        except BaseException:
            await self.close()
            raise

    async def _end(self, work: asyncio.Task[Stored]) -> None:
        """Ends a write that takes too long."""
        if work.done():
            return
        # Cancelling alone would make psycopg roll back first, and so wait for the very Postgres that hangs. With the
        # line cut, what waits for an answer on it fails at once.
        if self._connection is not None:
            with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(self._connection.fileno())) as line:
                line.shutdown(socket.SHUT_RDWR)
            await asyncio.wait({work}, timeout=HANG_UP_S)
        work.cancel()
        await asyncio.wait({work})


async def insert(connection: Connection, batch: Sequence[Statement]) -> Stored:
    """Inserts the batch. If Postgres refuses it, it is halved until the bad statements are found."""
    # No transaction around the halves: each statement commits by itself, and what was taken stays.
    try:
        cursor = await connection.execute(INSERT, columns(batch, len(Statement._fields)))
        return Stored(new=cursor.rowcount)
    except (psycopg.DataError, psycopg.IntegrityError) as error:
        if len(batch) == 1:
            logger.warning("observation.refused", extra={"error": first_line(error)})
            return Stored(refused=1)
    middle = len(batch) // 2
    first, second = await insert(connection, batch[:middle]), await insert(connection, batch[middle:])
    return Stored(first.new + second.new, first.refused + second.refused)
