"""What follows a test that commits: Django would truncate all tables and then write content types and permissions
anew, half a second for each test."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from django.db import connection
from psycopg.sql import SQL, Composed, Identifier

APPEND_ONLY = ("edge_history", "decision", "decision_change")
FROM_MIGRATIONS = {"django_content_type", "auth_permission"}  # the same after every migration


def empty_tables() -> None:
    """Truncates the tables in which a row is."""
    with connection.cursor() as cursor:
        cursor.execute(_tables_with_rows())
        if found := [Identifier(table) for (table,) in cursor.fetchall()]:
            with emptying_history():
                cursor.execute(SQL("TRUNCATE {} CASCADE").format(SQL(", ").join(found)))


@contextmanager
def emptying_history() -> Iterator[None]:
    """Lets what is append-only be truncated."""
    with connection.cursor() as cursor:
        for change in ("DISABLE", "ENABLE"):
            cursor.execute(
                "".join(f"ALTER TABLE {table} {change} TRIGGER {table}_is_never_emptied;" for table in APPEND_ONLY)
            )
            if change == "DISABLE":
                yield


@cache
def _tables_with_rows() -> Composed:
    tables = sorted(set(connection.introspection.django_table_names(only_existing=True)) - FROM_MIGRATIONS)
    return SQL(" UNION ALL ").join(
        SQL("SELECT {} WHERE EXISTS (SELECT FROM {})").format(table, Identifier(table)) for table in tables
    )
