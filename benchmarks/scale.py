"""The size that Festinger is meant for: start, memory, recall, changes and a reload, with a large world."""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack
from itertools import cycle, islice
from pathlib import Path
from typing import Final

import orjson
import psycopg

from benchmarks.client import BenchmarkBroken, Connection, connected, run
from benchmarks.database import AS_REPLICA, fresh
from benchmarks.figures import Figures, Rows, summarise
from benchmarks.pauses import TITLE as PAUSES
from benchmarks.pauses import Observed, check_recalled, streaming
from benchmarks.plan import Plan
from benchmarks.prompts import naming, own
from benchmarks.servers import Server, festinger, model, teach
from benchmarks.speed import BATCH, DIRECT, sample_times, subtract

PROCESSES: Final = 3
CHANGES: Final = 10  # per round
RELOADS_MAX: Final = 2
PATIENCE_S: Final = 10.0
LEAST_QUIET_S: Final = 2.0  # so that two loads can be told apart
LOOK_AGAIN_S: Final = 0.5
SMALL, LARGE = "small world", "large world"
RELOADING, QUIET = "while reloading", "as long without"
START_AIM: Final = "ready <= 5 s, <= 800 MB"
RELOAD_AIM: Final = "longest <= 50 ms, peak <= 1,500 MB"
CHANGES_AIM: Final = "p99 <= 100 ms"
CHANGES_TITLE: Final = "an edge is moved with SQL: from its commit until the process recalls it"
# A fact that the benchmark taught, between two parents that are there.
CONCEPT, DIMENSION, PARENTS = "gnommoweb", "glitch_university", ("service", "repo")
MOVE: Final = f"""
    UPDATE urd SET parent_id = (SELECT id FROM soas WHERE token = %s)
    WHERE id = (SELECT id FROM soas WHERE token = '{CONCEPT}')
      AND dim_id = (SELECT id FROM soas WHERE token = '{DIMENSION}')
"""
RELOAD: Final = b"POST /reload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n"
HEALTH: Final = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

# Words of 3 to 21 characters, some of them compounds; the number at the end makes each different. How often each
# was met follows Zipf's law: most once or twice.
TOKENS: Final = """
    WITH word AS (
        SELECT n, md5(n::text) AS dice, floor(least(random() ^ -1.1, 100000))::int AS met
        FROM generate_series(1, %(tokens)s) AS n
    )
    INSERT INTO soas (token, encounter_count, saliency, novelty, last_seen)
    SELECT translate(left(dice, 2 + n %% 12), '0123456789', 'aeioulnrst')
           || (ARRAY['', '', '_', '-', '.'])[1 + n %% 5] || n,
           met, log(met), (n > %(parents)s AND n <= %(parents)s + (%(edges)s + 1) / 2)::int,
           now() - random() * interval '90 days'
    FROM word
"""
# Two facts about each concept, in two of the dimensions. A parent was there before its concepts, so there is no
# ring; most have few concepts, some have thousands.
EDGES: Final = """
    WITH word AS (
        SELECT id, row_number() OVER (ORDER BY id) AS n FROM soas WHERE id > %(before)s
    ), kind AS (
        SELECT id, is_isa, row_number() OVER (ORDER BY id) - 1 AS n, count(*) OVER () AS kinds FROM dimension
        WHERE NOT is_additive
    ), fact AS (
        SELECT %(parents)s + 1 + e / 2 AS subject, e / 2 + e %% 2 AS kind,
               1 + floor(random() ^ 3 * (%(parents)s + e / 2))::int AS parent
        FROM generate_series(0, %(edges)s - 1) AS e
    )
    INSERT INTO urd (id, parent_id, dim_id, is_isa, confidence, source, last_confirmed)
    SELECT concept.id, parent.id, kind.id, kind.is_isa, 0.6 + 0.4 * random(),
           (ARRAY['cloud_llm', 'inferred', 'festinger', 'gutask', 'operator'])[1 + floor(random() * 5)::int],
           now() - random() * interval '120 days'
    FROM fact
    JOIN word AS concept ON concept.n = fact.subject
    JOIN word AS parent ON parent.n = fact.parent
    JOIN kind ON kind.n = fact.kind %% kind.kinds
"""


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    """One process at first: a reload reaches all, and three of them would fight for the processors."""
    database = large_world(home, tokens=plan.tokens, edges=plan.edges)
    size = f"{plan.tokens:,} tokens, {plan.edges:,} edges"
    with ExitStack() as stack:
        mock = stack.enter_context(model(home))
        small = stack.enter_context(festinger(home, mock.url, fresh(home)))
        large = [stack.enter_context(festinger(home, mock.url, database))]
        starts = {SMALL: start(small), LARGE: start(large[0])}
        yield Figures("start", f"a process, with {size}", starts, {LARGE: START_AIM})
        for server in (small, *large):
            teach(server)
        yield run(measure_recall(mock, small, large[0], plan.rounds, size))
        yield run(measure_reload(large[0], mock, min(plan.rounds, RELOADS_MAX)))
        large += [stack.enter_context(festinger(home, mock.url, database)) for _ in range(PROCESSES - 1)]
        rows = run(measure_changes(large, database, plan.rounds * CHANGES))
        yield Figures("changes", CHANGES_TITLE, rows, dict.fromkeys(rows, CHANGES_AIM))


