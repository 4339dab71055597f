"""Prompts a second that one, two and four server processes answer, and the memory that they take together."""

from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from statistics import median

from benchmarks import prompts
from benchmarks.figures import Figures, Rows
from benchmarks.loop import run
from benchmarks.plan import Plan
from benchmarks.servers import Servers, servers
from benchmarks.targets import FESTINGER, RESENT, WARM_UP, Target, connected
from benchmarks.throughput import BATCH, rate

COUNTS = (1, 2, 4)
CONNECTIONS = 32
TITLE = f"{CONNECTIONS} connections, prompts of 2 KB; load, model server and Postgres on the same machine"


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    found: Rows = {}
    for count in COUNTS:
        with servers(home, FESTINGER_WORKERS=str(count)) as running:
            rates = run(_sample(running, plan.rounds))
            parent = running.festinger.process
            memory = sum(process.memory_info().rss for process in (parent, *parent.children(recursive=True)))
        found[f"{count} processes" if count > 1 else "1 process"] = rates | {"MB": memory / 1e6}
    yield Figures("processes", TITLE, found)


async def _sample(running: Servers, rounds: int) -> dict[str, float]:
    targets = {
        "new/s": Target(FESTINGER, running.festinger, prompts.fresh(seed=2)),
        "resent/s": Target(RESENT, running.festinger, prompts.resent()),
    }
    found = {}
    async with AsyncExitStack() as stack:
        for name, target in targets.items():
            connections = await stack.enter_async_context(connected(target, CONNECTIONS))
            await rate(connections, target.take(WARM_UP))
            found[name] = median([await rate(connections, target.take(BATCH)) for _ in range(rounds)])
    return found
