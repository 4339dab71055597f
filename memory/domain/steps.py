"""Runs work in steps: a generator that yields where other tasks may run, and returns the result."""

from collections.abc import Generator
from typing import TypeVar

Work = TypeVar("Work")

Steps = Generator[None, None, Work]


def finish(steps: Steps[Work]) -> Work:
    """Run all steps at once, for callers that block nobody."""
    while True:
        try:
            next(steps)
        except StopIteration as stop:
            result: Work = stop.value
            return result
