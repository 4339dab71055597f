"""Keeps the garbage collector from scanning long-lived objects again and again, which stalls all streams."""

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

FULL: Final = 2  # the generation whose collection scans everything
LONG_S: Final = 0.01  # CPU time of a full collection: some 50,000 objects that stay
GROWTH: Final = 1.5


@contextmanager
def pause_collector() -> Iterator[None]:
    """Pause the collector while many long-lived objects are created."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # it never scans these objects again
        gc.enable()


class SurvivorFreezer:
    """A callback of the collector that freezes what survives a long full collection.

    Caches fill up, and each full collection would take longer than the one before. The survivors of one that took
    ``long_s`` of CPU time are not scanned again. They are still freed when nothing refers to them, except for reference
    cycles. So it freezes only while ``is_calm``, and when ``GROWTH`` times as much is frozen as after the last full
    scan, the next collection scans everything once more."""

    def __init__(self, is_calm: Callable[[], bool], long_s: float = LONG_S) -> None:
        self._is_calm = is_calm
        self._long_s = long_s
        self._started = 0.0
        self._looks_at_all = True  # the collection under way
        self._thaw_at = 0  # frozen objects

    def __call__(self, phase: str, info: dict[str, Any]) -> None:
        if info["generation"] != FULL:
            return
        if phase == "start":
            self._started = time.thread_time()
        elif time.thread_time() - self._started >= self._long_s and self._is_calm():
            self._freeze()

    def _freeze(self) -> None:
        gc.freeze()
        frozen = gc.get_freeze_count()
        if self._looks_at_all:
            self._looks_at_all = False
            self._thaw_at = int(frozen * GROWTH)
        elif frozen >= self._thaw_at:
            gc.unfreeze()
            self._looks_at_all = True
