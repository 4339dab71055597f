"""What tests of the resolution share."""

from collections.abc import Iterator

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from psycopg.conninfo import make_conninfo

from memory.db.locks import try_job_lock_on
from memory.running import bootstrap
from resolution.nightly.runs import LOCK
from tests.llm_server import llm
from tests.memory.conftest import dsn
from tests.resolution.racers import Racers
from tests.worlds import module_db

__all__ = ["another_process", "dsn", "llm", "module_db", "racers", "seed_dimensions"]


@pytest.fixture(scope="module")
def seed_dimensions(module_db: None) -> None:
    """The dimensions that every installation begins with, for all tests of the module."""
    bootstrap.load_dimensions()


@pytest.fixture
def another_process(db: None) -> Iterator[psycopg.Connection]:
    """The connection of a process that carries out a run, until it is closed."""
    address = make_conninfo(settings.DATABASE_URL, dbname=connection.settings_dict["NAME"])
    with psycopg.connect(address, autocommit=True) as other:
        assert try_job_lock_on(other, LOCK)
        yield other


@pytest.fixture
def racers(transactional_db: None) -> Iterator[Racers]:
    with Racers() as racers:
        yield racers
