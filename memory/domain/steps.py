"""Work in steps: a generator that yields where other tasks may run, and returns what came of it."""

from collections.abc import Generator
from typing import TypeVar

Result = TypeVar("Result")

Steps = Generator[None, None, Result]


def finish(steps: Steps[Result]) -> Result:
    """All steps at once, for callers that nobody waits beside."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            result: Result = stop.value
            return result
