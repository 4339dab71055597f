"""One stand-in for the tests of a file, its record empty at the start of each."""

from collections.abc import Iterator

import httpx
import pytest

from memory.learning import reader
from tests.memory.conftest import dsn
from tests.standin import StandIn

__all__ = ["dsn", "http", "running", "standin"]


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine changes no outcome."""
    monkeypatch.setattr(reader, "NEW_TEXT_S", 10.0)


@pytest.fixture(scope="module")
def running() -> Iterator[StandIn]:
    with StandIn() as standin:
        yield standin


@pytest.fixture
def standin(running: StandIn) -> StandIn:
    running.clear()
    return running


@pytest.fixture
def http(standin: StandIn) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=standin.url, trust_env=False, timeout=5) as client:
        yield client
