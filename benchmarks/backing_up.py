"""Time a backup of a great many messages, the prompts meanwhile, and the restore.

``python -m benchmarks.backing_up MEMORIES EPISODES`` fills the database of DATABASE_URL, in a process of its own.
"""

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from statistics import median

from benchmarks import prompts
from benchmarks.client import BenchmarkBroken, Connection
from benchmarks.database import fresh
from benchmarks.figures import Figures, Rows
from benchmarks.latency import timed
from benchmarks.loop import run
from benchmarks.plan import Plan
from benchmarks.retrieval_scale import fill
from benchmarks.servers import festinger, model
from festinger_site import home as homes
from festinger_site.dev import scratch_instance
from festinger_site.run import postgres_cluster

BATCH = 100  # prompts before it; during it as many as fit
TITLE = "a backup of {memories:,} memories and {episodes:,} messages, and a prompt of 2 KB meanwhile"
AIMS = {"backup": "s <= 180, prompts p50 of before <= 1.5", "restore": "s <= 300"}


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    environment = scratch_instance.environment(home, port=1, ollama="http://127.0.0.1:1")
    environment |= {"DATABASE_URL": fresh(home), "DJANGO_SETTINGS_MODULE": "festinger_site.settings"}
    _run(["-m", "benchmarks.backing_up", str(plan.memories), str(plan.episodes)], environment)
    with model(home) as mock, festinger(home, mock.url, environment["DATABASE_URL"]) as proxy:
        found = run(_back_up(proxy.port, home / "backup.tar", environment))
    try:
        found["backup"]["MB"] = (home / "backup.tar").stat().st_size / 1e6
        found["restore"] = {"s": _restore(home / "backup.tar", home.parent / "restored", environment)}
    finally:
        postgres_cluster.remove(home.parent / "restored")
    yield Figures("backup", TITLE.format(memories=plan.memories, episodes=plan.episodes), found, AIMS)


async def _back_up(port: int, file: Path, environment: dict[str, str]) -> Rows:
    line = await Connection.open(port)
    asking = prompts.fresh(seed=11)
    before = await timed(line, list(islice(asking, BATCH)))
    started = time.perf_counter()
    backup = asyncio.create_task(asyncio.to_thread(_run, ["manage.py", "backup", str(file)], environment))
    during: list[float] = []
    while not backup.done():
        during += await timed(line, list(islice(asking, 1)))
    await backup
    seconds = time.perf_counter() - started
    line.close()
    return {
        "idle": {"p50 ms": median(before)},
        "backup": {
            "s": seconds,
            "p50 ms": median(during),
            "of before": median(during) / median(before),
        },
    }


def _restore(file: Path, home: Path, environment: dict[str, str]) -> float:
    started = time.perf_counter()
    _run(["manage.py", "restore", str(file)], environment | {"FESTINGER_HOME": str(home), "DATABASE_URL": ""})
    return time.perf_counter() - started


def _run(words: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, *words], cwd=homes.PROJECT, env=environment, capture_output=True, check=False
    )
    if done.returncode:
        raise BenchmarkBroken(done.stderr.decode(errors="replace")[-2_000:])


def main() -> None:
    import django

    django.setup()
    memories, episodes = map(int, sys.argv[1:])
    fill(memories, episodes)


if __name__ == "__main__":
    main()
