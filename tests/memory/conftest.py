"""What tests of the memory beside a real Postgres share."""

import pytest
from django.conf import settings
from django.db import connection
from psycopg.conninfo import make_conninfo

from memory.models import Config
from memory.search.vectors import schema
from tests.llm_server import llm

__all__ = ["dsn", "llm"]


@pytest.fixture
def dsn(transactional_db: None) -> str:
    """The address of the test's database, for connections of its own."""
    return make_conninfo(settings.DATABASE_URL, dbname=connection.settings_dict["NAME"])


@pytest.fixture
def vectors(db: None) -> None:
    """A database with vectors, as ``prepare`` makes it: the database of a test has none."""
    assert schema.make_tables() == ""


@pytest.fixture
def set_embedder(db: None):
    def change(value: str) -> None:
        Config.objects.update_or_create(key="embedder", defaults={"value": value})

    return change


@pytest.fixture
def drop_vectors(transactional_db: None):
    """For tests that commit: the tables would stay."""
    yield
    with connection.cursor() as cursor:
        cursor.execute("DROP EXTENSION IF EXISTS vector CASCADE; DROP TABLE IF EXISTS memory_vector, episode_vector")
