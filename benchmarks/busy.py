"""What prompts wait for while others state facts: the write path at work, against the same prompts without it.

Four states take turns. Beside ``idle``, a second client sends ten prompts a second: they state nothing (``mentioned``),
ten facts each while the worker stands still (``only written``), or the same with the worker at work (``busy``). So the
steps between two states are what the other prompts cost, what the proxy's own part costs, and what the worker and
Postgres take of the machine.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from statistics import median, quantiles

import orjson

from benchmarks import prompts
from benchmarks.client import BenchmarkBroken, Connection
from benchmarks.figures import Figures, Rows
from benchmarks.latency import timed
from benchmarks.loop import run
from benchmarks.plan import Plan
from benchmarks.statements import PER_PROMPT, PER_SECOND, Statement, Talk, news, prompt
from benchmarks.write_path import WritePath, write_path

BATCH = 200  # requests per state and round
TURNS = 4  # of the two ways in each of them
BEGUN_S = 0.5  # by then the first statements have come to the worker
WARM_UP = 100
IDLE, MENTIONED, WRITTEN, BUSY = "idle", "mentioned", "only written", "busy"
TITLE = f"one connection, a new prompt of 2 KB, while others state {PER_SECOND} facts a second"
AIM = "of idle <= 1.1"
SEEN = b"GET /seen HTTP/1.1\r\nHost: model\r\n\r\n"


@dataclass(slots=True)
class Samples:
    """Of one state, by round: medians and the 99th percentile in milliseconds, processors used, statements a second."""

    p50: list[float] = field(default_factory=list)
    p99: list[float] = field(default_factory=list)
    added: list[float] = field(default_factory=list)
    rate: list[float] = field(default_factory=list)
    proxy: list[float] = field(default_factory=list)
    worker: list[float] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Lines:
    """The connections of the load; ``other`` is that of the second client."""

    direct: Connection
    through: Connection
    other: Connection


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    with write_path(home) as path:
        samples = run(sample(path, plan.rounds))
    yield Figures("busy", TITLE, rows(samples), {BUSY: AIM})


async def sample(path: WritePath, rounds: int) -> dict[str, Samples]:
    samples: defaultdict[str, Samples] = defaultdict(Samples)
    with ExitStack() as stack:
        ports = (path.model.port, path.proxy.port, path.proxy.port)
        lines = Lines(*[await Connection.open(port) for port in ports])
        for line in (lines.direct, lines.through, lines.other):
            stack.callback(line.close)
        asking, told = prompts.fresh(seed=11), news("zorblat")
        await timed(lines.through, list(islice(asking, WARM_UP)))
        for _ in range(rounds):
            await observe(path, lines, asking, None, samples[IDLE])
            await observe(path, lines, asking, mentions(told), samples[MENTIONED])
            await stating(path, lines, asking, told, samples[BUSY])
            with path.paused():
                await stating(path, lines, asking, told, samples[WRITTEN], is_placed=False)
            await asyncio.to_thread(path.wait_settled, path.stated())
    return samples


async def stating(
    path: WritePath,
    lines: Lines,
    asking: Iterator[bytes],
    told: Iterator[Statement],
    into: Samples,
    *,
    is_placed: bool = True,
) -> None:
    """Raises BenchmarkBroken where not all that is stated comes to the database."""
    before = path.stated()
    prompts_sent = await observe(path, lines, asking, facts(told), into)
    expected = before + prompts_sent * PER_PROMPT
    await asyncio.to_thread(path.wait_settled if is_placed else path.wait_written, expected)


def mentions(told: Iterator[Statement]) -> Iterator[bytes]:
    while True:
        yield prompt([statement.mention for statement in islice(told, PER_PROMPT)])


def facts(told: Iterator[Statement]) -> Iterator[bytes]:
    while True:
        yield prompt([statement.sentence for statement in islice(told, PER_PROMPT)])


async def observe(
    path: WritePath, lines: Lines, asking: Iterator[bytes], others: Iterator[bytes] | None, into: Samples
) -> int:
    """How many prompts the second client sent."""
    talk = Talk(lines.other, others) if others is not None else None
    await asyncio.sleep(BEGUN_S)
    await lines.direct.ask(SEEN)
    started, proxy_s, worker_s = time.perf_counter(), path.proxy.cpu_s(), path.worker_cpu_s()
    sent = talk.prompts if talk else 0
    direct: list[float] = []
    through: list[float] = []
    for requests in batches(asking):
        direct += await timed(lines.direct, requests)
        through += await timed(lines.through, requests)
    took_s = time.perf_counter() - started
    into.proxy.append((path.proxy.cpu_s() - proxy_s) / took_s)
    into.worker.append((path.worker_cpu_s() - worker_s) / took_s)
    into.rate.append((talk.prompts - sent if talk else 0) * PER_PROMPT / took_s)
    into.p50.append(median(through))
    into.p99.append(quantiles(through, n=100, method="inclusive")[-1])
    into.added.append(median(through) - median(direct))
    check(orjson.loads(await lines.direct.ask(SEEN)))
    if talk:
        await talk.stop()
    return talk.prompts if talk else 0


def batches(asking: Iterator[bytes]) -> Iterator[list[bytes]]:
    for _ in range(TURNS):
        yield list(islice(asking, BATCH // TURNS))


def check(seen: dict[str, object]) -> None:
    """The other client's prompts recall nothing."""
    if seen["recollections"] != BATCH:
        raise BenchmarkBroken(f"{BATCH} recollections were due, not {seen}")


def rows(samples: dict[str, Samples]) -> Rows:
    """The ratio is of each round: what else the machine does hits both."""
    idle = samples[IDLE]
    found: Rows = {}
    for name in (IDLE, MENTIONED, WRITTEN, BUSY):
        own = samples[name]
        found[name] = {
            "facts/s": 0.0 if name in (IDLE, MENTIONED) else median(own.rate),
            "p50 ms": median(own.p50),
            "p99 ms": median(own.p99),
            "added p50 ms": median(own.added),
            "of idle": median(mine / theirs for mine, theirs in zip(own.added, idle.added, strict=True)),
            "proxy CPU %": 100 * median(own.proxy),
            "worker CPU %": 100 * median(own.worker),
        }
    return found
