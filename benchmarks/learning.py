"""How long it takes from a prompt that states a new fact until that fact is recalled: through the table, the wake-up,
the worker, and back to the cache."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from random import Random
from statistics import median, quantiles

import orjson

from benchmarks.busy import facts
from benchmarks.client import BenchmarkBroken, Connection
from benchmarks.figures import Figures
from benchmarks.loop import run
from benchmarks.plan import Plan
from benchmarks.statements import PER_SECOND, Statement, Talk, news, prompt
from benchmarks.write_path import WritePath, write_path

FACTS = 10  # per round
PATIENCE_S = 60.0
POLL_S = 0.005
PAUSE_S = 0.2  # at most; no two statements find the timers alike
TITLE = "from a prompt that states a new fact until it is recalled, with proxy, worker and beat"
ALONE, AMONG = "one at a time", f"among {PER_SECOND} others a second"
AIM = "p50 <= 500 ms, p99 <= 2,000 ms"
HEAD = "POST /recollect HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    with write_path(home) as path:
        delays = run(measured(path, plan.rounds * FACTS))
    rows = {
        name: {
            "facts": len(of_facts),
            "p50 ms": median(of_facts),
            "p99 ms": quantiles(of_facts, n=100, method="inclusive")[-1],
            "longest ms": max(of_facts),
        }
        for name, of_facts in delays.items()
    }
    yield Figures("learning", TITLE, rows, dict.fromkeys(rows, AIM))


async def measured(path: WritePath, count: int) -> dict[str, list[float]]:
    """Milliseconds of each."""
    random = Random(12)
    with ExitStack() as stack:
        telling, asking, other = [await Connection.open(path.proxy.port) for _ in range(3)]
        for connection in (telling, asking, other):
            stack.callback(connection.close)
        alone = [await learned(telling, asking, fact, random) for fact in islice(news("gimble"), count)]
        talk = Talk(other, facts(news("zorblat")))
        among = [await learned(telling, asking, fact, random) for fact in islice(news("gyre"), count)]
        await talk.stop()
    return {ALONE: alone, AMONG: among}


async def learned(telling: Connection, asking: Connection, fact: Statement, random: Random) -> float:
    """Raises BenchmarkBroken where it never is."""
    await asyncio.sleep(random.uniform(0, PAUSE_S))
    line, question = f"\n{fact.concept}: [{fact.dimension}] {fact.parent}\n", recollect(f"Look at {fact.concept}.")
    started = time.perf_counter()
    await telling.ask(prompt([fact.sentence]))
    while True:
        block = orjson.loads(await asking.ask(question))["block"]
        taken_s = time.perf_counter() - started
        if line in block:
            return taken_s * 1000
        if taken_s > PATIENCE_S:
            raise BenchmarkBroken(f"after {PATIENCE_S:g} s {line!r} is not in {block!r}")
        await asyncio.sleep(POLL_S)


def recollect(text: str) -> bytes:
    body = orjson.dumps({"text": text})
    return f"{HEAD}Content-Length: {len(body)}\r\n\r\n".encode() + body
