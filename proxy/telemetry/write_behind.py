"""Rows on their way to tables of Postgres: taken at once, and written in the background soon after they came."""

import asyncio
import logging
from collections import deque
from typing import Any

import orjson
import psycopg
from django.db import connection
from django.db.models import Model

from memory.db.connections import Connection, first_line, open_connection
from memory.metrics import Counter

logger = logging.getLogger(__name__)

RETRY_S = 1.0
WRITE_S = 10.0
LAST_WRITE_S = 1.0  # at the end, when the supervisor waits
BATCH = 500  # rows a statement
WAITING_MAX = 5_000  # rows, of a few KB at most; the oldest go when Postgres is away for long
DROPPED = Counter("festinger_dropped_rows", "Rows about prompts that found no room or were refused", ["table"])

Row = dict[str, Any]  # by column; ``at`` in seconds since the epoch


def columns_of(model: type[Model]) -> dict[str, str]:
    """The columns that a row gives and their types, but for ``at``."""
    fields = [field for field in model._meta.concrete_fields if field.attname not in ("id", "at")]
    return {field.attname: str(field.db_type(connection)) for field in fields}


class RowQueue:
    """Rows that wait for the table of a model."""

    def __init__(self, model: type[Model], on_conflict: str = "DO NOTHING") -> None:
        self._dropped = DROPPED.labels(model._meta.db_table)
        self.rows: deque[Row] = deque()
        table, columns = model._meta.db_table, columns_of(model)
        names = ", ".join(columns)
        types = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        # A row may be written twice, where a write was cut off and nobody knows whether it was committed.
        self._insert = f"""
            INSERT INTO {table} ({names}, at)
            SELECT {names}, to_timestamp(at) FROM jsonb_to_recordset(%s::jsonb) AS row ({types}, at float8)
            ON CONFLICT {on_conflict}
        """

    def add(self, row: Row) -> None:
        self.rows.append(row)
        if len(self.rows) > WAITING_MAX:
            self.rows.popleft()
            self._dropped.inc()

    async def write(self, writer: Connection) -> None:
        """Raises psycopg.Error; what was not written goes on waiting."""
        while self.rows:
            batch = [self.rows.popleft() for _ in range(min(BATCH, len(self.rows)))]
            try:
                await self.prepare(batch)
                await writer.execute(self._insert, [orjson.dumps(batch).decode()])
            except (psycopg.DataError, psycopg.IntegrityError) as error:
                # Not put back: Postgres would refuse them again, and with them all that come later.
                self._dropped.inc(len(batch))
                logger.warning("rows.refused", extra={"rows": len(batch), "error": first_line(error)})
            except BaseException:
                self.rows.extendleft(reversed(batch))
                raise

    async def prepare(self, batch: list[Row]) -> None:
        """What is left to do about rows before they are written."""


class WriteBehind:
    """Writes what waits in its queues, in their order. ``name`` is how its connection shows in Postgres; ``gather_s``:
    what comes within so many seconds is written together."""

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
        """Call it on the event loop's thread. Never blocks."""
        queue.add(row)
        self._wanted.set()

    async def run(self) -> None:
        """Writes what comes, until it is cancelled."""
        while True:
            try:
                # Kept between writes: to connect takes longer than to write what one prompt leaves.
                async with open_connection(self._dsn, self._name) as writer:
                    while await self._wanted.wait():
                        await asyncio.sleep(self._gather_s)
                        await self._write(writer, WRITE_S)
            except (psycopg.Error, OSError) as error:
                # A Postgres that is away is no concern of this as long as nothing waits for it.
                if self.waiting:
                    self._log_failure(error)
            await asyncio.sleep(RETRY_S)

    async def write(self, within_s: float = WRITE_S) -> None:
        """Writes what waits over a connection of its own, as far as Postgres takes it in time. Never raises."""
        try:
            async with asyncio.timeout(within_s), open_connection(self._dsn, self._name) as writer:
                await self._write(writer, within_s)
        except (psycopg.Error, OSError) as error:
            self._log_failure(error)

    async def _write(self, writer: Connection, within_s: float) -> None:
        # One at a time: the last write of a server that stops waits until the one that was cut off has put its rows
        # back, or it would find nothing to write.
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
