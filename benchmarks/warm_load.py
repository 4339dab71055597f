"""How long a process takes to load its picture of the world, and how much memory that needs."""

import asyncio
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import NamedTuple

import psutil
import psycopg

from benchmarks.database import dsn
from benchmarks.figures import Figures
from memory.cache import Cache
from memory.coherence import load

TOKENS = 100_000
EDGES = 30_000
MILLION = 1_000_000
LOADS_MAX = 3  # each in a process of its own
AIM = "1,000,000 tokens, 300,000 edges: <= 5 s, <= 800 MB"

# As a replica it runs no triggers: the ring check, row by row, would be most of the time, and nobody listens.
FILL = f"""
    SET session_replication_role = replica;
    INSERT INTO soas (token) SELECT 'word-' || n FROM generate_series(1, {TOKENS}) AS n;
    INSERT INTO urd (id, parent_id, dim_id, is_isa, confidence, source)
    SELECT word.id, parent.id, dimension.id, true, 0.9, 'cloud_llm'
    FROM soas AS word, soas AS parent, soas AS dimension
    WHERE word.token LIKE 'word-%' AND parent.token = 'service' AND dimension.token = 'type'
    ORDER BY word.id LIMIT {EDGES}
"""


class Loaded(NamedTuple):
    """``grown_bytes``: what the process took from the system for it."""

    tokens: int
    took_s: float
    grown_bytes: int


def measure(home: Path, rounds: int) -> Figures:
    with psycopg.connect(dsn(home)) as connection:
        connection.execute(FILL)
    loads = [load_in_new_process(dsn(home)) for _ in range(min(rounds, LOADS_MAX))]
    tokens = loads[0].tokens
    took_s = median(one.took_s for one in loads)
    row = {
        "tokens": tokens,
        "ms": took_s * 1000,
        "s per million": took_s / tokens * MILLION,
        "bytes per token": median(one.grown_bytes for one in loads) / tokens,
    }
    return Figures(f"cache: a warm load with {EDGES:,} edges", {"load": row}, {"load": AIM})


def load_in_new_process(where: str) -> Loaded:
    """Where nothing else has used memory, or left some to be used again."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(timed_load, where).result()


def timed_load(where: str) -> Loaded:
    return asyncio.run(_timed_load(where))


async def _timed_load(where: str) -> Loaded:
    cache = Cache()
    process = psutil.Process()
    async with await psycopg.AsyncConnection.connect(where, autocommit=True) as connection:
        before_bytes = process.memory_info().rss
        started = time.perf_counter()
        await load(cache, connection)
        took_s = time.perf_counter() - started
    return Loaded(len(cache.soas_by_token), took_s, process.memory_info().rss - before_bytes)
