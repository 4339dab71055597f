"""Whether a bad row was tried against every constraint in the database."""

import pytest
from django.apps import apps
from django.db import connection

from tests.memory import test_constraints as memory
from tests.proxy import test_constraints as proxy
from tests.resolution import test_constraints as resolution

# Checks, unique and exclusion constraints; unique indexes with a condition, which are none to Postgres; triggers that
# run before a row is written, so that they can refuse it (those before TRUNCATE raise what the other trigger of their
# table does). A column that takes no NULL says so in its model.
NAMES = """
    SELECT conname FROM pg_constraint WHERE conrelid = ANY(%(tables)s::regclass[]) AND contype IN ('c', 'u', 'x')
    UNION
    SELECT index.relname FROM pg_index JOIN pg_class AS index ON index.oid = indexrelid
    WHERE indrelid = ANY(%(tables)s::regclass[]) AND indisunique AND NOT indisprimary
    UNION
    SELECT tgname FROM pg_trigger
    WHERE tgrelid = ANY(%(tables)s::regclass[]) AND NOT tgisinternal AND tgtype & 2 > 0 AND tgtype & 32 = 0
"""


@pytest.mark.django_db
def test_a_bad_row_was_tried_against_every_constraint() -> None:
    ours = [apps.get_app_config(label) for label in ("memory", "resolution", "proxy")]
    tables = [model._meta.db_table for app in ours for model in app.get_models() if model._meta.managed]
    with connection.cursor() as cursor:
        cursor.execute(NAMES, {"tables": tables})
        constraints = {name for (name,) in cursor.fetchall()}

    tried = {bad.constraint for tests in (memory, resolution, proxy) for bad in tests.BAD_ROWS}

    assert len(constraints) > 50
    assert constraints - tried == set()
