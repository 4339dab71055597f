"""Times searches among a great many memories and messages, and how fast these are stored and embedded.

``python -m benchmarks.retrieval_scale MEMORIES EPISODES`` measures it in a process of its own, in the database of
DATABASE_URL; prints JSON.
"""

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from random import Random
from statistics import median
from typing import Any

import psycopg

from benchmarks.client import BenchmarkBroken
from benchmarks.database import fresh
from benchmarks.figures import Figures
from benchmarks.plan import Plan
from festinger_site import home as homes
from festinger_site.dev import scratch_instance

FIRST, WORDS = 30, 100_000  # ranks of words, the n-th n times rarer than the first: stop words are not searched for
SPEAKERS = 500  # besides the one who has said half of it, and
OWN = 10_000  # the one who has said so many messages last, a hundredth of all at most
DIMENSIONS = 384  # of the built-in embedder
EMBEDDED_MAX = 200_000  # the setting's default
CENTRES = 1_000
SPREAD = 0.75  # length of what a vector has beside its centre, to which its cosine is then 0.8
DAYS = 85  # over which it was said: less than the setting keeps
BUILD_MEMORY, BUILD_PROCESSES = "512MB", 2
FILLERS, SLICE = 2, 100_000  # connections, and rows of a statement
PROMPTS = 300
LOAD_S = 5.0  # for what a speaker said, in the background
DEADLINE_MS = 15  # far below the default: what takes longer is not counted as answered
AT_ONCE = 64
STORED = 5_000  # messages, in batches as the proxy writes them
STORED_AT_ONCE = 100
TITLE = "search among {memories:,} memories and {episodes:,} messages, of which one speaker said half"
HELD = f"of one who said {OWN:,}"
AIMS = {
    HELD: "p50 ms <= 4",
    "by itself": f"in time (within {DEADLINE_MS} ms) >= 95 %",
    "asked for": "p95 ms <= 80",
    "stored": ">= 500/s",
    "embedded": ">= 40/s",  # twice as many as come
}

# As a replica it runs no triggers: nothing of this waits to be embedded.
AS_REPLICA = "SET session_replication_role = replica"
BEFORE = f"""
    SET maintenance_work_mem = '{BUILD_MEMORY}'; SET max_parallel_maintenance_workers = {BUILD_PROCESSES};
    CREATE UNLOGGED TABLE word (rank int PRIMARY KEY, word text)
"""
AFTER = "SET session_replication_role = origin; RESET maintenance_work_mem; DROP TABLE word"
INDEXES = """
    SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid) FROM pg_index
    WHERE indrelid IN ('episode'::regclass, 'memory'::regclass) AND NOT indisunique ORDER BY indrelid, indexrelid
"""
RANK = f"floor({FIRST} * ({WORDS} / {FIRST}) ^ random())::int"
SAY = f"""
    SELECT n, (
        SELECT string_agg((SELECT word FROM word WHERE word.rank = drawn.rank), ' ')
        FROM (SELECT {RANK} + n * 0 AS rank FROM generate_series(1, 8 + n %% 16)) drawn
    ) AS text, CASE
        WHEN n > %(count)s - least(2 * {OWN}, %(count)s / 50) THEN 'agent-own'
        WHEN n / 40 %% %(one_in)s = 0 THEN 'agent-0'
        ELSE 'agent-' || (1 + n / (40 * %(one_in)s) %% %(speakers)s)
    END AS agent
    FROM generate_series(%(first)s, least(%(first)s + {SLICE} - 1, %(count)s)) AS n
"""
EPISODES = f"""
    INSERT INTO episode (digest, conversation, agent, role, text, lexemes, said_at, read_at)
    SELECT sha256(n::text::bytea), substr(sha256((n / 40)::text::bytea), 1, 16), agent,
        CASE n %% 2 WHEN 0 THEN 'user' ELSE 'assistant' END, text,
        setweight(to_tsvector('english', text), CASE n %% 2 WHEN 0 THEN 'A'::"char" ELSE 'C' END),
        now() - (%(count)s - n) * interval '{DAYS} days' / %(count)s, now()
    FROM ({SAY}) said
"""
MEMORIES = f"""
    INSERT INTO memory (text, agent, source, category, confidence)
    SELECT left(text, 500), agent, 'stated', (ARRAY['preference', 'project', 'other'])[1 + n %% 3], 0.5 + n %% 5 * 0.1
    FROM ({SAY}) said
"""
NEWEST = "SELECT id, text FROM {kind} ORDER BY id DESC LIMIT %s"


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    command = [sys.executable, "-m", "benchmarks.retrieval_scale", str(plan.memories), str(plan.episodes)]
    environment = scratch_instance.environment(home, port=1, ollama="http://127.0.0.1:1")
    done = subprocess.run(
        command, cwd=homes.PROJECT, env=environment | {"DATABASE_URL": fresh(home)}, capture_output=True, check=False
    )
    if done.returncode:
        raise BenchmarkBroken(done.stderr.decode(errors="replace")[-2_000:])
    title = TITLE.format(memories=plan.memories, episodes=plan.episodes)
    yield Figures("search", title, json.loads(done.stdout), AIMS)


