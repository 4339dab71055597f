"""Learning as a worker does it, in the process of the tests."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psycopg

from memory.cache.loader import load_cache
from memory.cache.state import Cache
from memory.cache.sync import Coherence
from memory.db.connections import open_connection
from memory.learning.learner import Learner

LOOK_AGAIN_S = 0.05


async def learn(dsn: str, cache: Cache | None = None) -> int:
    """From all messages that wait, with the graph as it is now; how many they were."""
    cache = cache or Cache()
    async with open_connection(dsn, "test") as connection:
        await load_cache(cache, connection)
    learner = Learner(cache, dsn)
    try:
        return await learner.learn()
    finally:
        await learner.close()


@contextmanager
def learning(dsn: str) -> Iterator[None]:
    """Goes on learning, in a thread."""
    over = threading.Event()

    async def go_on() -> None:
        coherence = Coherence(Cache(), dsn)
        following = asyncio.create_task(coherence.run())
        learner = Learner(coherence.cache, dsn)
        while not over.is_set():
            with suppress(psycopg.Error, OSError):
                if coherence.cache.loaded_at is not None:
                    await learner.learn()
            await asyncio.sleep(LOOK_AGAIN_S)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await learner.close()

    thread = threading.Thread(target=asyncio.run, args=(go_on(),), name="learner")
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
