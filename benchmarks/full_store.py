"""A store as full as it gets in years: its size on disk, and what prompts, learning and deleting take with it.

``python -m benchmarks.full_store fill MEMORIES EPISODES`` fills the database of DATABASE_URL, ``python -m
benchmarks.full_store prune`` deletes what is old; each in a process of its own. They print JSON.
"""

import http.client
import json
import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count, islice, repeat
from pathlib import Path
from random import Random
from statistics import median

import psycopg
from prometheus_client.parser import text_string_to_metric_families

from benchmarks import learning, prompts
from benchmarks.client import HOST, BenchmarkBroken, Connection
from benchmarks.figures import Figures, Rows
from benchmarks.latency import Samples, timed
from benchmarks.loop import run
from benchmarks.plan import Plan
from benchmarks.prompts import OTHER, says
from benchmarks.retrieval_scale import DAYS, fill, prompt
from benchmarks.servers import Server
from benchmarks.targets import DIRECT, WARM_UP
from benchmarks.world import large_world
from benchmarks.write_path import WritePath, write_path
from festinger_site import home as homes
from festinger_site.dev import scratch_instance

AGENTS = 200
MOST, OWN, OTHERS, RESENT = "of the one with a tenth", "of one with 10,000", "of all in turn", "resent"
BATCH = 100
SENTENCES = 20  # of a prompt, beside the words that are searched for: 2 KB
FACTS, SAID = 20, 20
WHOLE = "whole database"
SIZES = {
    "messages": "pg_table_size('episode')",
    "index of their words": "pg_relation_size('episode_words')",
    "their other indexes": "pg_indexes_size('episode') - pg_relation_size('episode_words')",
    "vectors": "pg_table_size('episode_vector')",
    "index of vectors": "pg_indexes_size('episode_vector')",
    "words and facts": "pg_total_relation_size('soas') + pg_total_relation_size('urd')",
    WHOLE: "pg_database_size(current_database())",
}
TITLE = "new prompts of 2 KB, and one that is resent, beside the way to the model itself"
AIMS = {MOST: "in time % >= 99", OTHERS: "in time % >= 99"}


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    database = large_world(home, tokens=plan.tokens, edges=plan.edges)
    steps = run_apart(home, database, "fill", str(plan.memories), str(plan.episodes))
    world = f"{plan.episodes:,} messages of {AGENTS} agents, {plan.tokens:,} words"
    yield Figures("store filled", f"with {world}", {step: {"s": seconds} for step, seconds in steps.items()})
    yield Figures("store size", f"of {world}", measure_sizes(database, plan.episodes))
    yield from measure_served(home, database, plan.rounds)
    pruned = run_apart(home, database, "prune")
    yield Figures("store pruned", "a run that deletes messages of the oldest day", {"messages": pruned})


def measure_served(home: Path, database: str, rounds: int) -> Iterator[Figures]:
    with write_path(home, database=database) as path:
        delays = run(learning.measured(path, min(rounds, FACTS)))
        found = run(learning.measure_found(path, min(rounds, SAID)))
        with path.paused():
            rows = run(measure_prompts(path, rounds))
    times = {f"fact recalled, {name}": taken for name, taken in delays.items()}
    times |= {f"message found {name}": taken for name, taken in found.items()}
    rows_of_times = {name: learning.summarise(taken) for name, taken in times.items()}
    yield Figures("store learning", "from a prompt until what it says is found", rows_of_times)
    yield Figures("store", TITLE, rows, AIMS)


def measure_sizes(database: str, episodes: int) -> Rows:
    with psycopg.connect(database) as connection:
        found = connection.execute(f"SELECT {', '.join(SIZES.values())}".encode()).fetchone()
    assert found is not None
    return {
        name: {"MB": size / 1e6, "bytes a message": size / episodes} for name, size in zip(SIZES, found, strict=True)
    }


