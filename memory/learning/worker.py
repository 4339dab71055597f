"""The learner of a worker process, on an event loop of its own that keeps the process's copy of the graph in step."""

import asyncio
import threading
from functools import cache
from typing import Final

from django.apps import apps
from django.conf import settings

from memory.apps import MemoryConfig
from memory.learning.learner import Learner

LOAD_S: Final = 5.0  # how long a task waits for the graph; the next one finds it loaded
LEARN_S: Final = 60.0  # how long a task waits for the learner, which continues by itself
STOP_S: Final = 2.0


class LearningLoop:
    """The event loop's thread, which ends with the process, or on ``stop``."""

    def __init__(self) -> None:
        app = apps.get_app_config("memory")
        assert isinstance(app, MemoryConfig)
        self._coherence = app.coherence
        self._learner = Learner(app.cache, settings.DATABASE_URL)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="learning", daemon=True)
        self._thread.start()

    def learn(self) -> int:
        """Learn from what is due, and return from how many messages. Blocks.

        Raises psycopg.Error or OSError if Postgres is away, TimeoutError if it takes too long."""
        return asyncio.run_coroutine_threadsafe(self._learn(), self._loop).result(LEARN_S)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(STOP_S)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._following = self._loop.create_task(self._coherence.run())
        self._loop.run_forever()

    async def _learn(self) -> int:
        cache = self._coherence.cache
        async with asyncio.timeout(LOAD_S):
            while cache.loaded_at is None:
                self._coherence.tried.clear()
                await self._coherence.tried.wait()
        return await self._learner.learn()


@cache
def start_learning() -> LearningLoop:
    """Return the learning loop of this process."""
    return LearningLoop()
