"""A whole Festinger as ``make run`` starts it: the time of a warm start, and the memory of all its processes.

``python -m benchmarks.footprint EPISODES`` fills the database of DATABASE_URL, in a process of its own."""

import http.client
import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from statistics import median

import orjson
import psutil
import psycopg

from benchmarks import prompts
from benchmarks.client import HOST, BenchmarkBroken
from benchmarks.database import address
from benchmarks.figures import Figures
from benchmarks.learning import recollect
from benchmarks.loop import run
from benchmarks.plan import Plan
from benchmarks.servers import MEGABYTE, model
from benchmarks.statements import Statement, prompt
from benchmarks.write_path import WAITING, say
from festinger_site import home as homes
from festinger_site.dev import scratch_instance
from festinger_site.run import postgres_cluster, supervision
from festinger_site.run.liveness_probe import health

PROMPTS, PROMPTS_A_ROUND = 1_000, 50
EPISODES_MAX = 10_000
PATIENCE_S = 600
POLL_S = 0.02
IDLE_S = 20.0  # until what a process loads in the background is there
# The words of a command by which a process is told, the first that fits.
KINDS = {
    "proxy": "festinger_site.serve.serve",
    "worker": "worker",
    "launcher": "festinger_site.run.launch",
}
START, ALL = "warm start", "all"
ANSWERS, READY, TAUGHT, CPU = "answers s", "ready s", "taught s", "CPU s"
START_AIM, MEMORY_AIM = "ready and taught <= 8 s", "after PSS MB <= 700"


