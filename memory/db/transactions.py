"""Transactions that are done again when others got in their way, and what Postgres says when it refuses a row."""

import logging
from collections.abc import Callable
from functools import partial, wraps
from typing import Final, ParamSpec, TypeVar

import psycopg
from django.db import IntegrityError, OperationalError, transaction

logger = logging.getLogger(__name__)

TRIES: Final = 5
# By the next try, whoever was in the way has committed.
PASSING: Final = (psycopg.errors.DeadlockDetected, psycopg.errors.SerializationFailure)

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class GraphChanged(Exception):
    """Somebody else has changed what was locked or looked at: the transaction has to be done again from its start."""


def run_transaction(work: Callable[[], Result]) -> Result:
    """What the work returns, done in one transaction, and up to TRIES times: again after GraphChanged or a deadlock.
    The last try raises what it meets."""
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
    """The function, each call of which is done by ``run_transaction``."""

    @wraps(work)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        return run_transaction(partial(work, *args, **kwargs))

    return run


def constraint_of(error: IntegrityError) -> str | None:
    diagnostics = getattr(error.__cause__, "diag", None)
    return getattr(diagnostics, "constraint_name", None)
