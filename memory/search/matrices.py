"""Holds the vectors of those speakers who were searched for last, in step with Postgres."""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import psycopg

from memory import bounds
from memory.db.connections import Connection, chunks, first_line, open_connection
from memory.search.request import SearchRequest
from memory.search.statement import EXACT_MAX, Asked, VectorSpace, visible
from memory.semantic.domain.scope import Scope, Speaker

if TYPE_CHECKING:
    from memory.search.matrix import Matrix

logger = logging.getLogger(__name__)

NAME: Final = "vectors"
BYTES_MAX: Final = 64 * 2**20
SCOPE_BYTES: Final = 1_000  # of each, besides its matrix
SLICE: Final = 250  # rows that are read at a time, within 2 ms of the event loop
RESTS: Final = 4  # times as long as the last load took: where more speakers are served than fit, they are loaded often
WAITING_MAX: Final = 64  # scopes to be loaded
GATHER_S: Final = 0.5  # what changes within this time is read together; until then Postgres compares what is new
FULL: Final = bounds.define("held_vectors", "speakers whose vectors made room for those of others, 64 MiB in all")

_VECTORS: Final = """
    FROM episode JOIN episode_vector ON episode_vector.id = episode.id
    WHERE embedder_id = %(embedder)s AND vector_dims(vector) = %(dimensions)s
"""
_SLICE: Final = f"""
    SELECT episode.id, conversation, vector {_VECTORS} AND {{visible}} AND episode.id < %(before)s
        AND episode.id >= (SELECT min(id) FROM episode_vector)  -- else all that the speaker ever said is gone through
    ORDER BY episode.id DESC LIMIT %(slice)s
"""
_CHANGED: Final = f"""
    SELECT agent, person, project_id, episode.id, conversation, vector {_VECTORS}
    AND role = 'user' AND episode.id = ANY(%(keys)s)
"""


