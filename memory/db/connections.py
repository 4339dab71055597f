"""The server's own connections to Postgres, which, unlike Django's, never block the event loop; and functions around
connections."""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from itertools import islice
from typing import Any, TypeVar

import psycopg
from django.db import InterfaceError, OperationalError, connection
from psycopg.conninfo import make_conninfo
from psycopg.rows import TupleRow

logger = logging.getLogger(__name__)

Write = tuple[str, Sequence[Any]]  # a statement that writes, and its arguments
Connection = psycopg.AsyncConnection[TupleRow]

Item = TypeVar("Item")
Result = TypeVar("Result")

CONNECT_S = 5
# SQL for a time in seconds since the epoch, by this machine's clock; a time that it has put into the future becomes
# now.
PAST = "CASE WHEN {0} > extract(epoch FROM now()) + 60 THEN now() ELSE to_timestamp({0}) END"
# Seconds. A connection that died silently is noticed within half a minute.
KEEPALIVES = {"keepalives_idle": 15, "keepalives_interval": 5, "keepalives_count": 3}


@asynccontextmanager
async def open_connection(dsn: str, name: str) -> AsyncIterator[Connection]:
    """Open a connection that commits each statement. ``name`` is shown in pg_stat_activity, after "festinger".

    Raises psycopg.OperationalError if Postgres does not answer within ``CONNECT_S`` seconds. It may stop answering
    later: callers that cannot wait must set a time limit."""
    # No pool: busy callers keep their own connection, the others connect every few seconds at most.
    opened = await psycopg.AsyncConnection.connect(
        make_conninfo(dsn, **KEEPALIVES),
        autocommit=True,
        connect_timeout=CONNECT_S,
        application_name=f"festinger {name}",
    )
    try:
        yield opened
    finally:
        # The connection's own context commits first, or rolls back: an error or a second cancellation there would leave
        # it open.
        await opened.close()


class KeptConnection:
    """A connection that is opened on demand, and again after it was lost."""

    def __init__(self, dsn: str, name: str) -> None:
        self.dsn = dsn
        self._name = name
        self.opened: Connection | None = None
        self._lifetime = AsyncExitStack()

    async def get(self) -> Connection:
        if self.opened is None or self.opened.closed:
            self.opened = await self._lifetime.enter_async_context(open_connection(self.dsn, self._name))
        return self.opened

    async def close(self) -> None:
        self.opened = None
        with suppress(psycopg.Error, OSError):
            await self._lifetime.aclose()


def connect(dsn: str, name: str) -> psycopg.Connection[TupleRow]:
    """Like ``open_connection``, for a thread of its own, which closes it."""
    return psycopg.connect(
        make_conninfo(dsn, **KEEPALIVES),
        autocommit=True,
        connect_timeout=CONNECT_S,
        application_name=f"festinger {name}",
    )


def fetch_rows(query: str, arguments: Any = None) -> list[tuple[Any, ...]]:
    """Run a query over Django's connection."""
    with connection.cursor() as cursor:
        cursor.execute(query, arguments)
        return cursor.fetchall()


def run_together(*writes: Write) -> None:
    """Run writes of different rows as one statement, over Django's connection: none sees what the others write."""
    if writes:
        parts = ", ".join(f"write{number} AS ({query})" for number, (query, _) in enumerate(writes))
        with connection.cursor() as cursor:
            cursor.execute(f"WITH {parts} SELECT", [value for _, arguments in writes for value in arguments])


def is_lost(error: BaseException) -> bool:
    """True if it was raised because Postgres is not there, or went away during the operation."""
    link: BaseException | None = error
    while link is not None:
        # An error that libpq notices by itself has no SQLSTATE, and is a bare DatabaseError. Cleaning up after a lost
        # connection raises further errors: that autocommit cannot be switched on, that a cursor is closed.
        if isinstance(link, psycopg.OperationalError | psycopg.InterfaceError) or type(link) is psycopg.DatabaseError:
            return True
        link = link.__cause__ or link.__context__
    return False


def raise_if_away(error: Exception) -> None:
    """Raise the error of a statement over Django's connection again if Postgres does not answer any more or its disk is
    full: then no row is to blame."""
    if isinstance(error, OperationalError | InterfaceError):
        is_full = isinstance(error.__cause__, psycopg.errors.DiskFull)
        if is_full or not connection.is_usable():
            raise error


async def insert_in_parts(
    rows: Sequence[Item], insert: Callable[[Sequence[Item]], Awaitable[Result]], table: str
) -> tuple[list[Result], int]:
    """Insert rows. If Postgres refuses a batch, it is halved until the bad rows are found. Returns the results of the
    parts, and how many rows were refused."""
    # No transaction around the halves: what was taken stays.
    try:
        return [await insert(rows)], 0
    except (psycopg.DataError, psycopg.IntegrityError, psycopg.errors.CardinalityViolation) as error:
        if len(rows) == 1:
            # Postgres's error may quote what was said.
            logger.warning("rows.refused", extra={"table": table, "error": first_line(error).partition('"')[0]})
            return [], 1
    middle = len(rows) // 2
    first, refused = await insert_in_parts(rows[:middle], insert, table)
    second, others = await insert_in_parts(rows[middle:], insert, table)
    return first + second, refused + others


def columns(rows: Iterable[Sequence[object]], count: int) -> list[list[object]]:
    """Transpose rows into columns, as ``unnest`` takes them."""
    table = list(rows)
    return [[row[at] for row in table] for at in range(count)]


def chunks(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    waiting = iter(items)
    while chunk := list(islice(waiting, size)):
        yield chunk


def first_line(error: BaseException) -> str:
    """Return the part of an error that fits a log line."""
    return str(error).partition("\n")[0] or type(error).__name__
