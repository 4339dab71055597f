"""Keeps a cache in step with Postgres: a full load, then the changes that triggers announce.

Payloads on the channel ``festinger`` (sql/functions.sql): ``<table>:<key>,<key>...`` names rows,
``reload:<table>`` a whole table, ``reload:*`` everything, ``barrier:<id>`` a waiting caller, and
``signal:<name>:<what>`` a message of another package to its counterparts in the other processes.
"""

import asyncio
import logging
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from uuid import uuid4

import psycopg
from asgiref.sync import sync_to_async
from django.db import connection

from memory.cache.followers import Follower, OwnFactsFollower, follow_states
from memory.cache.loader import REFRESH, SMALL, Changes, load_cache
from memory.cache.state import Cache
from memory.db.connections import Connection, first_line, open_connection
from memory.metrics import Gauge

logger = logging.getLogger(__name__)

CHANNEL = "festinger"
NAME = "coherence"
RETRY_S = (0.1, 0.5, 1.0, 2.0, 5.0)
BARRIER_S = 2.0
RELOAD_S = 120.0
# How often delivery of announcements is tested, and how long one may take: a pooler between this process and Postgres
# may lose them while the connection stays up.
HEARD_EVERY_S = 60.0
HEARD_WITHIN_S = 10.0

LAG = Gauge(
    "festinger_listener_lag_seconds",
    "Time an announcement of Postgres takes to reach the slowest process, infinite while one does not listen",
    multiprocess_mode="livemax",
)

Announce = Callable[[str], Awaitable[None]]


