"""Keeps a cache in step with Postgres: a full load, then the changes that triggers announce.

Payloads on the channel ``festinger`` (memory/migrations/0002): ``<table>:<key>,<key>...`` names rows,
``reload:<table>`` a whole table, ``reload:*`` everything, ``barrier:<id>`` a waiting caller.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from uuid import uuid4

import psycopg
from psycopg.conninfo import make_conninfo
from psycopg.rows import TupleRow

from memory import config
from memory.cache import AgentRow, Cache
from memory.domain.rows import SoasRow, UrdEdge

logger = logging.getLogger(__name__)

CHANNEL = "festinger"
# A connection that died without a word is noticed within half a minute.
KEEPALIVES = {"keepalives_idle": 15, "keepalives_interval": 5, "keepalives_count": 3}
APPLICATION_NAME = "festinger coherence"  # how the connection shows in pg_stat_activity
BATCH_ROWS = 2_000  # between two batches other tasks of the event loop run
RECONNECT_S = (0.1, 0.5, 1.0, 2.0, 5.0)
BARRIER_S = 2.0

Connection = psycopg.AsyncConnection[TupleRow]

SOAS = """
    SELECT id, token, encounter_count, saliency, novelty, is_common, is_muted,
           extract(epoch FROM last_seen)::float8, asked_count, extract(epoch FROM asked_at)::float8
    FROM soas WHERE true
"""
URD = """
    SELECT id, parent_id, dim_id, is_isa, confidence, source, extract(epoch FROM last_confirmed)::float8
    FROM urd WHERE true
"""
QUEUE = "SELECT DISTINCT concept_id, dim_id FROM resolution_queue WHERE status IN ('pending', 'proposed')"
SUPERSEDING = "SELECT id FROM dimension WHERE on_collision = 'supersede'"
CONFIG = "SELECT key, value FROM config"
AGENTS = "SELECT token_hash, name, scope FROM agent"


class Coherence:
    """One listening connection. ``run`` never ends by itself: a lost connection is opened again, and
    everything loaded anew, because what was announced meanwhile is lost."""

    def __init__(self, cache: Cache, dsn: str) -> None:
        self.cache = cache
        self.is_listening = False
        self._dsn = dsn
        self._barriers: dict[str, asyncio.Event] = {}
        self._loaded = asyncio.Event()

    async def wait_loaded(self) -> None:
        await self._loaded.wait()

    async def run(self) -> None:
        failures = 0
        while True:
            try:
                async with self._listening() as connection:
                    failures = 0
                    await self._follow(connection)
            except (psycopg.Error, OSError) as error:
                logger.warning("coherence.lost", extra={"error": _first_line(error)})
            except Exception:  # whatever was announced: a cache that follows no more would go stale in silence
                logger.exception("coherence.failed")
            await asyncio.sleep(RECONNECT_S[min(failures, len(RECONNECT_S) - 1)])
            failures += 1

    @asynccontextmanager
    async def barrier(self, announce: Callable[[str], Awaitable[None]]) -> AsyncIterator[None]:
        """Leaves the block only when this cache holds all that was committed in it. ``announce`` sends a
        payload to the channel after the block's last commit. Gives up after ``BARRIER_S`` seconds."""
        key = uuid4().hex
        self._barriers[key] = asyncio.Event()
        try:
            yield
            await announce(f"barrier:{key}")
            try:
                await asyncio.wait_for(self._barriers[key].wait(), BARRIER_S)
            except TimeoutError:
                logger.warning("coherence.barrier_late", extra={"seconds": BARRIER_S})
        finally:
            del self._barriers[key]

    @asynccontextmanager
    async def _listening(self) -> AsyncIterator[Connection]:
        connection = await psycopg.AsyncConnection.connect(
            make_conninfo(self._dsn, **KEEPALIVES),
            autocommit=True,
            connect_timeout=5,
            application_name=APPLICATION_NAME,
        )
        async with connection:
            # Listen first: what changes during the load is announced and read once more.
            await connection.execute(f"LISTEN {CHANNEL}")
            started = time.perf_counter()
            await load(self.cache, connection)
            logger.info(
                "cache.loaded",
                extra={
                    "tokens": len(self.cache.soas_by_token),
                    "edges": len(self.cache.urd_by_concept_dim),
                    "ms": round((time.perf_counter() - started) * 1000),
                },
            )
            self._loaded.set()
            self.is_listening = True
            try:
                yield connection
            finally:
                self.is_listening = False

    async def _follow(self, connection: Connection) -> None:
        while True:
            # The generator holds the connection's lock: it must end before anything can be read.
            received = [notify async for notify in connection.notifies(stop_after=1)]
            for notify in received:
                await self._apply(connection, notify.payload)

    async def _apply(self, connection: Connection, payload: str) -> None:
        kind, _, keys = payload.partition(":")
        if kind == "barrier":
            if (event := self._barriers.get(keys)) is not None:
                event.set()
        elif kind == "reload":
            await (load(self.cache, connection) if keys == "*" else reload_table(self.cache, connection, keys))
        elif kind in REFRESH:
            await REFRESH[kind](self.cache, connection, [int(key) for key in keys.split(",")])
        else:
            await reload_table(self.cache, connection, kind)


