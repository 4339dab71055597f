"""Searches for prompts, in the indexes that the process holds: nothing here waits for Postgres but the first load of a
scope. A search that is late is left out of its prompt and counted."""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Literal, get_args

from memory.cache.state import Cache
from memory.memories.episodes import SHORT_MAX
from memory.memories.scope import Scope
from memory.metrics import Counter, Histogram, Samples, total
from memory.search.found import FOREVER, Kind, cut_query
from memory.search.held import Indexes
from memory.search.index import Index, Vector
from memory.search.ranking import ForPrompt, choose_for_prompt
from memory.search.service import ask, embed_for

logger = logging.getLogger(__name__)

LOAD_MS: Final = 300  # for which a prompt waits for the load of its scope, once for each
UNHURRIED_MS: Final = 500  # the deadline of a search that nobody waits for
THREADS: Final = 2
WAITED_MAX: Final = 10_000  # scopes whose load was waited for
MADE_MAX: Final = 256  # vectors of queries that are kept until their messages are stored
MADE_CHARACTERS: Final = 200  # of a query that has as many word pieces as the text of its message

INDEXED: Final[Mapping[str, Kind]] = {  # what is announced, by table
    "episode": "episode", "episode_vector": "episode", "memory": "memory", "memory_vector": "memory"
}  # fmt: skip

SEARCHES: Final = Counter("festinger_searches", "Searches for prompts and their next turns, by result", ["result"])
LATENCY: Final = Histogram(
    "festinger_search_seconds",
    "Duration of the searches that were answered",
    buckets=(0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03, 0.05, 0.075, 0.1, 0.25, 0.5, 1.0),
)
Result = Literal["found", "nothing_found", "late", "skipped", "failed"]


class Searcher:
    """``run`` follows Postgres while the server lives."""

    def __init__(self, dsn: str, cache: Cache) -> None:
        self.indexes = Indexes(dsn)
        self._cache = cache
        self._made: dict[str, tuple[int, Vector]] = {}
        self._waited: dict[Scope, None] = {}
        self._threads = ThreadPoolExecutor(THREADS, "search")

    async def run(self) -> None:
        await self.indexes.run()

    async def find_related(
        self,
        scope: Scope,
        texts: Sequence[str],
        conversation: bytes,
        *,
        deadline_ms: int,
        before: float = FOREVER,
        is_counted: bool = True,
    ) -> ForPrompt | None:
        """Find what users said themselves, outside of this conversation and ``before`` the prompt came (in seconds
        since the epoch), that belongs to the texts; None if that takes too long. ``is_counted``: among the searches for
        prompts."""
        count = count_search if is_counted else ignore_search
        if (index := await self._find_index(scope, max(LOAD_MS, deadline_ms))) is None:
            count("skipped")
            return None
        started = time.perf_counter()
        deadline_s = deadline_ms / 1000
        work = asyncio.get_running_loop().run_in_executor(
            self._threads, self._search, index, texts, conversation, before, started + deadline_s
        )
        await asyncio.wait({work}, timeout=deadline_s)
        if not work.done():
            work.add_done_callback(lambda late: late.cancelled() or late.exception())
            count("late")
            return None
        if work.exception() is not None:
            count("failed")
        if (found := work.result()) is None:
            count("late")
        else:
            count("found" if found.lines else "nothing_found", time.perf_counter() - started)
        return found

    def told_at(self, scope: Scope, conversation: bytes) -> float:
        """Return when the speaker last told something in another conversation, in seconds since the epoch; 0 if never,
        or if the scope is not loaded."""
        index = self.indexes.find(scope)
        return index.told_at(int.from_bytes(conversation[:8])) if index is not None else 0.0

    def cached_vector(self, text: str) -> tuple[int, Vector] | None:
        """The embedder's id, and the vector of a message with these own words, if it was searched for lately."""
        return self._made.get(text)

    async def _find_index(self, scope: Scope, load_ms: int) -> Index | None:
        """A prompt waits for its scope once: where Postgres is slow, the next ones go on without. Who has more time
        waits again."""
        if scope in self._waited and load_ms == LOAD_MS:
            return self.indexes.find(scope)
        self._waited[scope] = None
        if len(self._waited) > WAITED_MAX:
            del self._waited[next(iter(self._waited))]
        index = await self.indexes.wait_for(scope, load_ms / 1000)
        if index is not None:
            self._waited.pop(scope, None)
        return index

    def _search(
        self, index: Index, texts: Sequence[str], conversation: bytes, before: float, deadline: float
    ) -> ForPrompt | None:
        """In a thread, which leaves the event loop the interpreter while it encodes and compares."""
        if (left_s := deadline - time.perf_counter()) <= 0:
            return None
        text, spaces = cut_query("\n".join(texts)), self.indexes.spaces
        vectors = embed_for(text, spaces, index, left_s, is_patient=False)
        current = spaces[0].id if spaces else 0
        if current in vectors and (len(texts) == 1 or len(texts[-1]) < SHORT_MAX):
            self._cache_vector(texts[-1], current, vectors[current])
        asked = ask(
            text,
            spaces,
            vectors,
            self._cache.rarity,
            before,
            conversation=int.from_bytes(conversation[:8]),
            find_ended=self._cache.find_ended,
        )
        return choose_for_prompt(index, asked)

    def _cache_vector(self, text: str, embedder: int, vector: Vector) -> None:
        if len(text) <= MADE_CHARACTERS:
            self._made.pop(text, None)
            self._made[text] = embedder, vector
            if len(self._made) > MADE_MAX:
                self._made.pop(next(iter(self._made)), None)


def count_search(result: Result, seconds: float = 0.0) -> None:
    """``seconds``: how long it took, where it was answered."""
    SEARCHES.labels(result).inc()
    if seconds:
        LATENCY.observe(seconds)


def ignore_search(result: Result, seconds: float = 0.0) -> None:
    pass


def sum_searches(samples: Samples) -> dict[str, int]:
    """Return the counts of searches. ``late`` ones met the deadline; for ``skipped`` ones what their speakers said was
    not loaded in time."""
    name = "festinger_searches_total"
    by_result = {result: total(name, samples, result=result) for result in get_args(Result)}
    answered = by_result["found"] + by_result.pop("nothing_found")
    return {"asked": total(name, samples), "answered": answered, **by_result}
