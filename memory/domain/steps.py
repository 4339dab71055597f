"""Work in steps: a generator that yields where other tasks may run, and returns what came of it."""

from collections.abc import Generator
from typing import TypeVar

Work = TypeVar("Work")

Steps = Generator[None, None, Work]


def finish(steps: Steps[Work]) -> Work:
    """All steps at once, for callers that nobody waits beside."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            result: Work = stop.value
            return result
