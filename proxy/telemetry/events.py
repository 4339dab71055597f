"""What was done to each prompt, for ``/why``: what it was given, and what was done about a loop. Remembered at once,
written to Postgres off the hot path."""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import orjson
import psycopg

from memory.db.connections import Connection, first_line, open_connection
from memory.domain.text.redaction import mask_secrets
from proxy.domain.loops.mitigations import EXCERPTS_MAX, Intervention, cut_excerpt
from proxy.domain.loops.repeating_tail import TailLoop
from proxy.telemetry import prompt_texts

logger = logging.getLogger(__name__)

INTERVAL_S = 0.5
WRITE_S = 10.0
LAST_WRITE_S = 1.0
BATCH = 500  # rows a statement
WAITING_MAX = 5_000  # events, of a few KB at most; the oldest go when Postgres is away for long
REASONS_MAX = 100
NEWEST_KEPT = 100  # events that are answered from memory, written or not
MASKED_CHARACTERS = 2_000  # of what is repeated: more than an excerpt shows, so that no secret is cut in two

# The columns of each table and their types, but for ``at``.
RECOLLECTION = {
    "request": "text",
    "agent": "text",
    "model": "text",
    "wire": "text",
    "block": "text",
    "reasons": "jsonb",
    "reasons_left_out": "int",
    "unread_characters": "int",
    "enrich_ms": "float8",
    "prompt_text": "text",
}
LOOP = {
    "request": "text",
    "agent": "text",
    "model": "text",
    "wire": "text",
    "kind": "text",
    "count": "int",
    "period": "int",
    "steps": "text[]",
    "repeated": "text[]",
}
LOOP_SHOWN = ("kind", "count", "period", "steps", "repeated")
SHOWN = tuple(column for column in RECOLLECTION if column != "prompt_text")  # that is for operators only
FIND = f"SELECT {', '.join(SHOWN)}, extract(epoch FROM at)::float8 FROM recollection_event WHERE request = %s"
FIND_LOOPS = f"SELECT {', '.join(LOOP_SHOWN)} FROM loop_event WHERE request = %s ORDER BY at, id"

EventRow = dict[str, Any]  # by column; ``at`` in seconds since the epoch


class WriteBehind:
    """Rows on their way to a table. ``columns``: names and types, but for ``at``."""

    def __init__(self, table: str, columns: Mapping[str, str]) -> None:
        self.dropped = 0
        names = ", ".join(columns)
        types = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        self._insert = f"""
            INSERT INTO {table} ({names}, at)
            SELECT {names}, to_timestamp(at) FROM jsonb_to_recordset(%s::jsonb) AS row ({types}, at float8)
            ON CONFLICT DO NOTHING
        """
        self._rows: deque[EventRow] = deque()

    def __len__(self) -> int:
        return len(self._rows)

    def add(self, row: EventRow) -> None:
        self._rows.append(row)
        if len(self._rows) > WAITING_MAX:
            self._rows.popleft()
            self.dropped += 1

    async def write(self, connection: Connection) -> None:
        """Raises psycopg.Error; what was not written goes on waiting."""
        while self._rows:
            await self._write_batch(connection)

    async def _write_batch(self, connection: Connection) -> None:
        """What Postgres refuses is dropped: it would be refused again."""
        batch = [self._rows.popleft() for _ in range(min(BATCH, len(self._rows)))]
        try:
            await self._prepare(batch)
            await connection.execute(self._insert, [orjson.dumps(batch).decode()])
        except (psycopg.DataError, psycopg.IntegrityError) as error:
            self.dropped += len(batch)
            logger.warning("events.refused", extra={"events": len(batch), "error": first_line(error)})
        except BaseException:
            self._rows.extendleft(reversed(batch))
            raise

    async def _prepare(self, batch: Sequence[EventRow]) -> None:
        """What is left to do about rows before they are written."""


class RequestRows(WriteBehind):
    """Rows about requests; the newest stay known when they are written."""

    def __init__(self, table: str, columns: Mapping[str, str]) -> None:
        super().__init__(table, columns)
        self._newest: deque[EventRow] = deque(maxlen=NEWEST_KEPT)

    def add(self, row: EventRow) -> None:
        super().add(row)
        self._newest.append(row)

    def of(self, request: str) -> list[EventRow]:
        """The oldest first."""
        known = {id(row): row for row in (*self._rows, *self._newest) if row["request"] == request}
        return sorted(known.values(), key=itemgetter("at"))