def main() -> None:
    """In a process of its own, which has Django."""
    import django

    django.setup()
    memories, episodes = map(int, sys.argv[1:])
    fill(memories, episodes)
    print(json.dumps(measure_all(os.environ["DATABASE_URL"])))


def fill(memories: int, episodes: int, *, speakers: int = SPEAKERS, one_in: int = 2) -> dict[str, float]:
    """Returns the seconds of each step. ``one_in``: of so many conversations one is of the speaker who has most.
    In a process that has Django."""
    from django.db import connection

    from memory.models import Embedder
    from memory.search.vectors import builtin, schema
    from memory.search.vectors.embedders import BUILTIN_NOISE

    chance = BUILTIN_NOISE[builtin.current_name()]
    noise = {"noise_mean": chance.mean, "noise_deviation": chance.deviation}
    known = {"dimensions": DIMENSIONS, "is_current": True, **noise}
    embedder, _ = Embedder.objects.update_or_create(name=builtin.current_name(), defaults=known)
    who = {"speakers": speakers, "one_in": one_in}
    timer = Timer()
    with connection.cursor() as cursor:
        cursor.execute(BEFORE)
        cursor.execute(AS_REPLICA)
        cursor.executemany("INSERT INTO word VALUES (%s, %s)", list(enumerate(words())))
        cursor.execute(INDEXES)
        indexes = cursor.fetchall()
        cursor.execute(f"DROP INDEX {', '.join(name for name, _ in indexes)}")
        insert(EPISODES, episodes, who)
        timer.note("messages")
        insert(MEMORIES, memories, who)
        timer.note("memories")
        for _, definition in indexes:
            cursor.execute(definition)
        timer.note("indexes")
        for kind in ("episode", "memory"):
            write_vectors(cursor, kind, embedder.pk)
        timer.note("vectors")
        schema.add_index(embedder)
        timer.note("index of vectors")
        cursor.execute(AFTER)
        cursor.execute("VACUUM ANALYZE")
        timer.note("statistics")
    return timer.seconds


def insert(statement: str, rows: int, who: Mapping[str, int]) -> None:
    from django.db import connection

    def insert_slice(first: int) -> None:
        with connection.cursor() as cursor:
            cursor.execute(statement, {**who, "count": rows, "first": first})

    # Each thread has a connection, and Postgres a process for it.
    with ThreadPoolExecutor(FILLERS, initializer=lambda: connection.cursor().execute(AS_REPLICA)) as threads:
        for _ in threads.map(insert_slice, range(1, rows + 1, SLICE)):
            pass


@cache
def words() -> list[str]:
    """By rank, the most frequent first."""
    from wordfreq import top_n_list

    return [word for word in top_n_list("en", 2 * WORDS) if word.isascii() and word.isalpha()][:WORDS]


def write_vectors(cursor: Any, kind: str, embedder: int) -> None:
    """Give the newest rows vectors, each near that of one of CENTRES texts: embedding all takes half an hour."""
    import numpy as np

    from memory.search.vectors import builtin
    from memory.search.vectors.schema import write_vector

    cursor.execute(NEWEST.format(kind=kind), [EMBEDDED_MAX])
    rows = cursor.fetchall()
    centres = np.array(builtin.embed([text for _, text in rows[:CENTRES]]))
    random = np.random.default_rng(1)
    with cursor.copy(f"COPY {kind}_vector (id, embedder_id, vector) FROM STDIN") as copy:
        for at, (key, _) in enumerate(rows):
            vector = centres[at % len(centres)] + random.normal(0, SPREAD / DIMENSIONS**0.5, DIMENSIONS)
            copy.write_row((key, embedder, write_vector(vector.tolist())))


def measure_all(dsn: str) -> dict[str, dict[str, float]]:
    from memory.search.vectors import builtin, queue

    builtin.load()
    random = Random(1)
    rows = asyncio.run(measure_unasked(dsn, random))
    rows["asked for"] = measure_asked(random)
    rows["stored"] = measure_rate(lambda: store(dsn, random))
    rows["embedded"] = measure_rate(queue.embed_due)
    return rows


