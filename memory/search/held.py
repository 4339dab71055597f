"""Holds the indexes of those scopes that were searched last, in step with Postgres. One thread reads and writes all of
them; the event loop only looks."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import psycopg

from memory import bounds
from memory.db.connections import Connection, connect, first_line, is_lost
from memory.log_throttle import LogThrottle
from memory.memories.scope import Scope
from memory.search.found import Kind
from memory.search.index import Index
from memory.search.loading import TEXTS_MAX, Space, read_changed, read_index, read_spaces

logger = logging.getLogger(__name__)

NAME: Final = "index"
BYTES_MAX: Final = 64 * 2**20
SCOPE_BYTES: Final = 2_000  # of each, besides its index
AGE_MAX_S: Final = 86_400.0  # an older index is read anew: the confidence of what a model concluded decays
SPARE: Final = 500  # texts beyond the most, until an index is loaded anew
GATHER_S: Final = 0.02  # what changes within this time is read together
SPACES_S: Final = 2.0  # how often the embedders are read
FOR_THE_CONNECTION: Final = "SET jit = off; SET statement_timeout = 10000; SET work_mem = '64MB'"
FULL: Final = bounds.define("held_indexes", "scopes whose index made room for those of others, 64 MiB in all")


@dataclass(slots=True)
class Held:
    index: Index
    size: int  # in bytes
    loaded_at: float
    used_at: float


class Indexes:
    """Answers nothing before its table is followed: what changes would not be noticed."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self.is_followed = False
        self.spaces: Sequence[Space] = ()  # the current embedder first
        self._thread = ThreadPoolExecutor(1, NAME)
        self._connection: psycopg.Connection[Any] | None = None
        self._held: dict[Scope, Held] = {}
        self._drops = 0
        self._loading: dict[Scope, asyncio.Future[None]] = {}
        self._changed: dict[Kind, set[int]] = {"episode": set(), "memory": set()}
        self._has_changed, self._is_settled = asyncio.Event(), asyncio.Event()
        self._is_settled.set()
        self._log = LogThrottle(60.0)

    @property
    def held_bytes(self) -> int:
        return sum(SCOPE_BYTES + held.size for held in self._held.copy().values())

    def find(self, scope: Scope) -> Index | None:
        """Return the scope's index; None if it is not loaded: from now on it is, in the background."""
        now, held = time.monotonic(), self._held.get(scope)
        if held is not None:
            held.used_at = now
        if (held is None or now - held.loaded_at > AGE_MAX_S) and self.is_followed and scope not in self._loading:
            loading = asyncio.get_running_loop().run_in_executor(self._thread, self._load, scope)
            self._loading[scope] = loading
            loading.add_done_callback(partial(self._end_loading, scope))
        return held.index if held is not None else None

    async def wait_for(self, scope: Scope, within_s: float) -> Index | None:
        """Like ``find``, but wait for the load."""
        if (index := self.find(scope)) is None and (loading := self._loading.get(scope)) is not None:
            await asyncio.wait({loading}, timeout=within_s)
            index = held.index if (held := self._held.get(scope)) is not None else None
        return index

    async def run(self) -> None:
        """Follow what changes until it is cancelled."""
        try:
            await asyncio.gather(self._follow_changes(), self._follow_spaces())
        finally:
            self.close()

    def close(self) -> None:
        """Close the connection, when the thread has done what it was asked for."""
        self._thread.submit(self._close)
        self._thread.shutdown(wait=False)

    def follower(self, kind: Kind) -> "Follower":
        """Return what follows the table of a kind of texts, or of their vectors."""
        return Follower(self, kind)

    def drop(self) -> None:
        """Drop all: announcements may have been lost."""
        self._drops += 1
        self._held.clear()

    def note_changed(self, kind: Kind, ids: Iterable[int]) -> None:
        if self._held or self._loading:
            self._changed[kind].update(ids)
            self._has_changed.set()
            self._is_settled.clear()

    async def settle(self) -> None:
        """Return when all that was announced so far has been applied."""
        await self._is_settled.wait()

    async def _follow_changes(self) -> None:
        while True:
            await self._has_changed.wait()
            self._has_changed.clear()
            for kind, ids in self._changed.items():
                self._changed[kind] = set()
                if ids and not await self._do(partial(self._apply, kind, sorted(ids))):
                    self.note_changed(kind, ids)
            if not self._has_changed.is_set():
                self._is_settled.set()
            await asyncio.sleep(GATHER_S)

    async def _follow_spaces(self) -> None:
        while True:
            await self._do(self._read_spaces)
            await asyncio.sleep(SPACES_S)

    async def _do(self, work: Callable[[], bool]) -> bool:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _end_loading(self, scope: Scope, loading: asyncio.Future[None]) -> None:
        del self._loading[scope]

    async def read_alone(self) -> None:
        """For a process that serves nothing: load what is asked for without following what changes."""
        self.is_followed = True
        await self._do(self._read_spaces)

    # --- in the thread ---

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    def _read_spaces(self) -> bool:
        def read(cursor: psycopg.Cursor[Any]) -> None:
            spaces = read_spaces(cursor)
            if [space.dimensions for space in spaces[:1]] != [space.dimensions for space in self.spaces[:1]]:
                self.drop()
            self.spaces = spaces

        return self._run(read)

    def _load(self, scope: Scope) -> None:
        def read(cursor: psycopg.Cursor[Any]) -> None:
            drops = -1
            while drops != self._drops:  # what was announced while it was read may be lost
                drops = self._drops
                index, now = read_index(cursor, scope, self._dimensions), time.monotonic()
            self._held[scope] = Held(index, index.nbytes, now, now)
            self._make_room()

        self._run(read)

    def _apply(self, kind: Kind, ids: Sequence[int]) -> bool:
        """Return False if Postgres is away: what is held goes on to answer, and the rows are read when it is back."""

        def read(cursor: psycopg.Cursor[Any]) -> None:
            changed = read_changed(cursor, kind, ids, list(self._held), has_vectors=bool(self._dimensions))
            for scope, rows in changed.items():
                if (held := self._held.get(scope)) is not None:
                    held.index = held.index.replace(kind, ids, rows)
                    held.size = held.index.nbytes
                    if len(held.index) > TEXTS_MAX + SPARE:
                        self._held.pop(scope, None)  # it is loaded anew, without the oldest
            self._make_room()

        return self._run(read)

    @property
    def _dimensions(self) -> int:
        return self.spaces[0].dimensions if self.spaces else 0

    def _make_room(self) -> None:
        by_use = sorted(self._held.copy().items(), key=lambda item: item[1].used_at)
        while len(by_use) > 1 and self.held_bytes > BYTES_MAX:
            scope, _ = by_use.pop(0)
            self._held.pop(scope, None)
            FULL.count_hit()

    def _run(self, work: Callable[[psycopg.Cursor[Any]], None]) -> bool:
        """Do it over the connection; False if Postgres is away. Whatever else goes wrong, nothing held may go stale:
        all is dropped."""
        try:
            if self._connection is None or self._connection.closed:
                self._connection = connect(self._dsn, NAME)
                self._connection.execute(FOR_THE_CONNECTION)
            with self._connection.cursor(binary=True) as cursor:
                work(cursor)
        except Exception as error:
            self._close()
            is_away = isinstance(error, OSError) or is_lost(error)
            if not is_away:
                self.drop()
            if self._log.is_due(time.monotonic()):
                logger.warning("index.not_read", exc_info=not is_away, extra={"error": first_line(error)})
            return not is_away
        return True


class Follower:
    """Tells the indexes which rows of one kind have changed."""

    def __init__(self, indexes: Indexes, kind: Kind) -> None:
        self._indexes = indexes
        self._kind = kind

    async def load(self, connection: Connection) -> None:
        self._indexes.is_followed = True
        self._indexes.drop()

    async def refresh(self, connection: Connection, keys: list[int]) -> None:
        self._indexes.note_changed(self._kind, keys)
