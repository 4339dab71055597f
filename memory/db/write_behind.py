"""Queues rows for tables of Postgres, and writes them in the background soon after."""

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import orjson
import psycopg
from django.db import connection
from django.db.models import Model

from memory.db.connections import Connection, first_line, insert_in_parts, open_connection
from memory.metrics import Counter

logger = logging.getLogger(__name__)

RETRY_S = 1.0
WRITE_S = 10.0
IDLE_S = 60.0  # after this, the connection is closed until the next row comes
LAST_WRITE_S = 1.0  # at the end, when the supervisor waits
BATCH = 500  # rows a statement
WAITING_MAX = 5_000  # rows, of a few KB at most; the oldest are dropped when Postgres is away for long
DROPPED = Counter("festinger_dropped_rows", "Rows about prompts that found no room or were refused", ["table"])

Row = dict[str, Any]  # by column; ``at`` in seconds since the epoch


def columns_of(model: type[Model]) -> dict[str, str]:
    """Return the columns of a row and their types, except ``at``."""
    fields = [field for field in model._meta.concrete_fields if field.attname not in ("id", "at")]
    return {field.attname: str(field.db_type(connection)) for field in fields}


def insert_into(model: type[Model]) -> str:
    table, columns = model._meta.db_table, columns_of(model)
    names = ", ".join(columns)
    types = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    return f"""
        INSERT INTO {table} ({names}, at)
        SELECT {names}, to_timestamp(at) FROM jsonb_to_recordset(%s::jsonb) AS row ({types}, at float8)
        ON CONFLICT DO NOTHING
    """


class RowQueue:
    """Rows that wait for the table of a model. ``statement``: if they are not simply inserted, what takes them as one
    JSON array. A row may be written twice if a write was interrupted and it is not known whether it was committed."""

    def __init__(self, model: type[Model], statement: str = "") -> None:
        self._table = model._meta.db_table
        self._dropped = DROPPED.labels(self._table)
        self.rows: deque[Row] = deque()
        self._insert = statement or insert_into(model)

    def add(self, row: Row) -> None:
        self.rows.append(row)
        if len(self.rows) > WAITING_MAX:
            self.rows.popleft()
            self._dropped.inc()

    async def write(self, writer: Connection) -> None:
        """Write all rows. Raises psycopg.Error; rows that were not written stay in the queue."""
        while self.rows:
            batch = [self.rows.popleft() for _ in range(min(BATCH, len(self.rows)))]
            try:
                await self.prepare(batch)
                # What is refused is not put back: it would be refused again, and all later rows with it.
                _, refused = await insert_in_parts(batch, partial(self._execute, writer), self._table)
                self._dropped.inc(refused)
            except BaseException:
                self.rows.extendleft(reversed(batch))
                raise

    async def _execute(self, writer: Connection, batch: Sequence[Row]) -> None:
        await writer.execute(self._insert, [orjson.dumps(batch).decode()])

    async def prepare(self, batch: list[Row]) -> None:
        """Finish the rows before they are written."""


class WriteBehind:
    """Writes the rows in its queues, in the order of the queues. ``name`` is the name of its connection in Postgres;
    rows that come within ``gather_s`` seconds are written together."""

    def __init__(self, dsn: str, name: str, gather_s: float, *queues: RowQueue) -> None:
        self._dsn = dsn
        self._name = name
        self._gather_s = gather_s
        self._queues = queues
        self._wanted = asyncio.Event()
        self._writing = asyncio.Lock()

    @property
    def waiting(self) -> int:
        return sum(len(queue.rows) for queue in self._queues)

    def put(self, queue: RowQueue, row: Row) -> None:
        """Queue a row. Call it on the event loop's thread; it never blocks."""
        queue.add(row)
        self._wanted.set()

    async def run(self) -> None:
        """Write rows as they come, until cancelled."""
        while await self._wanted.wait():
            try:
                # Kept between writes: connecting takes longer than writing the rows of one prompt.
                async with open_connection(self._dsn, self._name) as writer:
                    while self._wanted.is_set():
                        await asyncio.sleep(self._gather_s)
                        await self._write(writer, WRITE_S)
                        with suppress(TimeoutError):
                            await asyncio.wait_for(self._wanted.wait(), IDLE_S)
            except (psycopg.Error, OSError) as error:
                self._log_failure(error)
                await asyncio.sleep(RETRY_S)

    async def write(self, within_s: float = WRITE_S) -> None:
        """Write the waiting rows over a separate connection, as far as Postgres takes them in time. Never raises."""
        try:
            async with asyncio.timeout(within_s), open_connection(self._dsn, self._name) as writer:
                await self._write(writer, within_s)
        except (psycopg.Error, OSError) as error:
            self._log_failure(error)

    async def _write(self, writer: Connection, within_s: float) -> None:
        # One at a time: when a server stops, its last write waits until the interrupted one has put its rows back.
        # Otherwise it would find nothing to write.
        async with asyncio.timeout(within_s), self._writing:
            self._wanted.clear()
            try:
                for queue in self._queues:
                    await queue.write(writer)
            finally:
                if self.waiting:
                    self._wanted.set()

    def _log_failure(self, error: Exception) -> None:
        logger.warning(f"{self._name}.not_written", extra={"waiting": self.waiting, "error": first_line(error)})
