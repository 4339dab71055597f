"""What tests of the resolution share."""

from collections.abc import Iterator

import pytest

from tests.certificates import one_authority
from tests.llm_server import llm
from tests.memory.conftest import dsn
from tests.resolution.racers import Racers

__all__ = ["dsn", "llm", "one_authority", "racers"]


@pytest.fixture
def racers(transactional_db: None) -> Iterator[Racers]:
    with Racers() as racers:
        yield racers
