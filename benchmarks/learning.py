"""Times the way from a prompt that states a new fact until another process recalls it: through the table, the wake-up,
the worker, and back to the cache."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from itertools import islice
from pathlib import Path
from random import Random
from typing import Final

import orjson
import psycopg

from benchmarks.client import BenchmarkBroken, Connection, connected, run
from benchmarks.database import fresh
from benchmarks.figures import Figures, summarise
from benchmarks.plan import Plan
from benchmarks.prompts import Statement, chat, news, own, says
from benchmarks.servers import Server, festinger, model, worker

FACTS: Final = 10  # per round
PER_SECOND: Final = 20
PATIENCE_S: Final = 60.0
POLL_S: Final = 0.005
PAUSE_S: Final = 0.2  # at most; no two statements find the timers alike
TITLE: Final = "from a prompt that states a new fact until another process recalls it, with two proxies and a worker"
ALONE, AMONG = "one at a time", f"among {PER_SECOND} others a second"
AIM: Final = "p50 <= 300 ms, p99 <= 1,000 ms"
DURABLE: Final = ("fsync", "full_page_writes")  # what the scratch database goes without


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    database = fresh(home)
    with ExitStack() as stack:
        stack.enter_context(durable(database))
        mock = stack.enter_context(model(home))
        telling, asking = [stack.enter_context(festinger(home, mock.url, database)) for _ in range(2)]
        stack.enter_context(worker(home, database))
        delays = run(sample(telling, asking, plan.rounds * FACTS))
    rows = {name: {"facts": len(times)} | summarise(times) for name, times in delays.items()}
    yield Figures("learning", TITLE, rows, dict.fromkeys(rows, AIM))


async def sample(telling: Server, asking: Server, count: int) -> dict[str, list[float]]:
    """Return the milliseconds of each."""
    random = Random(12)
    found: dict[str, list[float]] = {}
    async with connected(telling.port) as [teller], connected(asking.port) as [asker]:
        await learn(teller, asker, next(news("slithy")))  # by then the worker has started
        facts = news("gimble")
        for name, rate in ((ALONE, 0), (AMONG, PER_SECOND)):
            async with talking(telling, rate):
                found[name] = []
                for fact in islice(facts, count):
                    await asyncio.sleep(random.uniform(0, PAUSE_S))
                    found[name].append(await learn(teller, asker, fact))
    return found


async def learn(telling: Connection, asking: Connection, fact: Statement) -> float:
    """Return the milliseconds until it is recalled. Raises BenchmarkBroken where it never is."""
    question = own("/recollect", text=f"Look at {fact.concept}.")
    started = time.perf_counter()
    await telling.ask(tell([fact]))
    while (taken_s := time.perf_counter() - started) < PATIENCE_S:
        block = orjson.loads(await asking.ask(question))["block"]
        if fact.is_in(block):
            return 1000 * (time.perf_counter() - started)
        await asyncio.sleep(POLL_S)
    raise BenchmarkBroken(f"after {taken_s:.0f} s {fact} is not in {block!r}")


def tell(facts: Sequence[Statement]) -> bytes:
    """Return a request with a conversation of its own."""
    return chat([says("user", " ".join(fact.sentence for fact in facts))])


@asynccontextmanager
async def talking(server: Server, rate: int) -> AsyncIterator[None]:
    """Have so many prompts a second state facts meanwhile. Raises what went wrong with them."""
    is_wanted = True

    async def talk() -> None:
        due_s = time.perf_counter()
        async with connected(server.port) as [connection]:
            for fact in news("zorblat"):
                if not is_wanted or not rate:
                    return
                await connection.ask(tell([fact]))
                due_s += 1 / rate
                await asyncio.sleep(due_s - time.perf_counter())

    task = asyncio.ensure_future(talk())
    yield
    is_wanted = False
    await task


@contextmanager
def durable(database: str) -> Iterator[None]:
    """Have Postgres wait for its disk, as that of ``make run`` does."""
    set_durable(database, "on")
    try:
        yield
    finally:
        set_durable(database, "off")


def set_durable(database: str, value: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        for name in DURABLE:
            connection.execute(f"ALTER SYSTEM SET {name} = {value}".encode())
        connection.execute("SELECT pg_reload_conf()")