@sync_to_async
def announce(payload: str) -> None:
    """Send a payload on the channel over Django's connection."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_notify(%s, %s)", [CHANNEL, payload])


@dataclass(slots=True)
class Announced(Changes):
    """The changes announced in one go. ``followed``: the tables that followers read."""

    followed: Collection[str] = ()
    everything: bool = False
    barriers: list[str] = field(default_factory=list)
    signals: set[tuple[str, str]] = field(default_factory=set)

    def add(self, payload: str) -> None:
        kind, _, what = payload.partition(":")
        if kind == "barrier":
            self.barriers.append(what)
        elif kind == "signal":
            name, _, text = what.partition(":")
            self.signals.add((name, text))
        elif (kind in REFRESH or kind in self.followed) and what:
            self.keys[kind].update(int(key) for key in what.split(","))
        elif (table := what if kind == "reload" else kind) in SMALL or table in self.followed:
            self.tables.add(table)
        elif kind == "reload" and (table == "*" or table in REFRESH):
            self.everything = True
        # Signals without a subscriber concern what only some processes keep: a worker has no prompts.


class Coherence:
    """Keeps the cache in step over two connections. One listens and applies changes as they come; the other loads
    everything at the start, after a lost connection (announcements made meanwhile are lost), and when too much changed.
    """

    def __init__(self, cache: Cache, dsn: str) -> None:
        self.cache = cache
        self.is_listening = False
        self._dsn = dsn
        self._barriers: dict[str, asyncio.Event] = {}
        self._subscribers: dict[str, Callable[[str], None]] = {}
        self._settled: list[Callable[[], Awaitable[None]]] = []
        self._followers: dict[str, list[Follower]] = {
            "project_state": [follow_states(cache.states)],
            "edge_candidate": [OwnFactsFollower(cache)],
        }
        self.tried = asyncio.Event()  # set when the first load has succeeded or failed
        self._loads_asked = 0
        self._loads_done = 0
        self._load_ended = asyncio.Condition()
        self._touched = Changes()
        self._passing: set[asyncio.Task[None]] = set()  # the event loop keeps only weak references to tasks

    async def run(self) -> None:
        """Follow changes until cancelled."""
        failures = 0
        while True:
            try:
                async with open_connection(self._dsn, NAME) as connection:
                    # Listen first: changes during the load are then announced.
                    await connection.execute(f"LISTEN {CHANNEL}")
                    failures = 0
                    await self._follow(connection)
            except (psycopg.Error, OSError) as error:
                logger.warning("coherence.lost", extra={"error": first_line(error)})
            except Exception:  # a cache that stopped following would go stale silently
                logger.exception("coherence.failed")
            LAG.set(math.inf)
            self.tried.set()
            await asyncio.sleep(RETRY_S[min(failures, len(RETRY_S) - 1)])
            failures += 1

    @asynccontextmanager
    async def barrier(self, announce: Announce = announce) -> AsyncIterator[None]:
        """Leave the block only when this cache has all that was committed in it. ``announce`` sends a payload to the
        channel. Gives up after ``BARRIER_S`` seconds."""
        yield
        # Announced after the block's commits, on the same channel: Postgres keeps the order.
        try:
            async with asyncio.timeout(BARRIER_S):
                await self._pass_barrier(announce)
        except TimeoutError:
            logger.warning("coherence.barrier_late", extra={"seconds": BARRIER_S})

    def subscribe(self, signal: str, subscriber: Callable[[str], None]) -> None:
        """Call the subscriber with the signal's text whenever a process sends it, including this one."""
        self._subscribers[signal] = subscriber

    def follow(self, table: str, follower: Follower) -> None:
        """Keep the follower in step with a table whose changes are announced by triggers like the graph's."""
        self._followers.setdefault(table, []).append(follower)

    def before_barriers(self, settle: Callable[[], Awaitable[None]]) -> None:
        """Pass no barrier until this has returned: for what follows changes in a thread of its own."""
        self._settled.append(settle)

    async def signal(self, name: str, what: str = "") -> None:
        """Send a signal to every process, if Postgres takes it within ``BARRIER_S`` seconds. ``what`` must be short."""
        try:
            async with asyncio.timeout(BARRIER_S), open_connection(self._dsn, NAME) as connection:
                await connection.execute("SELECT pg_notify(%s, %s)", [CHANNEL, f"signal:{name}:{what}"])
        except (psycopg.Error, OSError) as error:
            logger.warning("coherence.signal_lost", extra={"signal": name, "error": first_line(error)})

    async def reload(self, announce: Announce = announce) -> None:
        """Make every process load everything, and wait until this one has. Raises TimeoutError."""
        async with asyncio.timeout(RELOAD_S):
            await announce("reload:*")
            await self._pass_barrier(announce)
            asked = self._loads_asked
            async with self._load_ended:
                await self._load_ended.wait_for(lambda: self._loads_done >= asked)

    async def _pass_barrier(self, announce: Announce) -> None:
        """Return when everything announced before has been applied here."""
        key = uuid4().hex
        self._barriers[key] = asyncio.Event()
        try:
            await announce(f"barrier:{key}")
            await self._barriers[key].wait()
        finally:
            del self._barriers[key]

    # --- following ---

    async def _follow(self, connection: Connection) -> None:
        loading = asyncio.create_task(self._load_when_asked())
        testing = asyncio.create_task(self._test_hearing())
        self._loads_asked += 1
        self.is_listening = True
        try:
            while True:
                # The generator holds the connection's lock: it has to end before anything can be read.
                received = [notify.payload async for notify in connection.notifies(stop_after=1)]
                await self._apply(connection, received)
        finally:
            self.is_listening = False
            for task in (loading, testing):
                task.cancel()
            await asyncio.gather(loading, testing, return_exceptions=True)

    async def _test_hearing(self) -> None:
        """Load everything whenever a barrier announced over another connection does not arrive."""
        while True:
            try:
                async with open_connection(self._dsn, NAME) as other:

                    async def announce(payload: str, other: Connection = other) -> None:
                        await other.execute("SELECT pg_notify(%s, %s)", [CHANNEL, payload])

                    started = time.perf_counter()
                    async with asyncio.timeout(HEARD_WITHIN_S):
                        await self._pass_barrier(announce)
                LAG.set(time.perf_counter() - started)
                self.is_listening = True
            except TimeoutError:
                self.is_listening = False
                LAG.set(math.inf)
                logger.warning("coherence.deaf", extra={"seconds": HEARD_WITHIN_S})
                await self._ask_load()
            except (psycopg.Error, OSError) as error:  # Postgres is away: the listening connection notices it, too
                logger.warning("coherence.not_tested", extra={"error": first_line(error)})
            await asyncio.sleep(HEARD_EVERY_S)

    async def _apply(self, connection: Connection, payloads: Sequence[str]) -> None:
        """Apply announcements with one query for each table."""
        changes = Announced(followed=self._followers.keys())
        for payload in payloads:
            try:
                changes.add(payload)
            except ValueError:
                logger.warning("coherence.unreadable", extra={"payload": payload[:100]})
        if changes.everything:
            await self._ask_load()
        for table, followers in self._followers.items():  # what they read is no longer among the changes
            keys, is_whole = changes.keys.pop(table, set()), table in changes.tables
            changes.tables.discard(table)
            for follower in followers:
                if is_whole:
                    await follower.load(connection)
                elif keys:
                    await follower.refresh(connection, sorted(keys))
        self._touched.update(changes)
        for table, changed in changes.keys.items():
            await REFRESH[table](self.cache, connection, sorted(changed))
        for table in changes.tables:
            await SMALL[table](self.cache, connection)
        if "config" in changes.tables and self.cache.lacks_words:
            await self._ask_load()
        for name, what in sorted(changes.signals):
            if name in self._subscribers:
                self._subscribers[name](what)
        if own := [event for key in changes.barriers if (event := self._barriers.get(key)) is not None]:
            passing = asyncio.create_task(self._pass(own))
            self._passing.add(passing)
            passing.add_done_callback(self._passing.discard)

    async def _pass(self, barriers: Collection[asyncio.Event]) -> None:
        await asyncio.gather(*(settle() for settle in self._settled))
        for barrier in barriers:
            barrier.set()

    # --- loading ---

    async def _ask_load(self) -> None:
        self._loads_asked += 1
        async with self._load_ended:
            self._load_ended.notify_all()

    async def _load_when_asked(self) -> None:
        failures = 0
        while True:
            asked = self._loads_asked
            try:
                await self._load()
                failures = 0
                self._loads_done = asked
                self._loads_asked += self.cache.lacks_words  # a setting was changed meanwhile
            except Exception as error:  # the next load must come, whatever went wrong in this one
                logger.warning(
                    "cache.load_failed",
                    exc_info=not isinstance(error, (psycopg.Error, OSError)),
                    extra={"error": first_line(error)},
                )
                await asyncio.sleep(RETRY_S[min(failures, len(RETRY_S) - 1)])
                failures += 1
            self.tried.set()
            async with self._load_ended:
                self._load_ended.notify_all()
                await self._load_ended.wait_for(lambda: self._loads_asked > self._loads_done)

    async def _load(self) -> None:
        started = time.perf_counter()
        self._touched = Changes()
        async with open_connection(self._dsn, NAME) as connection:
            for followers in self._followers.values():
                for follower in followers:
                    await follower.load(connection)
            await load_cache(self.cache, connection, self._touched)
        logger.info(
            "cache.loaded",
            extra={
                "tokens": len(self.cache.soas_by_token),
                "edges": self.cache.fact_count,
                "ms": round((time.perf_counter() - started) * 1000),
            },
        )
