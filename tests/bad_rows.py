"""Rows that a constraint has to refuse, tried in plain SQL: Django's validation never sees them.

Each app's ``test_constraints.py`` has a good row for each of its tables, and what spoils it. ``test_constraints.py``
beside this file looks whether every constraint in the database was tried.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import IntegrityError, connection

from memory.db.transactions import constraint_of

Row = Mapping[str, Any]
A, B, C, D = range(1_000_001, 1_000_005)  # ids of words
AT_ONCE = "SET CONSTRAINTS ALL IMMEDIATE"  # what is deferred would be in the way of TRUNCATE


@dataclass(frozen=True)
class BadRow:
    """The good row of the table with ``changes``; or else a ``statement`` that is to be refused. ``beside``: another
    good row with changes, that is there already. ``first``: a statement that is run before all."""

    constraint: str
    table: str
    changes: Row = field(default_factory=dict)
    beside: Row | None = None
    statement: str = ""
    first: str = ""

    def __str__(self) -> str:
        changes = [f"{name}={_show(value)}" for name, value in self.changes.items()]
        return " ".join([self.constraint, *changes, self.statement]).strip()


def _show(value: object) -> str:
    return f"{len(value)} bytes" if isinstance(value, bytes) else repr(value)


def run(sql: str, *arguments: object) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, arguments)


def insert(table: str, row: Row) -> None:
    run(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join(['%s'] * len(row))})", *row.values())


def add_words() -> None:
    """``a`` to ``d``, which most rows are about."""
    for word_id, token in zip((A, B, C, D), "abcd", strict=True):
        insert("soas", {"id": word_id, "token": token})


def catch_violation(sql: str, *arguments: object) -> str | None:
    """The constraint that refuses the statement."""
    with pytest.raises(IntegrityError) as caught:
        run(sql, *arguments)
    return constraint_of(caught.value)


def check_refused(bad: BadRow, good: Mapping[str, Row]) -> None:
    if bad.first:
        run(bad.first)
    if bad.beside is not None:
        insert(bad.table, {**good[bad.table], **bad.beside})
    if bad.statement:
        assert catch_violation(bad.statement) == bad.constraint
        return
    with pytest.raises(IntegrityError) as caught:
        insert(bad.table, {**good[bad.table], **bad.changes})
    assert constraint_of(caught.value) == bad.constraint
