"""Searches for what is given by itself, from a server's event loop: over connections of its own, within a deadline, and
for a few prompts at a time. What cannot be answered so is left out and counted."""

import asyncio
import logging
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final
from weakref import WeakKeyDictionary

import psycopg

from memory.db.connections import Connection, first_line, open_connection
from memory.domain.timing import LogThrottle
from memory.semantic.domain.found import GIVEN_MAX, LEAST_CONFIDENCE_UNASKED, Found, Related
from memory.semantic.domain.scope import Scope
from memory.semantic.search import Dialogue, Embed, Query, Wish, find
from memory.semantic.vectors import builtin

logger = logging.getLogger(__name__)

NAME: Final = "search"
IN_FLIGHT_MAX: Final = 4  # searches of a process, each with a connection of its own
WAITING_SHARE: Final = 0.5  # of its deadline, which a search may wait for a connection where all are at work
UNHURRIED_MS: Final = 500  # the deadline of what nobody waits for
# A plan for any words would not know which are rare. What is looked at by an index is nearly always in memory.
FOR_SHORT_QUERIES: Final = "SET jit = off; SET plan_cache_mode = force_custom_plan; SET random_page_cost = 1.1"
CONNECT_AGAIN_S: Final = 1.0
LOG_EVERY_S: Final = 60.0


@dataclass(slots=True)
class SearchCounts:
    """Of the searches: ``late`` ones met the deadline, ``skipped`` ones got no connection in time."""

    asked: int = 0
    answered: int = 0
    found: int = 0
    late: int = 0
    skipped: int = 0
    failed: int = 0


class Searcher:
    """``run`` keeps the connections while the server lives."""

    def __init__(self, dsn: str) -> None:
        self.counts = SearchCounts()
        self._dsn = dsn
        self.open_count = 0  # connections, at work or not
        self._idle: asyncio.LifoQueue[Connection] = asyncio.LifoQueue()
        self._deadlines: WeakKeyDictionary[Connection, int] = WeakKeyDictionary()  # that Postgres has, in milliseconds
        self._encoding = ThreadPoolExecutor(1, "encode-query")  # starts its thread with the first
        self._log = LogThrottle(LOG_EVERY_S)

    @property
    def is_connected(self) -> bool:
        return not self._idle.empty()

    async def run(self) -> None:
        """Keeps the connections open until it is cancelled."""
        await asyncio.gather(*(self._keep_connection() for _ in range(IN_FLIGHT_MAX)))

    async def _keep_connection(self) -> None:
        while True:
            try:
                async with open_connection(self._dsn, NAME) as opened:
                    await opened.execute(FOR_SHORT_QUERIES)
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

    async def find_related(
        self, scope: Scope, texts: Sequence[str], conversation: bytes, *, deadline_ms: int
    ) -> Related | None:
        """What users said themselves that belongs to the texts, but not from this conversation; None where it cannot
        be told in time."""
        self.counts.asked += 1
        try:
            opened = await self._take(WAITING_SHARE * deadline_ms / 1000)
        except TimeoutError:
            self.counts.skipped += 1
            return None
        wish = Wish(scope, "\n".join(texts), "both", LEAST_CONFIDENCE_UNASKED, True, conversation)
        try:
            # A little longer than Postgres itself is given, which is to end its work first: then the connection lives.
            async with asyncio.timeout(2 * deadline_ms / 1000):
                found = await self._converse(opened, find(wish, time.time()), deadline_ms)
        except (psycopg.errors.QueryCanceled, TimeoutError):
            self.counts.late += 1
            return None
        except psycopg.Error as error:
            self.counts.failed += 1
            self._complain("search.failed", error)
            return None
        finally:
            await self._put_back(opened)
        self.counts.answered += 1
        self.counts.found += bool(found)
        return Related(
            [each for each in found if each.kind == "memory"][:GIVEN_MAX],
            [each for each in found if each.kind == "episode"][:GIVEN_MAX],
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
        else:  # it was cut off while it was at work: nobody knows for how long it still is
            await opened.close()

    async def _converse(self, opened: Connection, dialogue: Dialogue, deadline_ms: int) -> list[Found]:
        answer: Any = None
        if self._deadlines.get(opened) != deadline_ms:
            await opened.execute(f"SET statement_timeout = {deadline_ms:d}".encode())
            self._deadlines[opened] = deadline_ms
        try:
            while True:
                match dialogue.send(answer):
                    case Query(statement, arguments):
                        answer = await (await opened.execute(statement.encode(), arguments)).fetchall()
                    case Embed(embedder, text):
                        answer = await self._embed(embedder, text)
        except StopIteration as end:
            found: list[Found] = end.value
            return found

    async def _embed(self, embedder: str, text: str) -> Sequence[float] | None:
        """Only by what is in this process: there is no time to ask another. In a thread, whose work leaves the event
        loop the interpreter."""
        if embedder != builtin.NAME:
            return None
        if not builtin.is_loaded():
            builtin.load_in_background()
            return None
        return await asyncio.get_running_loop().run_in_executor(self._encoding, builtin.embed_query, text)

    def _complain(self, event: str, error: Exception) -> None:
        if self._log.is_due(time.monotonic()):
            logger.warning(event, extra={"error": first_line(error)})
