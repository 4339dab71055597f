"""Times the way from a prompt that states a new fact until that fact is recalled: through the table, the wake-up,
the worker, and back to the cache; and from a message until a search finds it by its words, and has its vector. Both
the former and the rate at which a backlog is worked off are also measured by worker and by broker."""

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from random import Random
from statistics import median, quantiles

import orjson

from benchmarks import prompts
from benchmarks.brokers import BROKERS
from benchmarks.busy import facts
from benchmarks.client import BenchmarkBroken, Connection
from benchmarks.figures import Figures, Rows
from benchmarks.loop import run
from benchmarks.plan import Plan
from benchmarks.statements import PER_SECOND, Statement, Talk, news, prompt
from benchmarks.write_path import WAITING, WritePath, say, wait_for, write_path

FACTS = 10  # per round
PATIENCE_S = 60.0
POLL_S = 0.005
PAUSE_S = 0.2  # at most; no two statements find the timers alike
TITLE = "from a prompt that states a new fact until it is recalled, with proxy and worker"
ALONE, AMONG = "one at a time", f"among {PER_SECOND} others a second"
AIM = "p50 <= 500 ms, p99 <= 2,000 ms"
HEAD = "POST {} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
SAID = 40  # messages, one after the other
SAY = "We hung the lantern number gimbal{} beside the blue door of the boathouse."
FOUND_TITLE = "from a prompt until a search finds what was said in it"
BY_WORDS, BY_VECTOR = "by its words", "by its vector"
FOUND_AIMS = {BY_WORDS: "p50 ms <= 1,000", BY_VECTOR: "p50 ms <= 3,000"}
VECTOR = "SELECT count(*) FROM episode JOIN episode_vector USING (id) WHERE text = %s"
WORKERS = (1, 2)
FACTS_OF_A_BROKER, BACKLOG = 2, 25  # facts, and prompts that wait, per round
BROKERS_TITLE = "by broker: until a fact is recalled, and messages of a backlog, learned from and wholly dealt with"
HEARD = "SELECT count(*) FROM heard_message"


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    with write_path(home) as path:
        delays = run(measured(path, plan.rounds * FACTS))
        found = run(measure_found(path, min(plan.rounds * FACTS, SAID)))
    rows = {name: {"facts": len(of_facts)} | summarise(of_facts) for name, of_facts in delays.items()}
    yield Figures("learning", TITLE, rows, dict.fromkeys(rows, AIM))
    yield Figures("found", FOUND_TITLE, {name: summarise(times) for name, times in found.items()}, FOUND_AIMS)
    yield Figures("brokers", BROKERS_TITLE, measure_brokers(home, plan.rounds))


def summarise(times: Sequence[float]) -> dict[str, float]:
    p99 = quantiles(times, n=100, method="inclusive")[-1]
    return {"p50 ms": median(times), "p99 ms": p99, "longest ms": max(times)}


async def measured(path: WritePath, count: int) -> dict[str, list[float]]:
    """Milliseconds of each."""
    alone = await measure_alone(path, count)
    random = Random(15)
    with ExitStack() as stack:
        telling, asking, other = [await Connection.open(path.proxy.port) for _ in range(3)]
        for connection in (telling, asking, other):
            stack.callback(connection.close)
        talk = Talk(other, facts(news("zorblat")))
        among = [await learned(telling, asking, fact, random) for fact in islice(news("gyre"), count)]
        await talk.stop()
    return {ALONE: alone, AMONG: among}


async def measure_alone(path: WritePath, count: int) -> list[float]:
    random = Random(12)
    with ExitStack() as stack:
        telling, asking = [await Connection.open(path.proxy.port) for _ in range(2)]
        stack.callback(telling.close)
        stack.callback(asking.close)
        return [await learned(telling, asking, fact, random) for fact in islice(news("gimble"), count)]


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


async def measure_found(path: WritePath, count: int) -> dict[str, list[float]]:
    """Milliseconds of each. Raises BenchmarkBroken where one is never found."""
    random = Random(13)
    found: dict[str, list[float]] = {BY_WORDS: [], BY_VECTOR: []}
    with ExitStack() as stack:
        telling, asking = [await Connection.open(path.proxy.port) for _ in range(2)]
        for connection in (telling, asking):
            stack.callback(connection.close)
        for number in range(count):
            await asyncio.sleep(random.uniform(0, PAUSE_S))
            text, started = SAY.format(number), time.perf_counter()
            await telling.ask(prompt([text]))
            for name, times in found.items():
                while not await is_found(path, asking, name, text, number):
                    if time.perf_counter() - started > PATIENCE_S:
                        raise BenchmarkBroken(f"after {PATIENCE_S:g} s {text!r} is not found {name}")
                    await asyncio.sleep(POLL_S)
                times.append(1000 * (time.perf_counter() - started))
    return found


async def is_found(path: WritePath, asking: Connection, name: str, text: str, number: int) -> bool:
    if name == BY_VECTOR:
        [vectors] = await asyncio.to_thread(path.ask, VECTOR, text)
        return vectors > 0
    answer = await asking.ask(post("/search_memory", query=f"gimbal{number}"))
    return any(item["text"] == text for item in orjson.loads(answer)["items"])


def measure_brokers(home: Path, rounds: int) -> Rows:
    rows = {}
    for broker in BROKERS:
        if broker.lack:
            print(f"\nbrokers: {broker.name} skipped, {broker.lack}", file=sys.stderr, flush=True)
            continue
        for workers in WORKERS:
            with broker.start(home) as url, write_path(home, workers=workers, CELERY_BROKER_URL=url) as path:
                times = summarise(run(measure_alone(path, rounds * FACTS_OF_A_BROKER)))
                row = {f"recalled {name}": time for name, time in times.items() if name != "longest ms"}
                row |= measure_backlog(path, rounds * BACKLOG)
            rows[f"{broker.name}, {workers} worker{'s' if workers > 1 else ''}"] = row
    return rows


def measure_backlog(path: WritePath, count: int) -> dict[str, float]:
    """Messages a second, of those that so many prompts bring while the workers stand still. Raises BenchmarkBroken."""
    wait_until_none(path, WAITING)
    with path.paused():
        run(say(path.proxy.port, islice(prompts.fresh(seed=14), count)))
        expected = 2 * count  # with the answers
        if (found := wait_for(lambda: path.ask(HEARD), (expected,))) != (expected,):
            raise BenchmarkBroken(f"of {expected} messages {found[0]} have come")
    started = time.perf_counter()
    wait_until_none(path, HEARD)
    learned_s = time.perf_counter() - started
    wait_until_none(path, WAITING)
    return {"learned/s": expected / learned_s, "dealt with/s": expected / (time.perf_counter() - started)}


def wait_until_none(path: WritePath, query: str) -> None:
    if (found := wait_for(lambda: path.ask(query), (0,))) != (0,):
        raise BenchmarkBroken(f"{found[0]} messages still wait")


def recollect(text: str) -> bytes:
    return post("/recollect", text=text)


def post(path: str, **fields: str) -> bytes:
    body = orjson.dumps(fields)
    return f"{HEAD.format(path)}Content-Length: {len(body)}\r\n\r\n".encode() + body