def large_world(home: Path, *, tokens: int, edges: int) -> str:
    """Return the address of a fresh database that has so many more; some 20 s for a million tokens."""
    database = fresh(home)
    with psycopg.connect(database, autocommit=True) as connection:
        before = connection.execute("SELECT max(id) FROM soas").fetchone()
        size = {"tokens": tokens, "edges": edges, "parents": tokens // 10, "before": before[0] if before else 0}
        connection.execute(AS_REPLICA)
        connection.execute(TOKENS, size)
        connection.execute(EDGES, size)
        connection.execute("VACUUM ANALYZE soas, urd")
    return database


def start(server: Server) -> dict[str, float]:
    """Asked for right after it."""
    return {"ready s": server.ready_s, "RSS MB": server.rss_mb()}


async def measure_recall(mock: Server, small: Server, large: Server, rounds: int, size: str) -> Figures:
    """Raises BenchmarkBroken where the large world recalls nothing."""
    servers = {DIRECT: mock, SMALL: small, LARGE: large}
    times = await sample_times({name: (server, naming(9)) for name, server in servers.items()}, rounds)
    await check_recalled(mock, 2 * BATCH * rounds)
    rows = {name: {"added p50 ms": subtract(times[name], times[DIRECT])} for name in (SMALL, LARGE)}
    return Figures("recall", f"a new prompt of 2 KB with {size}", rows, {LARGE: f"as with a {SMALL}"})


# --- reloads ---


async def measure_reload(proxy: Server, mock: Server, reloads: int) -> Figures:
    reloading, quiet = Observed(), Observed()
    async with connected(proxy.port) as [control], streaming(proxy, mock) as streams:
        for _ in range(reloads):
            await reloading.watch(streams, proxy, reload(control))
            await quiet.watch(streams, proxy, asyncio.sleep(max(LEAST_QUIET_S, reloading.seconds[-1])))
    return Figures("reload", PAUSES, {RELOADING: reloading.row(), QUIET: quiet.row()}, {RELOADING: RELOAD_AIM})


async def reload(control: Connection) -> None:
    """Return when the cache is younger than this call; ``/reload`` itself answers earlier where it takes long."""
    started = time.monotonic()
    await control.ask(RELOAD)
    while True:
        age_s = orjson.loads(await control.ask(HEALTH))["cache"]["age_s"]
        if age_s < time.monotonic() - started + LEAST_QUIET_S / 2:
            return
        await asyncio.sleep(LOOK_AGAIN_S)


# --- changes ---


async def measure_changes(servers: Sequence[Server], database: str, count: int) -> Rows:
    delays: list[list[float]] = [[] for _ in servers]
    async with AsyncExitStack() as stack:
        postgres = await stack.enter_async_context(await psycopg.AsyncConnection.connect(database, autocommit=True))
        processes = [(await stack.enter_async_context(connected(server.port)))[0] for server in servers]
        for parent in islice(cycle(PARENTS), count):
            await postgres.execute(MOVE, [parent])
            committed = time.perf_counter()
            seen = await asyncio.gather(*(wait_visible(process, parent, committed) for process in processes))
            for own_delays, delay in zip(delays, seen, strict=True):
                own_delays.append(delay)
    return {f"process {number}": {"changes": len(own)} | summarise(own) for number, own in enumerate(delays, 1)}


async def wait_visible(process: Connection, parent: str, committed: float) -> float:
    """Return the milliseconds since the commit. Raises BenchmarkBroken where it never is."""
    line = f"{CONCEPT}: [{DIMENSION}] {parent}\n"
    while (taken_s := time.perf_counter() - committed) < PATIENCE_S:
        block = orjson.loads(await process.ask(own("/recollect", text=f"Look at {CONCEPT}.")))["block"]
        if line in block:
            return 1000 * (time.perf_counter() - committed)
    raise BenchmarkBroken(f"after {taken_s:.0f} s {line!r} is not in {block!r}")
