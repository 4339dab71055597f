"""What tests of the memory beside a real Postgres share."""

import pytest
from django.conf import settings
from django.db import connection
from psycopg.conninfo import make_conninfo

from tests.certificates import one_authority
from tests.llm_server import llm

__all__ = ["dsn", "llm", "one_authority"]


@pytest.fixture
def dsn(transactional_db: None) -> str:
    """The address of the test's database, for connections of its own."""
    return make_conninfo(settings.DATABASE_URL, dbname=connection.settings_dict["NAME"])
