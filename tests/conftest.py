"""The order of the tests: what takes long begins first, so that at the end no process waits for the other."""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
FIRST = ("served/test_kills.py", "benchmarks", "served", "browser", "site", "conformance", "resolution")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _place(item.path.relative_to(TESTS).as_posix()))


def _place(file: str) -> int:
    return next((place for place, beginning in enumerate(FIRST) if file.startswith(beginning)), len(FIRST))
