"""Threads that start in the same moment, each with a connection of its own."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any, Self, TypeVar

import hypothesis
from django.db import DEFAULT_DB_ALIAS, connections

T = TypeVar("T")

# Of each race: 5 while developing, 60 at night.
ROUNDS = max(1, hypothesis.settings.default.max_examples // 5)
THREADS_MAX = 8
START_S = 30


class Racers:
    """The threads and their connections last for all rounds."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(THREADS_MAX)
        self._connections: set[Any] = set()

    def at_once(self, *works: Callable[[], T]) -> list[T]:
        """What the works return. Raises what one of them raised."""
        barrier = Barrier(len(works))

        def run(work: Callable[[], T]) -> T:
            connection = connections[DEFAULT_DB_ALIAS]
            if connection not in self._connections:
                connection.inc_thread_sharing()  # another thread closes it
                self._connections.add(connection)
            connection.ensure_connection()
            barrier.wait(timeout=START_S)
            return work()

        return list(self._pool.map(run, works))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()
        for connection in self._connections:
            connection.close()
