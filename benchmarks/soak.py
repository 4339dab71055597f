"""``python -m benchmarks.soak``: thousands of requests of each bad kind, and whether the server keeps what they took.

Of each kind it prints the process's open files, threads, tasks and memory, before and after."""

import argparse
import asyncio
import sys
import time
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass

import orjson
import psutil

from benchmarks import servers
from benchmarks.client import Line
from benchmarks.database import fresh, prepared_home
from benchmarks.misuse import AT_ONCE, AWAY, BODY_MAX_BYTES, KINDS, Misuse, drive
from festinger_site.dev.scratch_instance import Interrupted, standin, stop_on_signals

REQUESTS = 10_000
WARM_UP = 200  # of each kind: pools, caches and the allocator's own stock fill up
SETTLE_S = 10.0
FILES_MORE = AT_ONCE + 3  # the pool of kept connections breathes
TASKS_MORE = 3
# Else glibc, once a large body was freed, keeps up to 64 MB of later ones for the next, now and then: with these the
# process has what it holds, and no more.
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": "131072", "MALLOC_TRIM_THRESHOLD_": "131072"}  # bytes
GROWTH_MAX_MB = 24.0  # of one kind, after its warm-up; ten thousand leaks of 3 KB are more


@dataclass(frozen=True, slots=True)
class State:
    """The resources that a server process holds."""

    files: int
    threads: int
    tasks: int
    memory_mb: float

    def has_grown(self, before: "State", *, mb: float = GROWTH_MAX_MB) -> bool:
        return (
            self.files > before.files + FILES_MORE
            or self.tasks > before.tasks + TASKS_MORE
            or self.memory_mb > before.memory_mb + mb
        )


def state_of(process: psutil.Process, port: int) -> State:
    """Its tasks are those it tells itself, less the one that tells."""
    with closing(Line(port)) as line:
        tasks = orjson.loads(line.get("/health")[1])["process"]["tasks"]
    return State(process.num_fds(), process.num_threads(), tasks, process.memory_info().rss / 1e6)


def settled(process: psutil.Process, port: int, before: State) -> State:
    """Its state once it is as it was before, or after SETTLE_S."""
    deadline = time.monotonic() + SETTLE_S
    while (state := state_of(process, port)).has_grown(before) and time.monotonic() < deadline:
        time.sleep(0.1)
    return state


def soak(process: psutil.Process, port: int, kinds: Mapping[str, Misuse], requests: int) -> list[str]:
    """Prints a line for each kind. The names of those after which more is held than before."""
    grown = []
    for name, misuse in kinds.items():
        asyncio.run(drive(port, misuse, min(requests, WARM_UP)))
        before = state_of(process, port)
        started = time.monotonic()
        asyncio.run(drive(port, misuse, requests))
        took_s = time.monotonic() - started
        after = settled(process, port, before)
        if after.has_grown(before):
            grown.append(name)
        print(line(name, before, after, requests / took_s) + (" GROWN" if name in grown else ""), flush=True)
    return grown


TITLES = f"{'kind':<44}{'files':>12}{'threads':>10}{'tasks':>12}{'memory, MB':>18}{'per s':>8}"


def line(name: str, before: State, after: State, rate: float) -> str:
    files = f"{before.files} -> {after.files}"
    threads = f"{before.threads} -> {after.threads}"
    tasks = f"{before.tasks} -> {after.tasks}"
    memory = f"{before.memory_mb:.1f} -> {after.memory_mb:.1f}"
    return f"{name:<44}{files:>12}{threads:>10}{tasks:>12}{memory:>18}{rate:>8.0f}"


def run(requests: int, only: list[str]) -> list[str]:
    """The kinds that grew."""
    chosen = {name: kind for name, kind in KINDS.items() if not only or name in only}
    away = {name: kind for name, kind in AWAY.items() if not only or name in only}
    with prepared_home() as home, ExitStack() as model:
        ollama = model.enter_context(standin())
        environment = ALLOCATOR | {"FESTINGER_MAX_BODY_BYTES": str(BODY_MAX_BYTES)}
        with servers.festinger(home, ollama, fresh(home), **environment) as server:
            servers.teach(server)
            print(TITLES)
            grown = soak(server.process, server.port, chosen, requests)
            model.close()
            return grown + soak(server.process, server.port, away, requests)


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--requests", type=int, default=REQUESTS, help="of each kind (default %(default)s)")
    parser.add_argument("--only", action="append", default=[], choices=[*KINDS, *AWAY], help="may be repeated")
    asked = parser.parse_args()
    stop_on_signals()
    try:
        grown = run(asked.requests, asked.only)
    except Interrupted as stop:
        return stop.status
    if grown:
        print(f"The server holds more than before after: {', '.join(grown)}", file=sys.stderr)
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
