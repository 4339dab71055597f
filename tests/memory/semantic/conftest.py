"""A database with vectors, as ``prepare`` makes it: the database of a test has none."""

import pytest
from django.db import connection

from memory.models import Config
from memory.semantic.vectors import schema


@pytest.fixture
def vectors(db: None) -> None:
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
