"""What each request was given, for ``/why``: remembered at once, written to Postgres off the hot path."""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from typing import Any

import orjson
import psycopg

from memory.database import connected, first_line

logger = logging.getLogger(__name__)

INTERVAL_S = 0.5
WRITE_S = 10.0
LAST_WRITE_S = 1.0
BATCH = 500  # rows a statement
WAITING_MAX = 5_000  # events, of a few KB at most; the oldest go when Postgres is away for long
REASONS_MAX = 100
NEWEST_KEPT = 100  # events that are answered from memory, written or not

COLUMNS = "request, agent, model, wire, block, reasons, reasons_left_out, unread_characters, enrich_ms, at"
TYPES = (
    "request text, agent text, model text, wire text, block text, reasons jsonb, reasons_left_out int,"
    " unread_characters int, enrich_ms float8, at float8"
)
WRITE = f"""
    INSERT INTO recollection_event ({COLUMNS})
    SELECT {COLUMNS.removesuffix("at")} to_timestamp(at) FROM jsonb_to_recordset(%s::jsonb) AS event ({TYPES})
    ON CONFLICT DO NOTHING
"""
FIND = f"""
    SELECT {COLUMNS.removesuffix("at")} extract(epoch FROM at)::float8 FROM recollection_event WHERE request = %s
"""

Event = dict[str, Any]  # by the names of COLUMNS; ``at`` in seconds since the epoch


class Events:
    def __init__(self, dsn: str) -> None:
        self.dropped = 0
        self._dsn = dsn
        self._waiting: deque[Event] = deque()
        self._newest: deque[Event] = deque(maxlen=NEWEST_KEPT)
        self._wanted = asyncio.Event()
        self._writing = asyncio.Lock()

    def add(self, event: Event) -> None:
        self._newest.append(event)
        self._waiting.append(event)
        if len(self._waiting) > WAITING_MAX:
            self._waiting.popleft()
            self.dropped += 1
        self._wanted.set()

    async def find(self, request: str) -> Event | None:
        """The event of one request, whichever process had it; None for one that is unknown, or too old.

        Raises psycopg.Error or TimeoutError where Postgres cannot say."""
        for event in (*self._newest, *self._waiting):
            if event["request"] == request:
                return dict(event)
        async with asyncio.timeout(WRITE_S), connected(self._dsn, "why") as connection:
            for wait_s in (0, INTERVAL_S / 2, INTERVAL_S):  # the process that had it may be about to write it
                await asyncio.sleep(wait_s)
                cursor = await connection.execute(FIND, [request])
                if row := await cursor.fetchone():
                    return dict(zip(COLUMNS.split(", "), row, strict=True))
        return None

    async def run(self) -> None:
        while True:
            await self._wanted.wait()
            await asyncio.sleep(INTERVAL_S)
            await asyncio.shield(self.write())

    async def write(self) -> None:
        """Writes what waits, or keeps it when Postgres is away. Never raises."""
        async with self._writing:
            self._wanted.clear()
            if self._waiting:
                await self._try_to_write()

    async def _try_to_write(self) -> None:
        try:
            async with asyncio.timeout(WRITE_S), connected(self._dsn, "events") as connection:
                while self._waiting:
                    await self._write_batch(connection)
        except (psycopg.Error, OSError) as error:
            logger.warning("events.not_written", extra={"waiting": len(self._waiting), "error": first_line(error)})
            self._wanted.set()

    async def write_last(self) -> None:
        await asyncio.wait([asyncio.create_task(self.write())], timeout=LAST_WRITE_S)

    async def _write_batch(self, connection: psycopg.AsyncConnection[Any]) -> None:
        """What Postgres refuses is dropped: it would be refused again."""
        batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
        try:
            await connection.execute(WRITE, [orjson.dumps(batch).decode()])
        except (psycopg.DataError, psycopg.IntegrityError) as error:
            self.dropped += len(batch)
            logger.warning("events.refused", extra={"events": len(batch), "error": first_line(error)})
        except BaseException:
            self._waiting.extendleft(reversed(batch))
            raise


def shortened(reasons: Mapping[str, str]) -> tuple[dict[str, str], int]:
    """The reasons that are kept, those of what was shown first, and how many are not."""
    if len(reasons) <= REASONS_MAX:
        return dict(reasons), 0
    in_order = sorted(reasons, key=lambda concept: (reasons[concept] not in ("recalled", "asked"), concept))
    return {concept: reasons[concept] for concept in in_order[:REASONS_MAX]}, len(reasons) - REASONS_MAX
