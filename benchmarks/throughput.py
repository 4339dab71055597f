"""Requests a second over several connections at once."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median

from benchmarks import prompts
from benchmarks.client import Connection
from benchmarks.figures import Figures, Rows
from benchmarks.loop import run
from benchmarks.plan import Plan
from benchmarks.servers import servers
from benchmarks.targets import (
    DIRECT,
    FESTINGER,
    FORWARDER,
    OFF,
    RESENT,
    WARM_UP,
    Target,
    Witness,
    connected,
    targets_of,
)

CONNECTIONS = 16
BATCH = 400  # requests per target and round
TITLE = f"{CONNECTIONS} connections, one process, prompts of 2 KB"
AIM = "of off >= 0.8, of forwarder >= 0.6"


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    with servers(home) as running:
        targets = targets_of(running, lambda headers: prompts.fresh(headers=headers, seed=2))
        targets.append(Target(RESENT, running.festinger, prompts.resent(), recalls=True))
        rates = run(sample(targets, running.model.port, plan.rounds))
    yield Figures("throughput", TITLE, rows(rates), {FESTINGER: AIM, RESENT: AIM})


def rows(rates: Mapping[str, Sequence[float]]) -> Rows:
    """Ratios are of each round: what else the machine does hits both."""
    found: Rows = {}
    for name, of_rounds in rates.items():
        found[name] = {"requests/s": median(of_rounds)}
        if name != DIRECT:
            found[name] |= {
                "of off": median(mine / off for mine, off in zip(of_rounds, rates[OFF], strict=True)),
                "of forwarder": median(mine / bare for mine, bare in zip(of_rounds, rates[FORWARDER], strict=True)),
            }
    return found


async def sample(targets: Sequence[Target], model_port: int, rounds: int) -> dict[str, list[float]]:
    rates = defaultdict(list)
    async with AsyncExitStack() as stack:
        witness = Witness(await Connection.open(model_port))
        lines = [(target, await stack.enter_async_context(connected(target, CONNECTIONS))) for target in targets]
        for target, connections in lines:
            await rate(connections, target.take(WARM_UP))
            await witness.check(target, WARM_UP)
        for _ in range(rounds):
            for target, connections in lines:
                rates[target.name].append(await rate(connections, target.take(BATCH)))
                await witness.check(target, BATCH)
    return rates


async def rate(connections: Sequence[Connection], requests: Sequence[bytes]) -> float:
    """Requests a second; each connection takes the next one as soon as it has its answer."""
    waiting = iter(requests)
    started = time.perf_counter()
    await asyncio.gather(*(drain(connection, waiting) for connection in connections))
    return len(requests) / (time.perf_counter() - started)


async def drain(connection: Connection, waiting: Iterator[bytes]) -> None:
    for request in waiting:
        await connection.ask(request)
