"""What each target adds to a prompt's way over asking the model server directly."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median, quantiles

from benchmarks import prompts
from benchmarks.client import Connection
from benchmarks.database import analyze, fresh, remember_nothing
from benchmarks.figures import Figures, Rows
from benchmarks.loop import run
from benchmarks.plan import Plan
from benchmarks.servers import festinger, servers, teach
from benchmarks.targets import (
    DIRECT,
    FACTS_ONLY,
    FESTINGER,
    FORWARDER,
    RESENT,
    WARM_UP,
    Target,
    Witness,
    connected,
    targets_of,
)

BATCH = 100  # requests per target and round
TITLE = "one connection, one process, a new prompt of 2 KB that names five concepts"
AIM = "added p50 <= 1.0 ms, ratio <= 2.2"
AIM_SEARCHED = "added p50 <= 15 ms"  # the deadline of its one query


@dataclass(slots=True)
class Samples:
    """Of one target: a round's median, its 99th percentile, its processor time per request; milliseconds.

    That time is all that its server used meanwhile, also for what it does by and by."""

    p50: list[float] = field(default_factory=list)
    p99: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def note(self, times_ms: Sequence[float], cpu_ms: float) -> None:
        self.p50.append(median(times_ms))
        self.p99.append(quantiles(times_ms, n=100, method="inclusive")[-1])
        self.cpu.append(cpu_ms / len(times_ms))

    def ratio(self, other: "Samples") -> float:
        return median(mine / theirs for mine, theirs in zip(self.p50, other.p50, strict=True))

    def added(self, direct: "Samples") -> float:
        """Each round against the same round's direct way: what else the machine does hits both."""
        return median(mine - theirs for mine, theirs in zip(self.p50, direct.p50, strict=True))


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    database = fresh(home)
    remember_nothing(database)
    with servers(home) as running, festinger(home, running.model.url, database) as facts_only:
        teach(facts_only)
        targets = targets_of(running, lambda headers: prompts.fresh(headers=headers, seed=1))
        targets.insert(3, Target(FACTS_ONLY, facts_only, prompts.fresh(seed=1), recalls=True))
        targets.insert(4, Target(RESENT, running.festinger, prompts.resent(), recalls=True))
        warmed_up = partial(analyze, running.database)
        samples, seen = run(sample(targets, running.model.port, plan.rounds, warmed_up=warmed_up))
    yield Figures("latency", TITLE, rows(samples), {FESTINGER: AIM_SEARCHED, FACTS_ONLY: AIM}, seen)


async def sample(
    targets: Sequence[Target],
    model_port: int,
    rounds: int,
    *,
    batch: int = BATCH,
    warm_up: int = WARM_UP,
    warmed_up: Callable[[], None] = lambda: None,
) -> tuple[dict[str, Samples], dict[str, str]]:
    """By target, what was measured, and the last block seen. The targets take turns, so that a noisy machine
    hits all alike."""
    samples: defaultdict[str, Samples] = defaultdict(Samples)
    async with AsyncExitStack() as stack:
        witness = Witness(await Connection.open(model_port))
        lines = [(target, (await stack.enter_async_context(connected(target, 1)))[0]) for target in targets]
        for target, connection in lines:
            await timed(connection, target.take(warm_up))
            await witness.check(target, warm_up)
        await asyncio.to_thread(warmed_up)
        for _ in range(rounds):
            for target, connection in lines:
                requests = target.take(batch)
                before = target.server.cpu_s()
                times = await timed(connection, requests)
                samples[target.name].note(times, (target.server.cpu_s() - before) * 1000)
                await witness.check(target, batch)
    return samples, witness.last_blocks


async def timed(connection: Connection, requests: Sequence[bytes]) -> list[float]:
    """Milliseconds of each, one after the other."""
    times = []
    for request in requests:
        started = time.perf_counter()
        await connection.ask(request)
        times.append((time.perf_counter() - started) * 1000)
    return times


def rows(samples: dict[str, Samples]) -> Rows:
    direct = samples[DIRECT]
    forwarder_added = samples[FORWARDER].added(direct)
    found: Rows = {}
    for name, own in samples.items():
        found[name] = {"p50 ms": median(own.p50), "p99 ms": median(own.p99)}
        if own is not direct:
            found[name] |= {"added p50 ms": own.added(direct), "ratio": own.added(direct) / forwarder_added}
        found[name]["CPU ms"] = sum(own.cpu) / len(own.cpu)
    return found