class Matrices:
    """Follows ``episode_vector``. Answers nothing before it is asked to load, which begins to follow."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._is_followed = False
        self._space: VectorSpace | None = None
        self._held: dict[Scope, Matrix] = {}  # who was searched for last is last; of more than EXACT_MAX too many
        self._loading: dict[Scope, set[int]] = {}  # with what has changed since
        self._wanted: asyncio.Queue[Scope] = asyncio.Queue()
        self._changed: set[int] = set()  # and not read yet
        self._has_changed = asyncio.Event()

    @property
    def held_bytes(self) -> int:
        return sum(SCOPE_BYTES + matrix.nbytes for matrix in self._held.values())

    def find(self, scope: Scope, space: VectorSpace) -> "Matrix | None":
        """All vectors of what the scope's speaker said as a user, or more than EXACT_MAX of them. None where they are
        not loaded: from now on they are loaded in the background."""
        if not self._is_followed:
            return None
        if self._space is None or (space.id, space.dimensions) != (self._space.id, self._space.dimensions):
            self._drop()
            self._space = space
        if (held := self._held.pop(scope, None)) is not None:
            self._held[scope] = held
        elif scope not in self._loading and len(self._loading) < WAITING_MAX:
            self._loading[scope] = set()
            self._wanted.put_nowait(scope)
        return held

    async def run(self) -> None:
        """Loads what is wanted, and reads what has changed, until it is cancelled."""
        await asyncio.gather(self._load_wanted(), self._follow_changes())

    async def _load_wanted(self) -> None:
        """One after the other."""
        while True:
            scope = await self._wanted.get()
            changed, space = self._loading.get(scope), self._space
            if changed is None or space is None:
                continue
            started = time.monotonic()
            try:
                async with open_connection(self._dsn, NAME) as connection:
                    await self._load(connection, scope, space, changed)
            except (psycopg.Error, OSError) as error:
                logger.warning("vectors.not_loaded", extra={"error": first_line(error)})
            if self._loading.get(scope) is changed:
                del self._loading[scope]
            await asyncio.sleep(RESTS * (time.monotonic() - started))

    async def load(self, connection: Connection) -> None:
        """Drops all: announcements may have been lost."""
        self._is_followed = True
        self._drop()

    async def refresh(self, connection: Connection, keys: list[int]) -> None:
        for changed in self._loading.values():
            changed.update(keys)
        if self._held:
            self._changed.update(keys)
            self._has_changed.set()

    async def _follow_changes(self) -> None:
        while True:
            await self._has_changed.wait()
            await asyncio.sleep(GATHER_S)
            self._has_changed.clear()
            keys, self._changed = sorted(self._changed), set()
            try:
                async with open_connection(self._dsn, NAME) as connection:
                    await self._apply(connection, keys)
            except (psycopg.Error, OSError) as error:
                self._drop()  # they are loaded anew
                logger.warning("vectors.not_read", extra={"error": first_line(error)})

    async def _apply(self, connection: Connection, keys: list[int]) -> None:
        if (space := self._space) is None:
            return
        for some in chunks(keys, SLICE):
            found = await _read_changed(connection, some, space)
            if space is not self._space:
                return
            for scope, held in list(self._held.items()):
                self._held[scope] = held.replace(some, _join_visible(found, scope))
        self._make_room()

    def _drop(self) -> None:
        self._held.clear()
        self._loading.clear()

    def _make_room(self) -> None:
        while len(self._held) > 1 and self.held_bytes > BYTES_MAX:
            del self._held[next(iter(self._held))]
            FULL.count_bite()

    async def _load(self, connection: Connection, scope: Scope, space: VectorSpace, changed: set[int]) -> None:
        from memory.search.matrix import Matrix  # late: a server without vectors never loads numpy

        request = SearchRequest(scope, "", is_unasked=True)
        statement = _SLICE.format(visible=visible("episode", Asked.of(request)))
        arguments = request.arguments | {
            "embedder": space.id,
            "dimensions": space.dimensions,
            "before": 2**62,
            "slice": SLICE,
        }
        parts: list[Matrix] = []
        rows: Sequence[tuple[Any, ...]] = [()] * SLICE
        while len(rows) == SLICE and sum(map(len, parts)) <= EXACT_MAX:
            rows = await _read(connection, statement, arguments)
            parts.append(await asyncio.to_thread(Matrix.read, rows, space.dimensions))
            arguments["before"] = parts[-1].ids.min(initial=arguments["before"]).item()
        matrix = await asyncio.to_thread(Matrix.join, parts)
        while changed:
            keys = sorted(changed)
            changed.clear()
            matrix = matrix.replace(keys, _join_visible(await _read_changed(connection, keys, space), scope))
        if self._loading.get(scope) is changed:
            self._held[scope] = matrix
            self._make_room()


async def _read_changed(connection: Connection, keys: Sequence[int], space: VectorSpace) -> "dict[Scope, Matrix]":
    from memory.search.matrix import Matrix

    arguments = {"keys": keys, "embedder": space.id, "dimensions": space.dimensions}
    by_scope: defaultdict[Scope, list[Any]] = defaultdict(list)
    for agent, person, project, *row in await _read(connection, _CHANGED, arguments):
        by_scope[Scope(Speaker(agent, person), project)].append(row)
    return {scope: Matrix.read(rows, space.dimensions) for scope, rows in by_scope.items()}


def _join_visible(found: "dict[Scope, Matrix]", scope: Scope) -> "Matrix | None":
    """Return what the scope sees: what was said in its project, and in none."""
    from memory.search.matrix import Matrix

    parts = [found[each] for each in {scope, scope._replace(project=None)} if each in found]
    return Matrix.join(parts) if parts else None


async def _read(connection: Connection, statement: str, arguments: dict[str, Any]) -> list[tuple[Any, ...]]:
    async with connection.cursor(binary=True) as cursor:
        await cursor.execute(statement.encode(), arguments)
        return await cursor.fetchall()