async def load(cache: Cache, connection: Connection) -> None:
    """Everything, read beside the picture in use and put in its place at the end."""
    fresh = Cache()
    async with connection.transaction():
        # One snapshot for all tables: else an edge could come with a word that was read before it existed.
        await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        await read_soas(fresh, connection, known=cache.soas_by_token)
        for read in (read_urd, read_queue, read_dimensions, read_config, read_agents):
            await read(fresh, connection)
    cache.take_over(fresh, time.time())


async def reload_table(cache: Cache, connection: Connection, table: str) -> None:
    """``dimension``, ``config`` and ``agent`` are small and read whole; another table loads everything."""
    read = SMALL.get(table)
    await (read(cache, connection) if read else load(cache, connection))


async def stream(connection: Connection, query: str, ids: list[int] | None = None) -> AsyncIterator[TupleRow]:
    """The rows of the query, with ``ids`` as its argument. Lets other tasks run in between."""
    async with connection.cursor() as cursor:
        await cursor.execute(query, None if ids is None else [ids])
        while rows := await cursor.fetchmany(BATCH_ROWS):
            for row in rows:
                yield row
            await asyncio.sleep(0)


async def read_soas(
    cache: Cache,
    connection: Connection,
    ids: list[int] | None = None,
    *,
    known: Mapping[str, SoasRow] | None = None,
) -> None:
    """``known`` rows lend their counts where this process is ahead of Postgres."""
    missing = set(ids or ())
    async for row_id, token, *columns in stream(connection, SOAS + only("id", ids), ids):
        row = SoasRow(row_id, *columns)
        if (old := (known or cache.soas_by_token).get(token)) is not None:
            row.keep_ahead(old)
        cache.put_soas(token, row)
        missing.discard(row_id)
    for row_id in missing:
        cache.drop_soas(row_id)


async def read_urd(cache: Cache, connection: Connection, ids: list[int] | None = None) -> None:
    by_concept: dict[int, list[UrdEdge]] = {concept_id: [] for concept_id in ids or ()}
    async for row in stream(connection, URD + only("id", ids), ids):
        by_concept.setdefault(row[0], []).append(UrdEdge(*row))
    for concept_id, edges in by_concept.items():
        cache.put_edges(concept_id, edges)


async def read_queue(cache: Cache, connection: Connection, ids: list[int] | None = None) -> None:
    by_concept: dict[int, list[int]] = {concept_id: [] for concept_id in ids or ()}
    async for concept_id, dim_id in stream(connection, QUEUE + only("concept_id", ids), ids):
        by_concept.setdefault(concept_id, []).append(dim_id)
    for concept_id, dim_ids in by_concept.items():
        cache.put_pending(concept_id, dim_ids)


async def read_dimensions(cache: Cache, connection: Connection) -> None:
    cache.superseding_dims = {dim_id async for (dim_id,) in stream(connection, SUPERSEDING)}


async def read_config(cache: Cache, connection: Connection) -> None:
    stored = {key: value async for key, value in stream(connection, CONFIG)}
    cache.tuning, cache.config_mistakes = config.tuning(stored)


async def read_agents(cache: Cache, connection: Connection) -> None:
    cache.agents = {token_hash: AgentRow(name, scope) async for token_hash, name, scope in stream(connection, AGENTS)}


def only(key: str, ids: list[int] | None) -> str:
    return "" if ids is None else f" AND {key} = ANY(%s)"


SMALL = {"dimension": read_dimensions, "config": read_config, "agent": read_agents}
REFRESH = {"soas": read_soas, "urd": read_urd, "resolution_queue": read_queue}


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
