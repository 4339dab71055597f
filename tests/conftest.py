"""The order of the tests: what takes long begins first, so that at the end no process waits for the other."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FIRST = ("served/test_kills.py", "benchmarks", "served", "browser", "site", "conformance", "resolution")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _place(item.path.relative_to(TESTS).as_posix()))


def _place(file: str) -> int:
    return next((place for place, beginning in enumerate(FIRST) if file.startswith(beginning)), len(FIRST))


@pytest.fixture(scope="session", autouse=True)
def _emptied_cheaply() -> Iterator[None]:
    from django.test import TransactionTestCase

    from tests.flushing import empty_tables

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda case: empty_tables())
        yield


@pytest.fixture
def collected_between_tests() -> Iterator[None]:
    """For tests with LiteLLM, which leaves streams to the garbage collector. httpcore closes such a stream under its
    pool's lock; where the collector comes while the same thread holds that lock, the thread waits for itself, forever.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.collect(1)  # what is young: all of it takes LiteLLM's half a gigabyte through the processor