async def measure_prompts(path: WritePath, rounds: int) -> Rows:
    """The ways take turns, so that a noisy machine hits all alike."""
    samples: defaultdict[str, Samples] = defaultdict(Samples)
    searches: defaultdict[str, Counter[str]] = defaultdict(Counter)
    asking = {
        DIRECT: ask_as(repeat("agent-0"), seed=1),
        MOST: ask_as(repeat("agent-0"), seed=2),
        OWN: ask_as(repeat("agent-own"), seed=3),
        OTHERS: ask_as((f"agent-{1 + number % (AGENTS - 1)}" for number in count()), seed=4),
        RESENT: repeat(next(ask_as(repeat("agent-0"), seed=5))),
    }
    with ExitStack() as stack:
        for turn in range(rounds + 1):
            for name, requests in asking.items():
                connection = await Connection.open((path.model if name == DIRECT else path.proxy).port)
                stack.callback(connection.close)
                before, cpu_s = count_searches(path.proxy), path.proxy.cpu_s()
                times = await timed(connection, list(islice(requests, BATCH if turn else WARM_UP)))
                if turn:
                    samples[name].note(times, 1000 * (path.proxy.cpu_s() - cpu_s))
                    searches[name] += count_searches(path.proxy) - before
    return {name: row(name, own, samples[DIRECT], searches[name]) for name, own in samples.items()}


def ask_as(agents: Iterator[str], *, seed: int) -> Iterator[bytes]:
    """Prompts of 2 KB, no two alike, whose rarest words are as rare as those of the messages."""
    random = Random(seed)
    for agent in agents:
        text = " ".join([prompt(random), *random.sample(OTHER, SENTENCES)])
        yield prompts.request([says("user", text)], f"X-Festinger-Agent: {agent}\r\n")


def count_searches(proxy: Server) -> Counter[str]:
    """By result."""
    connection = http.client.HTTPConnection(HOST, proxy.port)
    try:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    finally:
        connection.close()
    found: Counter[str] = Counter()
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name == "festinger_searches_total":
                found[sample.labels["result"]] += int(sample.value)
    return found


def row(name: str, own: Samples, direct: Samples, searches: Counter[str]) -> dict[str, float]:
    found = {"p50 ms": median(own.p50), "p99 ms": median(own.p99)}
    if own is direct:
        return found
    found["added p50 ms"] = own.added(direct)
    found["added p99 ms"] = median(mine - theirs for mine, theirs in zip(own.p99, direct.p99, strict=True))
    found["CPU ms"] = sum(own.cpu) / len(own.cpu)
    answered = searches["found"] + searches["nothing_found"]
    if searches.total() and name != RESENT:
        found["in time %"] = 100 * answered / searches.total()
    return found


# --- in a process of its own, which has Django ---


def run_apart(home: Path, database: str, *words: str) -> dict[str, float]:
    environment = scratch_instance.environment(home, port=1, ollama="http://127.0.0.1:1")
    environment |= {"DATABASE_URL": database, "FESTINGER_LOG_LEVEL": "WARNING"}
    command = [sys.executable, "-m", "benchmarks.full_store", *words]
    done = subprocess.run(command, cwd=homes.PROJECT, env=environment, capture_output=True, check=False)
    if done.returncode:
        raise BenchmarkBroken(done.stderr.decode(errors="replace")[-2_000:])
    found: dict[str, float] = json.loads(done.stdout)
    return found


def prune() -> dict[str, float]:
    from django.utils import timezone

    from memory.memories.forgetting import prune_episodes
    from memory.models import Config

    Config.objects.filter(key="episode_days").update(value=str(DAYS - 1))
    started = time.perf_counter()
    deleted = prune_episodes(timezone.now())
    seconds = time.perf_counter() - started
    return {"deleted": deleted, "s": seconds, "a second": deleted / seconds}


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.unbounded")
    import django

    django.setup()
    if sys.argv[1] == "fill":
        print(json.dumps(fill(*map(int, sys.argv[2:]), speakers=AGENTS - 1, one_in=10)))
    else:
        print(json.dumps(prune()))
