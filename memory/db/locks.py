"""The advisory locks of Postgres that Festinger takes, all named here so that no two mean different things by one
number."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from typing import Any, Final

import psycopg
from django.db import Error, connection


class Lock(IntEnum):
    """The first of the two numbers of a lock; the second says which one of its kind."""

    DIMENSION = 74  # by the dimension's id; the trigger that refuses cycles takes it, too (sql/functions.sql)
    VOCABULARY = 75  # flushers that update the same words in another order would deadlock; pruning deletes words
    JOB = 76  # by the hash of the job's name
    LLM_CALLS = 77  # between counting the calls of a day and adding one
    MEMORY = 78  # by the hash of a place that one memory may have: two writers of it cannot both be the first
    PROJECTS = 79  # between counting the projects and adding one that a request names
    # Alone a number of 64 bits. Hosts that run different versions meet at it: it must not change.
    PREPARATION = 4_119_570_001


# Parameters: the lock and its second numbers, ascending: who takes several in one order cannot deadlock.
UNTIL_COMMIT: Final = "SELECT pg_advisory_xact_lock(%s, number) FROM unnest(%s::int[]) AS number"

TRY_JOB: Final = "SELECT pg_try_advisory_lock(%s, hashtext(%s))"


def lock_until_commit(lock: Lock, numbers: Iterable[int] = (0,)) -> None:
    """Waits for the lock, which the caller's transaction then holds to its end."""
    with connection.cursor() as cursor:
        cursor.execute(UNTIL_COMMIT, [lock, sorted(set(numbers))])


def try_job_lock_on(holder: psycopg.Connection[Any], job: str) -> bool:
    """True if no other process does this job; until this connection ends, none can begin it."""
    row = holder.execute(TRY_JOB, [Lock.JOB, job]).fetchone()
    return row == (True,)


@contextmanager
def try_job_lock(job: str) -> Iterator[bool]:
    """True where no other process does this job; until the end, none can begin it."""
    with connection.cursor() as cursor:
        cursor.execute(TRY_JOB, [Lock.JOB, job])
        (is_alone,) = cursor.fetchone()
    try:
        yield is_alone
    finally:
        with suppress(Error), connection.cursor() as cursor:  # a lost connection has lost its lock, too
            if is_alone:
                cursor.execute("SELECT pg_advisory_unlock(%s, hashtext(%s))", [Lock.JOB, job])


@contextmanager
def hold_preparation_lock() -> Iterator[None]:
    """Waits until no other host prepares this database; until the end, none can begin to."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [Lock.PREPARATION])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [Lock.PREPARATION])