def prompt(random: Random) -> str:
    ranks = [int(FIRST * (WORDS / FIRST) ** random.random()) for _ in range(random.randint(6, 20))]
    return " ".join([words()[rank] for rank in ranks])


def percentiles(samples: Sequence[float]) -> dict[str, float]:
    ordered = sorted(samples)
    return {"p50 ms": median(ordered), "p95 ms": ordered[int(len(ordered) * 0.95)]}


class Timer:
    """``seconds``: from each note to the next."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._at = time.perf_counter()

    def note(self, step: str) -> None:
        started, self._at = self._at, time.perf_counter()
        self.seconds[step] = self._at - started


# --- by itself ---


async def measure_unasked(dsn: str, random: Random) -> dict[str, dict[str, float]]:
    from memory.cache.state import Cache
    from memory.cache.sync import Coherence
    from memory.memories.scope import Scope, Speaker
    from memory.metrics import read_samples
    from memory.search.searcher import INDEXED, UNHURRIED_MS, Searcher, sum_searches

    known = Cache()
    searcher, coherence = Searcher(dsn, known), Coherence(known, dsn)
    for table, kind in INDEXED.items():
        coherence.follow(table, searcher.indexes.follower(kind))
    keeping = asyncio.gather(searcher.run(), coherence.run())
    try:
        await coherence.tried.wait()
        if await searcher.indexes.wait_for(Scope(Speaker("agent-own")), LOAD_S) is None:
            raise BenchmarkBroken(f"What one speaker said is not loaded within {LOAD_S} s.")
        held = [await ask(searcher, random, "agent-own", UNHURRIED_MS) for _ in range(PROMPTS)]
        before = sum_searches(read_samples())
        times = [await ask(searcher, random) for _ in range(PROMPTS)]
        in_time = sum_searches(read_samples())["answered"] - before["answered"]
        one_by_one = percentiles(times) | {"in time %": 100 * in_time / PROMPTS}
        before = sum_searches(read_samples())
        together = [
            time for _ in range(5) for time in await asyncio.gather(*(ask(searcher, random) for _ in range(AT_ONCE)))
        ]
        after = sum_searches(read_samples())
        return {
            HELD: percentiles(held),
            "by itself": one_by_one,
            f"{AT_ONCE} at once": percentiles(together)
            | {
                "in time %": 100 * (after["answered"] - before["answered"]) / len(together),
                "skipped %": 100 * (after["skipped"] - before["skipped"]) / len(together),
            },
        }
    finally:
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)


async def ask(searcher: Any, random: Random, agent: str = "", deadline_ms: int = DEADLINE_MS) -> float:
    """Milliseconds."""
    from memory.memories.scope import Scope, Speaker

    scope = Scope(Speaker(agent or f"agent-{random.choice([0, random.randint(1, SPEAKERS)])}"))
    started = time.perf_counter()
    await searcher.find_related(scope, [prompt(random)], b"x" * 16, deadline_ms=deadline_ms)
    return 1_000 * (time.perf_counter() - started)


# --- asked for, stored, embedded ---


def measure_asked(random: Random) -> dict[str, float]:
    from memory.memories.scope import Scope, Speaker
    from memory.search.service import search

    times = []
    for at in range(PROMPTS // 3):
        scope = Scope(Speaker(f"agent-{at % 2 * (1 + at % SPEAKERS)}"))
        started = time.perf_counter()
        search(scope, prompt(random))
        times.append(1_000 * (time.perf_counter() - started))
    return percentiles(times)


def measure_rate(work: Callable[[], int]) -> dict[str, float]:
    """``work`` returns how many it has done."""
    started = time.perf_counter()
    count = work()
    return {"a second": count / (time.perf_counter() - started)}


def store(dsn: str, random: Random) -> int:
    """In batches, each committed, with all indexes and triggers."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        for batch in range(STORED // STORED_AT_ONCE):
            texts = [prompt(random) for _ in range(STORED_AT_ONCE)]
            connection.execute(
                "INSERT INTO episode (digest, conversation, agent, role, text, lexemes, said_at)"
                " SELECT sha256(text::bytea || %s::text::bytea || place::text::bytea), substr(sha256('new'), 1, 16),"
                " 'agent-0', 'user', text, setweight(to_tsvector('english', text), 'A'), now()"
                " FROM unnest(%s::text[]) WITH ORDINALITY AS said (text, place)",
                [batch, texts],
            )
    return STORED


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "festinger_site.settings")
    main()
