"""Requests a second over several connections at once."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median

from benchmarks.client import Connection
from benchmarks.figures import Figures
from benchmarks.loop import run
from benchmarks.servers import servers
from benchmarks.targets import RESENT, WARM_UP, Target, Witness, connected, targets_of

CONNECTIONS = 16
BATCH = 400  # requests per target and round


def measure(home: Path, rounds: int) -> Figures:
    with servers(home) as running:
        targets = [target for target in targets_of(running, seed=2) if target.name != RESENT]
        rates = run(sample(targets, running.model.port, rounds))
    rows = {name: {"requests/s": median(of_rounds)} for name, of_rounds in rates.items()}
    return Figures(f"throughput: {CONNECTIONS} connections, one process", rows)


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
