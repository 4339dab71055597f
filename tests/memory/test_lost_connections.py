"""Errors that tell that Postgres is not there, told from those that are its answer."""

from itertools import pairwise

import django.db
import psycopg
import pytest

from memory.db.connections import is_lost


def raised(*chain: BaseException, is_cause: bool) -> BaseException:
    """The last of them, each met with the one before."""
    for met, error in pairwise(chain):
        if is_cause:
            error.__cause__ = met
        else:
            error.__context__ = met
    return chain[-1]


@pytest.mark.parametrize("is_cause", [True, False])
@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        ([psycopg.OperationalError("server closed the connection"), django.db.OperationalError()], True),
        ([psycopg.InterfaceError("the connection is in status 3"), django.db.InterfaceError()], True),
        ([psycopg.DatabaseError("no SQLSTATE: libpq says so"), django.db.DatabaseError()], True),
        (
            [
                psycopg.errors.AdminShutdown(),
                django.db.OperationalError(),
                psycopg.ProgrammingError("can't change 'autocommit' now: connection in transaction status UNKNOWN"),
                django.db.ProgrammingError(),
            ],
            True,
        ),
        ([psycopg.DataError("NUL"), django.db.DataError()], False),
        ([psycopg.errors.UniqueViolation(), django.db.IntegrityError()], False),
        ([psycopg.errors.UndefinedTable(), django.db.ProgrammingError()], False),
        ([KeyError(), ValueError()], False),
    ],
)
def test_lost_connections_are_told_from_answers(chain: list[BaseException], is_cause: bool, expected: bool) -> None:
    assert is_lost(raised(*chain, is_cause=is_cause)) is expected
