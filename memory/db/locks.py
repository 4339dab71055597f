"""The advisory locks of Postgres that Festinger takes, all in one place so that no number has two meanings."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from enum import IntEnum
from typing import Any, Final

import psycopg
from django.db import Error, connection


class Lock(IntEnum):
    """The first of a lock's two numbers; the second tells locks of one kind apart."""

    DIMENSION = 74  # by the dimension's id; the trigger that refuses cycles takes it, too (sql/functions.sql)
    VOCABULARY = 75  # flushers that update the same words in another order would deadlock; pruning deletes words
    JOB = 76  # by the hash of the job's name
    LLM_CALLS = 77  # between counting the calls of a day and adding one
    MEMORY = 78  # by the hash of a place that one memory may have: two writers of it cannot both be the first
    PROJECTS = 79  # between counting the projects and adding one that a request names
    UPSTREAM_CALL = 80  # while a model of the upstream is asked
    QUOTA = 81  # by whom it counts for, between reading what is used up and adding to it
    # A single number of 64 bits. Hosts that run different versions share it: it must not change.
    PREPARATION = 4_119_570_001


# Parameters: the lock and its second numbers, ascending: a fixed order prevents deadlocks.
UNTIL_COMMIT: Final = "SELECT pg_advisory_xact_lock(%s, number) FROM unnest(%s::int[]) AS number"

TRY_JOB: Final = "SELECT pg_try_advisory_lock(%s, hashtext(%s))"
IS_JOB_HELD: Final = """
    SELECT EXISTS (
        SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND classid = %s
        AND objid::bigint = hashtext(%s)::bigint & 4294967295
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    )
"""


def lock_until_commit(lock: Lock, numbers: Iterable[int] = (0,)) -> None:
    """Wait for the lock, which the caller's transaction then holds until it ends."""
    with connection.cursor() as cursor:
        cursor.execute(UNTIL_COMMIT, [lock, sorted(set(numbers))])


def try_job_lock_on(holder: psycopg.Connection[Any], job: str) -> bool:
    """True if no other process does this job; none can begin it until this connection ends."""
    row = holder.execute(TRY_JOB, [Lock.JOB, job]).fetchone()
    return row == (True,)


@contextmanager
def try_job_lock(job: str) -> Iterator[bool]:
    """Yield True if no other process does this job; none can begin it until the block ends."""
    with connection.cursor() as cursor:
        cursor.execute(TRY_JOB, [Lock.JOB, job])
        (is_alone,) = cursor.fetchone()
    try:
        yield is_alone
    finally:
        with suppress(Error), connection.cursor() as cursor:  # a lost connection has lost its lock, too
            if is_alone:
                cursor.execute("SELECT pg_advisory_unlock(%s, hashtext(%s))", [Lock.JOB, job])


def is_job_held(job: str) -> bool:
    """True if a process, perhaps this one, does this job."""
    with connection.cursor() as cursor:
        cursor.execute(IS_JOB_HELD, [Lock.JOB, job])
        return cursor.fetchone() == (True,)


@contextmanager
def hold_preparation_lock() -> Iterator[None]:
    """Wait until no other host prepares this database; none can begin to until the block ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [Lock.PREPARATION])
        try:
            yield
        finally:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [Lock.PREPARATION])