@dataclass(frozen=True, slots=True)
class Launched:
    process: subprocess.Popen[bytes]
    home: Path
    port: int
    started: float

    def processes(self) -> dict[str, list[psutil.Process]]:
        """By their kind; those that the launcher started and what they started."""
        found = defaultdict(list, {"postgres": postgres_cluster.processes(self.home)})
        for process in [psutil.Process(self.process.pid), *supervision.find_orphans(self.home)]:
            with suppress(psutil.Error):
                words = process.cmdline()
                found[next((kind for kind, word in KINDS.items() if word in words), "other")].append(process)
        return dict(found)

    def cpu_s(self) -> float:
        """Processor seconds that all of them have used, and those that they have waited for."""
        used = 0.0
        for process in chain.from_iterable(self.processes().values()):
            with suppress(psutil.NoSuchProcess):
                used += sum(process.cpu_times()[:4])
        return used

    def wait(self, event: Callable[[], object], what: str) -> float:
        """Seconds from the start until then. Raises BenchmarkBroken."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline and self.process.poll() is None:
            if event():
                return time.monotonic() - self.started
            time.sleep(POLL_S)
        raise BenchmarkBroken(f"{what} did not come:\n{homes.log_tail(self.home, 'proxy.log')}")

    def recalls(self, statement: Statement) -> bool:
        connection = http.client.HTTPConnection(HOST, self.port, timeout=PATIENCE_S)
        try:
            body = recollect(f"Look at {statement.concept}.").partition(b"\r\n\r\n")[2]
            connection.request("POST", "/recollect", body, {"Content-Type": "application/json"})
            # As a fact, which a worker has placed: the message itself is found before.
            line = f"\n{statement.concept}: [{statement.dimension}] {statement.parent}\n"
            return line in orjson.loads(connection.getresponse().read())["block"]
        finally:
            connection.close()


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    """In a home of its own, as durable as a real one; ``home`` only has the log of the model server."""
    episodes = min(plan.episodes, EPISODES_MAX)
    with scratch_instance.home() as own, model(home) as mock:
        with launched(own, mock.url) as first:
            first.wait(lambda: is_ready(first), "readiness")
            fill_apart(own, episodes)
        starts = [time_start(own, mock.url, number) for number in range(plan.part(of=4))]
        row = {name: median(start[name] for start in starts) for name in starts[0]}
        yield Figures("warm start", f"of a home that exists, {len(starts)} times", {START: row}, {START: START_AIM})
        with launched(own, mock.url) as festinger:
            festinger.wait(lambda: is_ready(festinger), "readiness")
            run(say(festinger.port, [prompt([Statement("mimsy", "wabe", "membership").sentence])]))
            time.sleep(IDLE_S)
            idle = weigh(festinger)
            said = min(PROMPTS, plan.rounds * PROMPTS_A_ROUND)
            run(say(festinger.port, islice(prompts.fresh(seed=5), said)))
            festinger.wait(lambda: is_done(own), "the end of the work")
            after = weigh(festinger)
        title = f"of all processes with {episodes:,} messages stored, idle and after {said:,} prompts"
        yield Figures("memory", title, table(idle, after), {ALL: MEMORY_AIM})


@contextmanager
def launched(home: Path, upstream: str) -> Iterator[Launched]:
    port = scratch_instance.free_port()
    scratch_instance.stop_on_signals()  # whoever is started while we ignore them would ignore them, too
    with home.with_name("launch.out").open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "festinger_site.run.launch"],
            cwd=homes.PROJECT,
            env=scratch_instance.environment(home, port, upstream),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        yield Launched(process, home, port, time.monotonic())
    finally:
        scratch_instance.end(process)
        supervision.stop_orphans(home)
        scratch_instance.stop_on_signals()


def is_ready(festinger: Launched) -> bool:
    return bool(health(HOST, festinger.port).get("ready"))


def is_done(home: Path) -> bool:
    with psycopg.connect(address(home, homes.DATABASE)) as connection:
        return connection.execute(WAITING).fetchone() == (0,)


def time_start(home: Path, upstream: str, number: int) -> dict[str, float]:
    """The statement is said when Festinger is ready, and recalled when a worker has placed it."""
    statement = Statement(f"slithy{number}", f"tove{number}", "membership")
    with launched(home, upstream) as festinger:
        times = {
            ANSWERS: festinger.wait(lambda: health(HOST, festinger.port), "an answer"),
            READY: festinger.wait(lambda: is_ready(festinger), "readiness"),
        }
        run(say(festinger.port, [prompt([statement.sentence])]))
        times[TAUGHT] = festinger.wait(lambda: festinger.recalls(statement), "what was taught")
        return times | {CPU: festinger.cpu_s()}


def weigh(festinger: Launched) -> dict[str, tuple[int, float]]:
    """By kind, how many processes there are, and the sum of their proportional set sizes in MB."""
    counts: Counter[str] = Counter()
    sizes: dict[str, float] = defaultdict(float)
    for kind, found in festinger.processes().items():
        for process in found:
            with suppress(psutil.NoSuchProcess):
                sizes[kind] += process.memory_full_info().pss / MEGABYTE
                counts[kind] += 1
    return {kind: (counts[kind], sizes[kind]) for kind in counts}


def table(idle: Mapping[str, tuple[int, float]], after: Mapping[str, tuple[int, float]]) -> dict[str, dict[str, float]]:
    rows = {
        kind: {"processes": count, "idle PSS MB": idle.get(kind, (0, 0.0))[1], "after PSS MB": size}
        for kind, (count, size) in sorted(after.items(), key=lambda item: -item[1][1])
    }
    rows[ALL] = {column: sum(row[column] for row in rows.values()) for column in next(iter(rows.values()))}
    return rows


def fill_apart(home: Path, episodes: int) -> None:
    """In a process that has Django. Raises CalledProcessError."""
    environment = scratch_instance.environment(home, port=1, ollama="http://127.0.0.1:1")
    environment["DATABASE_URL"] = address(home, homes.DATABASE)
    command = [sys.executable, "-m", "benchmarks.footprint", str(episodes)]
    subprocess.run(command, cwd=homes.PROJECT, env=environment, check=True)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "festinger_site.settings")
    import django

    django.setup()
    from benchmarks.retrieval_scale import fill

    fill(memories=100, episodes=int(sys.argv[1]))
    with psycopg.connect(os.environ["DATABASE_URL"]) as connection:
        connection.execute("UPDATE config SET value = 'compact' WHERE key = 'recollection_style'")
