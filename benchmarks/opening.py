"""Opens every page of the admin, in a process that has Django set up for a database: ``python -m benchmarks.opening
ROUNDS``, with the database in the environment. Prints a line of JSON for each page. With ``briefly`` at the end, lists
are opened in the usual way only, and no rows.

By django.test.Client: all of the server's own work, from the middleware to the last byte of the page, without a socket
and without the other requests of a busy process."""

import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import django
import orjson

if TYPE_CHECKING:
    from django.test import Client

    from benchmarks.pages import Found

NO_PAGE = {302, 403, 404, 405}  # a step to another page, nothing to see, or only for posting


@dataclass(frozen=True, slots=True)
class Opened:
    """``of``, ``way``, ``address`` as in benchmarks/pages.py. ``python_ms`` and ``postgres_ms`` are processor time,
    which tells more than ``ms`` where others use the machine. ``query``: the slowest."""

    of: str
    way: str
    address: str
    is_list: bool
    status: int
    ms: list[float]
    python_ms: float
    postgres_ms: float
    queries: int
    query_ms: float
    query: str


def main() -> None:
    django.setup()
    from django.contrib.auth.models import User
    from django.test import Client

    from benchmarks import pages

    user, _ = User.objects.get_or_create(username="benchmark", is_staff=True, is_superuser=True)
    client = Client(raise_request_exception=False, HTTP_HOST="127.0.0.1")
    client.force_login(user)
    found = chain(pages.others(), pages.lists(user), pages.details())
    if "briefly" in sys.argv:
        found = chain(pages.others(), (page for page in pages.lists(user) if page.way == pages.FIRST))
    for page in opened(client, found, int(sys.argv[1])):
        sys.stdout.buffer.write(orjson.dumps(asdict(page)) + b"\n")
        sys.stdout.buffer.flush()


def opened(client: "Client", pages: Iterable["Found"], rounds: int) -> Iterator[Opened]:
    for page in pages:
        if client.get(page.address).status_code in NO_PAGE:
            continue
        status, python_ms, postgres_ms, queries = observed(client, page.address)  # it is warm now
        slowest = max(queries, key=lambda query: float(query["time"]), default={"time": "0", "sql": ""})
        yield Opened(
            **asdict(page),
            status=status,
            ms=[timed(client, page.address) for _ in range(rounds)],
            python_ms=python_ms,
            postgres_ms=postgres_ms,
            queries=len(queries),
            query_ms=float(slowest["time"]) * 1000,
            query=slowest["sql"],
        )


def observed(client: "Client", address: str) -> tuple[int, float, float, list[dict[str, str]]]:
    """Its status, milliseconds of processor time here and in Postgres, and queries. Postgres has no help of other
    processes meanwhile, so that all of its work is counted."""
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    with connection.cursor() as cursor:
        cursor.execute("SET max_parallel_workers_per_gather = 0")
    python_before, postgres_before = cpu_ms()
    with CaptureQueriesContext(connection) as captured:
        status = client.get(address).status_code
    python_after, postgres_after = cpu_ms()
    queries = captured.captured_queries
    with connection.cursor() as cursor:
        cursor.execute("RESET max_parallel_workers_per_gather")
    return status, python_after - python_before, postgres_after - postgres_before, queries


def cpu_ms() -> tuple[float, float]:
    """Of this process, and of the one that serves it in Postgres."""
    from django.db import connection

    connection.ensure_connection()
    nanoseconds = Path(f"/proc/{connection.connection.info.backend_pid}/schedstat").read_text().split()[0]
    return time.process_time() * 1000, int(nanoseconds) / 1_000_000


def timed(client: "Client", address: str) -> float:
    """Milliseconds."""
    started = time.perf_counter()
    client.get(address)
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    main()
