"""The files in ``sql/`` say what the migrations have made."""

import re
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper

FILES = ("functions.sql", "triggers.sql")
READ = (settings.ROOT / "sql").joinpath
# What the files make beside functions and triggers, by how Postgres calls it.
TIES = re.compile(r"ADD CONSTRAINT (\w+)")
INDEXES = re.compile(r"^CREATE (?:UNIQUE )?INDEX (\w+)", re.MULTILINE)

OWN_FUNCTIONS = """
    SELECT p.oid::regprocedure::text, pg_get_functiondef(p.oid)
    FROM pg_proc AS p WHERE pronamespace = 'public'::regnamespace
        AND NOT EXISTS (SELECT FROM pg_depend WHERE objid = p.oid AND deptype = 'e')
"""
TRIGGERS = """
    SELECT tgrelid::regclass || '.' || tgname, pg_get_triggerdef(oid) || ' ' || tgenabled::text
    FROM pg_trigger WHERE NOT tgisinternal
"""
NAMED_CONSTRAINTS = "SELECT conname, conrelid::regclass || ' ' || pg_get_constraintdef(oid) FROM pg_constraint"
NAMED_INDEXES = "SELECT relname, pg_get_indexdef(oid) FROM pg_class WHERE relkind = 'i'"


@pytest.fixture
def cursor() -> Iterator[CursorWrapper]:
    with transaction.atomic(), connection.cursor() as cursor:
        yield cursor
        transaction.set_rollback(True)


def fetch_named(cursor: CursorWrapper, query: str, names: set[str] | None = None) -> dict[str, str]:
    cursor.execute(query)
    return {name: text for name, text in cursor.fetchall() if names is None or name in names}


def find_made(cursor: CursorWrapper, script: str) -> dict[str, dict[str, str]]:
    return {
        "functions": fetch_named(cursor, OWN_FUNCTIONS),
        "triggers": fetch_named(cursor, TRIGGERS),
        "constraints": fetch_named(cursor, NAMED_CONSTRAINTS, set(TIES.findall(script))),
        "indexes": fetch_named(cursor, NAMED_INDEXES, set(INDEXES.findall(script))),
    }


@pytest.mark.django_db(transaction=True)
def test_the_files_make_again_what_the_migrations_made(cursor: CursorWrapper) -> None:
    script = "\n".join(READ(name).read_text() for name in FILES)
    made_by_migrations = find_made(cursor, script)

    for name in made_by_migrations["functions"]:
        cursor.execute(f"DROP FUNCTION {name} CASCADE")  # with its triggers
    for name, text in reversed(made_by_migrations["constraints"].items()):
        cursor.execute(f"ALTER TABLE {text.split(' ', 1)[0]} DROP CONSTRAINT IF EXISTS {name} CASCADE")
    for name in made_by_migrations["indexes"]:
        cursor.execute(f"DROP INDEX {name}")
    assert not any(find_made(cursor, script).values())
    cursor.execute(script)

    assert find_made(cursor, script) == made_by_migrations
    assert {kind: len(made) > 0 for kind, made in made_by_migrations.items()} == dict.fromkeys(made_by_migrations, True)


def test_functions_come_first_and_everything_says_why_it_is_there() -> None:
    functions, triggers = (READ(name).read_text() for name in FILES)

    assert "CREATE TRIGGER" not in functions
    assert "CREATE FUNCTION" not in triggers
    assert re.findall(r"(?<=\n)CREATE FUNCTION (\w+)", functions) == re.findall(
        r"\n-- [^\n]+\nCREATE FUNCTION (\w+)", functions
    )
