"""The size that Festinger is meant for: start, memory, latency, changes, and a reload, with a large world."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from benchmarks import changes, prompts, reloading
from benchmarks.database import fresh
from benchmarks.figures import Figures
from benchmarks.latency import sample
from benchmarks.loop import run
from benchmarks.plan import Plan
from benchmarks.servers import Server, festinger, model, teach
from benchmarks.targets import DIRECT, Target
from benchmarks.world import large_world

PROCESSES = 3
CHANGES = 10  # per round
RELOADS_MAX = 2
SMALL, LARGE = "small world", "large world"
START_AIM = "ready <= 5 s, <= 800 MB"
LATENCY_AIM = "as with a small world"


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    """One process at first: a reload reaches all, and three of them would fight for the processors."""
    database = large_world(home, tokens=plan.tokens, edges=plan.edges)
    size = f"{plan.tokens:,} tokens, {plan.edges:,} edges"
    with ExitStack() as stack:
        mock = stack.enter_context(model(home))
        small = stack.enter_context(festinger(home, mock.url, fresh(home)))
        large = [stack.enter_context(festinger(home, mock.url, database))]
        starts = [start(large[0])]
        for server in (small, *large):
            teach(server)
        yield latency(mock, small, large[0], plan, size)
        yield run(reloading.measured(large[0], mock, min(plan.rounds, RELOADS_MAX)))
        for _ in range(PROCESSES - 1):
            large.append(stack.enter_context(festinger(home, mock.url, database)))
            starts.append(start(large[-1]))
        yield run(changes.measured(large, database, plan.rounds * CHANGES))
        yield Figures("start", f"a process, with {size}", rows(start(small), starts), {LARGE: START_AIM})


def latency(mock: Server, small: Server, large: Server, plan: Plan, size: str) -> Figures:
    targets = [
        Target(DIRECT, mock, prompts.fresh(seed=9)),
        Target(SMALL, small, prompts.fresh(seed=9), recalls=True),
        Target(LARGE, large, prompts.fresh(seed=9), recalls=True),
    ]
    samples, seen = run(sample(targets, mock.port, plan.rounds))
    found = {
        name: {
            "p50 ms": median(own.p50),
            "p99 ms": median(own.p99),
            "added p50 ms": own.added(samples[DIRECT]),
            "of small": own.ratio(samples[SMALL]),
        }
        for name, own in samples.items()
        if name != DIRECT
    }
    return Figures("scale", f"latency with {size}, and with next to none", found, {LARGE: LATENCY_AIM}, seen)


def start(server: Server) -> dict[str, float]:
    """Asked for right after it."""
    return {
        "ready s": server.ready_s,
        "cache.loaded ms": server.logged("cache.loaded", "ms"),
        "tokens": int(server.logged("cache.loaded", "tokens")),
        "RSS MB": server.rss_mb(),
    }


def rows(small: dict[str, float], large: Sequence[dict[str, float]]) -> dict[str, dict[str, float]]:
    """Medians of the large ones."""
    return {SMALL: small, LARGE: {column: median(one[column] for one in large) for column in small}}