class Recollections(RequestRows):
    async def _prepare(self, batch: Sequence[EventRow]) -> None:
        """What was ``said``, where that is to be kept, is masked here, off the hot path. Streams go on in between."""
        for event in batch:
            said = event.pop("said", "")
            event.setdefault("prompt_text", prompt_texts.mask_text(said) if said else "")
            if said:
                await asyncio.sleep(0)


class Events:
    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._recollections = Recollections("recollection_event", RECOLLECTION)
        self._loops = RequestRows("loop_event", LOOP)
        self._wanted = asyncio.Event()
        self._writing = asyncio.Lock()

    @property
    def waiting(self) -> int:
        return len(self._recollections) + len(self._loops)

    @property
    def dropped(self) -> int:
        return self._recollections.dropped + self._loops.dropped

    def add(self, event: EventRow) -> None:
        """What one request was given. Of what it ``said``, if that is there, the writer keeps what may be kept."""
        self._recollections.add(event)
        self._wanted.set()

    def loop_met(self, met: Intervention, *, request: str, agent: str, model: str, wire: str, at: float) -> None:
        """What was done about a loop of the model that is asked."""
        asked = {"request": request, "agent": agent, "model": model, "wire": wire, "at": at}
        loop = {"kind": met.loop.kind, "count": met.loop.count, "period": met.loop.period, "steps": list(met.steps)}
        self._add_loop(asked, loop, met.loop.repeated)

    def tail_met(self, met: TailLoop, *, request: str, agent: str, model: str, wire: str, at: float) -> None:
        """A running answer was ended, because its tail repeats."""
        asked = {"request": request, "agent": agent, "model": model, "wire": wire, "at": at}
        self._add_loop(asked, {"kind": "tail", "count": met.count, "period": 1, "steps": ["stop"]}, (met.repeated,))

    def _add_loop(self, asked: EventRow, loop: EventRow, repeated: Sequence[str]) -> None:
        logger.warning("loop.met", extra={"request": asked["request"], "agent": asked["agent"], **loop})
        self._loops.add(asked | loop | {"repeated": [mask_excerpt(text) for text in repeated[:EXCERPTS_MAX]]})
        self._wanted.set()

    async def find(self, request: str) -> EventRow | None:
        """The event of one request, whichever process had it, and what was done about ``loops`` in it; None for one
        that is unknown, or too old.

        Raises psycopg.Error or TimeoutError where Postgres cannot say."""
        if known := self._recollections.of(request):
            told = {column: known[0][column] for column in (*SHOWN, "at")}
            return told | {"loops": [loop_shown(loop) for loop in self._loops.of(request)]}
        async with asyncio.timeout(WRITE_S), open_connection(self._dsn, "why") as connection:
            for wait_s in (0, INTERVAL_S / 2, INTERVAL_S):  # the process that had it may be about to write it
                await asyncio.sleep(wait_s)
                cursor = await connection.execute(FIND, [request])
                if row := await cursor.fetchone():
                    found = dict(zip((*SHOWN, "at"), row, strict=True))
                    return found | {"loops": await read_loops(connection, request)}
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
            if self.waiting:
                await self._try_to_write()

    async def _try_to_write(self) -> None:
        try:
            async with asyncio.timeout(WRITE_S), open_connection(self._dsn, "events") as connection:
                await self._loops.write(connection)  # first: whoever finds the other event asks for these, too
                await self._recollections.write(connection)
        except (psycopg.Error, OSError) as error:
            logger.warning("events.not_written", extra={"waiting": self.waiting, "error": first_line(error)})
            self._wanted.set()

    async def write_last(self) -> None:
        await asyncio.wait([asyncio.create_task(self.write())], timeout=LAST_WRITE_S)


async def read_loops(connection: Connection, request: str) -> list[EventRow]:
    rows = await (await connection.execute(FIND_LOOPS, [request])).fetchall()
    return [dict(zip(LOOP_SHOWN, row, strict=True)) for row in rows]


def loop_shown(event: EventRow) -> EventRow:
    return {column: event[column] for column in LOOP_SHOWN}


def mask_excerpt(text: str) -> str:
    """What is stored of a repeated text: its beginning, without secrets."""
    return cut_excerpt(mask_secrets(text[:MASKED_CHARACTERS]))


def shorten_reasons(reasons: Mapping[str, str]) -> tuple[dict[str, str], int]:
    """The reasons that are kept, those of what was shown first, and how many are not."""
    if len(reasons) <= REASONS_MAX:
        return dict(reasons), 0
    in_order = sorted(reasons, key=lambda concept: (reasons[concept] not in ("recalled", "asked"), concept))
    return {concept: reasons[concept] for concept in in_order[:REASONS_MAX]}, len(reasons) - REASONS_MAX
