"""How soon a change that was committed in Postgres is in the cache of every server process."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from itertools import cycle, islice
from statistics import median, quantiles

import orjson
import psycopg

from benchmarks.client import BenchmarkBroken, Connection
from benchmarks.figures import Figures, Rows
from benchmarks.servers import Server

PATIENCE_S = 10.0
TITLE = "an edge is moved with SQL: from its commit until the process recalls it; `poll` is how often we look"
AIM = "p99 <= 100 ms"

# A fact that the benchmark taught, between two parents that are there.
CONCEPT, DIMENSION, PARENTS = "gnommoweb", "glitch_university", ("service", "repo")
MOVE = f"""
    UPDATE urd SET parent_id = (SELECT id FROM soas WHERE token = %s)
    WHERE id = (SELECT id FROM soas WHERE token = '{CONCEPT}')
      AND dim_id = (SELECT id FROM soas WHERE token = '{DIMENSION}')
"""
TEXT = orjson.dumps({"text": f"Look at {CONCEPT}."})
HEAD = "POST /recollect HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
RECOLLECT = f"{HEAD}Content-Length: {len(TEXT)}\r\n\r\n".encode() + TEXT


@dataclass(slots=True)
class Delays:
    """Of one process, in milliseconds: per change, and per look at it."""

    changes: list[float] = field(default_factory=list)
    polls: list[float] = field(default_factory=list)


async def measured(servers: Sequence[Server], database: str, count: int) -> Figures:
    delays = [Delays() for _ in servers]
    async with AsyncExitStack() as stack:
        postgres = await stack.enter_async_context(await psycopg.AsyncConnection.connect(database, autocommit=True))
        processes = [await Connection.open(server.port) for server in servers]
        for process in processes:
            stack.callback(process.close)
        for parent in islice(cycle(PARENTS), count):
            await postgres.execute(MOVE, [parent])
            committed = time.perf_counter()
            pairs = zip(processes, delays, strict=True)
            await asyncio.gather(*(until_visible(process, parent, committed, found) for process, found in pairs))
    names = [f"process {number}" for number in range(1, len(servers) + 1)]
    return Figures("changes", TITLE, rows(names, delays), dict.fromkeys(names, AIM))


async def until_visible(process: Connection, parent: str, committed: float, delays: Delays) -> None:
    """Raises BenchmarkBroken where it never is."""
    line = f"{CONCEPT}: [{DIMENSION}] {parent}\n"
    asked = committed
    while asked - committed < PATIENCE_S:
        block = orjson.loads(await process.ask(RECOLLECT))["block"]
        answered = time.perf_counter()
        delays.polls.append((answered - asked) * 1000)
        if line in block:
            delays.changes.append((answered - committed) * 1000)
            return
        asked = answered
    raise BenchmarkBroken(f"after {PATIENCE_S:g} s {line!r} is not in {block!r}")


def rows(names: Sequence[str], delays: Sequence[Delays]) -> Rows:
    return {
        name: {
            "changes": len(found.changes),
            "p50 ms": median(found.changes),
            "p99 ms": quantiles(found.changes, n=100, method="inclusive")[-1],
            "poll ms": median(found.polls),
        }
        for name, found in zip(names, delays, strict=True)
    }
