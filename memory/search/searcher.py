"""Searches for prompts, from a server's event loop: over connections of its own, within a deadline, and for a few
prompts at a time. A search that is late is left out of its prompt and counted."""

import asyncio
import logging
import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, get_args
from weakref import WeakKeyDictionary

import psycopg
from prometheus_client import Metric

from memory.db.connections import Connection, first_line, open_connection
from memory.domain.timing import LogThrottle
from memory.metrics import Counter, Histogram, total
from memory.search import ranking
from memory.search.matrices import Matrices
from memory.search.ranking import ForPrompt
from memory.search.request import Kind, SearchRequest
from memory.search.service import embed_query
from memory.search.statement import (
    CURRENT_EMBEDDER,
    EXACT_MAX,
    FOR_THE_CONNECTION,
    NEAREST_MAX,
    Nearest,
    VectorSpace,
    compose,
    number_parameters,
)
from memory.semantic.domain.episodes import SHORT_MAX
from memory.semantic.domain.scope import Scope
from memory.semantic.vectors import builtin

if TYPE_CHECKING:
    from memory.search.matrix import Matrix

logger = logging.getLogger(__name__)

NAME: Final = "search"
IN_FLIGHT_MAX: Final = 4  # searches of a process, each with a connection of its own
WAITING_SHARE: Final = 0.5  # of its deadline, which a search may wait for a connection where all are in use
UNHURRIED_MS: Final = 500  # the deadline of a search that nobody waits for
EMBEDDER_READ_S: Final = 2.0  # how often a process looks which embedder is current
CONNECT_AGAIN_S: Final = 1.0
LOG_EVERY_S: Final = 60.0
MADE_MAX: Final = 256  # vectors of queries that are kept until their messages are stored
LARGE_S: Final = 600.0  # for which a scope in which there was more than EXACT_MAX is not counted again
LARGE_MAX: Final = 10_000  # of such scopes
MADE_CHARACTERS: Final = 200  # of a query that has as many word pieces as the text of its message


SEARCHES: Final = Counter("festinger_searches", "Searches for prompts and their next turns, by result", ["result"])
COMPARED: Final = Counter("festinger_compared_searches", "Searches whose vectors the process itself compared")
LATENCY: Final = Histogram(
    "festinger_search_seconds",
    "Duration of the searches that were answered",
    buckets=(0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.25, 0.5, 1.0),
)
Result = Literal["found", "nothing_found", "late", "skipped", "failed"]


class Compared(NamedTuple):
    """The vector of a query in its space, and what is nearest to it, where the process holds all it may be."""

    space: VectorSpace | None
    vector: Sequence[float] | None
    nearest: Nearest | None


NOTHING_COMPARED: Final = Compared(None, None, None)


