"""What tests of the resolution share."""

from collections.abc import Iterator

import pytest

from memory.running import bootstrap
from tests.certificates import one_authority
from tests.llm_server import llm
from tests.memory.conftest import dsn
from tests.resolution.racers import Racers
from tests.worlds import module_db

__all__ = ["dsn", "llm", "module_db", "one_authority", "racers", "seed_dimensions"]


@pytest.fixture(scope="module")
def seed_dimensions(module_db: None) -> None:
    """The dimensions that every installation begins with, for all tests of the module."""
    bootstrap.load_dimensions()


@pytest.fixture
def racers(transactional_db: None) -> Iterator[Racers]:
    with Racers() as racers:
        yield racers
