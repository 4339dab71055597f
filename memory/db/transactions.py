"""Repeats transactions that others got in the way of, and reads what Postgres says when it refuses a row."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Final, ParamSpec, TypeVar

import psycopg
from django.db import IntegrityError, OperationalError, transaction

logger = logging.getLogger(__name__)

TRIES: Final = 5
# By the next try, the transaction in the way has committed.
PASSING: Final = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure)

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class GraphChanged(Exception):
    """Somebody else has changed what was locked or read: the transaction has to be repeated from its start."""


def run_transaction(work: Callable[[], Result]) -> Result:
    """Run ``work`` in one transaction and return its result. Retries after GraphChanged or a deadlock, up to TRIES
    times in all; the last try raises the error."""
    for _ in range(TRIES - 1):
        try:
            with transaction.atomic():
                return work()
        except GraphChanged:
            logger.info("transaction.again", extra={"why": "the graph changed"})
        except OperationalError as error:
            if not isinstance(error.__cause__, PASSING):
                raise
            logger.info("transaction.again", extra={"why": type(error.__cause__).__name__})
    with transaction.atomic():
        return work()


def in_transaction(work: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Make each call of the function run in ``run_transaction``."""

    @wraps(work)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        return run_transaction(partial(work, *args, **kwargs))

    return run


@contextmanager
def dry_run() -> Iterator[None]:
    """Roll back whatever the block writes. Nothing in it may call a language model: calls are logged durably."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def constraint_of(error: IntegrityError) -> str | None:
    diagnostics = getattr(error.__cause__, "diag", None)
    return getattr(diagnostics, "constraint_name", None)
