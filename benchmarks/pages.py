"""Times the admin's pages with as many facts, memories and messages as Festinger is meant for: every list, in each
way, and every page of a row, the heaviest ones, too. By Django's test client: all of the server's work, without
a socket. ``python -m benchmarks.pages ROUNDS`` opens them in the database of DATABASE_URL."""

import sys
import time
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any, Final

import orjson
import psutil
import psycopg

from benchmarks.database import AS_REPLICA, run_apart, set_up_django
from benchmarks.figures import Figures
from benchmarks.plan import Plan
from benchmarks.scale import large_world

ROUNDS_OF: Final = 5  # there are hundreds of pages
WORDS_OF_MESSAGES: Final = 0.06
AIM_MS, AIM_OF_HOME_MS = 300, 500
RECORDS: Final = Path(__file__).with_suffix(".sql")
EXPORT: Final = "resolution_transfer_export"  # a file of everything
NO_PAGE: Final = {302, 403, 404, 405}  # a step to another page, nothing to see, or only for posting


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    """A row for each way of opening a kind of page: the slowest of them."""
    facts = plan.tokens // 10
    database = large_world(home, tokens=int(plan.tokens * WORDS_OF_MESSAGES), edges=facts)
    record(home, database, messages=plan.tokens, memories=facts, facts=facts, conflicts=plan.tokens // 500)
    lines = run_apart(home, database, ["-m", "benchmarks.pages", str(plan.part(ROUNDS_OF))]).splitlines()
    slowest: dict[str, dict[str, Any]] = {}
    for page in sorted(map(orjson.loads, lines), key=lambda page: page["ms"]):
        slowest[page["kind"]] = page
    pages = dict(reversed(slowest.items()))
    columns = {"p50 ms": "ms", "processor ms": "processor_ms", "query ms": "query_ms", "queries": "queries"}
    rows = {kind: {name: page[key] for name, key in columns.items()} for kind, page in pages.items()}
    aims = {kind: f"<= {aim(kind)} ms: {page['address']}" for kind, page in pages.items() if page["ms"] > aim(kind)}
    size = f"{facts:,} facts, {facts:,} memories, {plan.tokens:,} messages"
    yield Figures("pages", f"the admin's pages, with {size}", rows, aims, [*pages.values()])


def aim(kind: str) -> int:
    return AIM_OF_HOME_MS if kind == "home" else AIM_MS


def record(home: Path, database: str, **sizes: int) -> None:
    """Add all that is not a word or a fact; some minutes for a million messages."""
    found = run_apart(home, database, ["-m", "benchmarks.pages", "embedder"])
    sql = RECORDS.read_text()
    for name, value in (orjson.loads(found) | sizes).items():
        sql = sql.replace(f":{name}", str(value))
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute(AS_REPLICA)
        for statement in sql.split(";\n"):
            connection.execute(statement.encode())


def main() -> None:
    """Open the pages, or do what ``record`` asks for."""
    set_up_django()
    if sys.argv[1] == "embedder":
        from memory.search.vectors import builtin

        [vector] = builtin.embed(["one"])
        sys.stdout.buffer.write(orjson.dumps({"embedder": builtin.current_name(), "dimensions": len(vector)}))
        return
    from django.contrib.auth.models import User
    from django.db import connection

    from memory.models import Embedder
    from memory.search.vectors.schema import add_index

    with connection.cursor() as cursor:
        cursor.execute("SET maintenance_work_mem = '1GB'")  # what the index needs while it is built
    add_index(Embedder.objects.get())
    user, _ = User.objects.get_or_create(username="benchmark", is_staff=True, is_superuser=True)
    for page in open_pages(user, int(sys.argv[1])):
        sys.stdout.buffer.write(orjson.dumps(page) + b"\n")
        sys.stdout.buffer.flush()


def open_pages(user: Any, rounds: int) -> Iterator[dict[str, Any]]:
    """Open each page twice to warm up, then ``rounds`` times; yield its kind, address, median milliseconds, those of
    the processor, here and in Postgres, number of queries, and the slowest query with its milliseconds."""
    from django.core.cache import cache
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from tests.site import pages

    client = Client(raise_request_exception=False, HTTP_HOST="127.0.0.1")
    client.force_login(user)
    connection.ensure_connection()
    processes = psutil.Process(), psutil.Process(connection.connection.info.backend_pid)

    def processor_ms() -> float:
        return 1000 * sum(sum(process.cpu_times()[:2]) for process in processes)

    for page in chain(pages.others(), pages.lists(user), pages.details()):
        if page.of == EXPORT or client.get(page.address).status_code in NO_PAGE:
            continue
        with CaptureQueriesContext(connection) as captured:
            status = client.get(page.address).status_code
        queries = sorted(captured.captured_queries, key=lambda query: float(query["time"]))
        times_ms, before_ms = [], processor_ms()
        for _ in range(rounds):
            cache.clear()  # of what somebody has searched for
            started = time.perf_counter()
            client.get(page.address)
            times_ms.append(1000 * (time.perf_counter() - started))
        yield {
            "kind": f"{page.of} {page.way}".strip(),
            "address": page.address,
            "status": status,
            "ms": median(times_ms),
            "processor_ms": (processor_ms() - before_ms) / rounds,
            "queries": len(queries),
            "query_ms": 1000 * float(queries[-1]["time"]) if queries else 0,
            "query": queries[-1]["sql"] if queries else "",
        }


if __name__ == "__main__":
    main()