class Searcher:
    """``run`` keeps the connections while the server lives."""

    def __init__(self, dsn: str) -> None:
        self.matrices = Matrices(dsn)
        self._dsn = dsn
        self.open_count = 0  # connections, in use or not
        self._idle: asyncio.LifoQueue[Connection] = asyncio.LifoQueue()
        self._deadlines: WeakKeyDictionary[Connection, int] = WeakKeyDictionary()  # that Postgres has, in milliseconds
        self._space: VectorSpace | None = None
        self._made: dict[str, tuple[int, Sequence[float]]] = {}
        self._large: dict[tuple[Scope, str], float] = {}  # until when, by the monotonic clock
        self._encoding = ThreadPoolExecutor(1, "encode-query")  # starts its thread with the first query
        self._log = LogThrottle(LOG_EVERY_S)

    @property
    def is_connected(self) -> bool:
        return not self._idle.empty()

    async def run(self) -> None:
        """Keeps the connections open until it is cancelled."""
        keeping = (self._keep_connection() for _ in range(IN_FLIGHT_MAX))
        await asyncio.gather(*keeping, self._follow_embedder(), self.matrices.run())

    async def _keep_connection(self) -> None:
        while True:
            try:
                async with open_connection(self._dsn, NAME) as opened:
                    await opened.execute(FOR_THE_CONNECTION)
                    self._space = await _read_space(opened)
                    self._idle.put_nowait(opened)
                    self.open_count += 1
                    try:
                        while not opened.closed:  # noqa: ASYNC110 - a connection cannot be awaited while others use it
                            await asyncio.sleep(CONNECT_AGAIN_S)
                    finally:
                        self.open_count -= 1
            except (psycopg.Error, OSError) as error:
                self._complain("search.not_connected", error)
            await asyncio.sleep(CONNECT_AGAIN_S)

    async def _follow_embedder(self) -> None:
        while True:
            await asyncio.sleep(EMBEDDER_READ_S)
            try:
                opened = await self._take(EMBEDDER_READ_S)
            except TimeoutError:
                continue
            try:
                self._space = await _read_space(opened)
            except (psycopg.Error, OSError) as error:
                self._complain("search.failed", error)
            finally:
                await self._put_back(opened)

    async def find_related(
        self,
        scope: Scope,
        texts: Sequence[str],
        conversation: bytes,
        *,
        deadline_ms: int,
        is_counted: bool = True,
    ) -> ForPrompt | None:
        """Find what users said themselves, outside of this conversation and before now, that belongs to the texts; None
        if that takes too long. ``is_counted``: among the searches for prompts."""
        query = "\n".join(texts)
        request = SearchRequest(scope, query, is_unasked=True, conversation=conversation, before=time.time())
        count = count_search if is_counted else ignore_search
        started = time.perf_counter()
        try:
            space, vector, nearest = await self._compare(request, deadline_ms / 1000)
            if space is not None and vector is not None and (len(texts) == 1 or len(texts[-1]) < SHORT_MAX):
                self._keep_made(texts[-1], space.id, vector)
            left_s = deadline_ms / 1000 - (time.perf_counter() - started)
            opened = await self._take(WAITING_SHARE * left_s)
        except TimeoutError:
            count("skipped")
            return None
        try:
            # A little longer than Postgres itself is given, which is to end its work first: then the connection lives.
            async with asyncio.timeout(2 * left_s):
                large = self._find_large(request)
                composed = compose(request, space, vector, nearest, large)
                results = await self._search(opened, composed, deadline_ms)
        except (psycopg.errors.QueryCanceled, TimeoutError):
            count("late")
            return None
        except psycopg.Error as error:
            count("failed")
            self._complain("search.failed", error)
            return None
        finally:
            await self._put_back(opened)
        self._note_large(scope, [kind for kind, texts in results.by_kind.items() if texts > EXACT_MAX], large)
        noise = space.noise if space is not None else ranking.FULL_TEXT
        found = ranking.choose_for_prompt(results, noise, request.query, time.time())
        count(
            "found" if found.lines else "nothing_found", time.perf_counter() - started, is_compared=nearest is not None
        )
        return found

    def find_made(self, text: str) -> tuple[int, Sequence[float]] | None:
        """The embedder's id, and the vector of a message with these own words, if it was searched for lately."""
        return self._made.get(text)

    def _find_large(self, request: SearchRequest) -> list[Kind]:
        now = time.monotonic()
        return [kind for kind in request.kinds if self._large.get((request.scope, kind), now) > now]

    def _note_large(self, scope: Scope, found: Iterable[str], known: Sequence[str]) -> None:
        for kind in found:
            if kind not in known:  # else it was not counted
                self._large.pop((scope, kind), None)
                self._large[scope, kind] = time.monotonic() + LARGE_S
        while len(self._large) > LARGE_MAX:
            del self._large[next(iter(self._large))]

    def _keep_made(self, text: str, embedder: int, vector: Sequence[float]) -> None:
        if len(text) <= MADE_CHARACTERS:
            self._made.pop(text, None)
            self._made[text] = embedder, vector
            if len(self._made) > MADE_MAX:
                del self._made[next(iter(self._made))]

    async def _search(
        self, opened: Connection, composed: tuple[str, dict[str, Any]], deadline_ms: int
    ) -> ranking.Results:
        if self._deadlines.get(opened) != deadline_ms:
            await opened.execute(f"SET statement_timeout = {deadline_ms:d}".encode())
            self._deadlines[opened] = deadline_ms
        text, arguments = composed
        statement, names = number_parameters(text)
        async with psycopg.AsyncRawCursor(opened) as cursor:
            # Prepared at once: it takes longer to plan than to run.
            await cursor.execute(statement, [arguments[name] for name in names], prepare=True)
            return ranking.read_rows(await cursor.fetchall())

    async def _compare(self, request: SearchRequest, timeout_s: float) -> Compared:
        """In a thread, which leaves the event loop the interpreter while it encodes and compares."""
        space = self._space
        if space is not None and space.name == builtin.NAME and not builtin.is_loaded():
            builtin.load_in_background()
            space = None
        if space is None:
            return NOTHING_COMPARED
        matrix = self.matrices.find(request.scope, space)
        async with asyncio.timeout(timeout_s):
            return await asyncio.get_running_loop().run_in_executor(
                self._encoding, compare, request, space, matrix, timeout_s
            )

    async def _take(self, within_s: float) -> Connection:
        """Raises TimeoutError."""
        if not self.open_count:
            raise TimeoutError
        async with asyncio.timeout(within_s):
            while (opened := await self._idle.get()).closed:
                pass
        return opened

    async def _put_back(self, opened: Connection) -> None:
        if opened.info.transaction_status == psycopg.pq.TransactionStatus.IDLE:
            self._idle.put_nowait(opened)
        else:  # it was cut off in the middle of its work: nobody knows how long that still takes
            await opened.close()

    def _complain(self, event: str, error: Exception) -> None:
        if self._log.is_due(time.monotonic()):
            logger.warning(event, extra={"error": first_line(error)})


def count_search(result: Result, seconds: float = 0.0, *, is_compared: bool = False) -> None:
    """``seconds``: how long it took, where it was answered."""
    SEARCHES.labels(result).inc()
    if seconds:
        LATENCY.observe(seconds)
    if is_compared:
        COMPARED.inc()


def ignore_search(result: Result, seconds: float = 0.0, *, is_compared: bool = False) -> None:
    pass


def sum_searches(collected: Iterable[Metric]) -> dict[str, int]:
    """Return the counts of searches. ``late`` ones met the deadline, ``skipped`` ones got no connection in time, for
    ``compared`` ones the process itself held the vectors."""
    name = "festinger_searches_total"
    collected = list(collected)
    by_result = {result: total(name, collected, result=result) for result in get_args(Result)}
    answered = by_result["found"] + by_result.pop("nothing_found")
    compared = total("festinger_compared_searches_total", collected)
    return {"asked": total(name, collected), "answered": answered, **by_result, "compared": compared}


async def _read_space(opened: Connection) -> VectorSpace | None:
    cursor = await opened.execute(CURRENT_EMBEDDER)
    return VectorSpace.of(await cursor.fetchone())


def compare(request: SearchRequest, space: VectorSpace, matrix: "Matrix | None", timeout_s: float) -> Compared:
    """Blocks."""
    vector = embed_query(space.name, request.text, timeout_s)
    if vector is None:
        return NOTHING_COMPARED
    if matrix is None or len(matrix) > EXACT_MAX or len(vector) != space.dimensions:
        return Compared(space, vector, None)
    return Compared(space, vector, Nearest(*matrix.nearest(vector, request.conversation, NEAREST_MAX), matrix.newest))
