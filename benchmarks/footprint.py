"""A whole Festinger as ``make run`` starts it: the time of a warm start, and the memory of all its processes."""

import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random
from statistics import median
from typing import Final

import orjson
import psutil
import psycopg

from benchmarks.client import CHAT, HOST, BenchmarkBroken, Line
from benchmarks.database import address, set_compact
from benchmarks.figures import Figures, Rows
from benchmarks.plan import Plan
from benchmarks.prompts import Statement, english, says
from benchmarks.servers import MEGABYTE, model
from benchmarks.speed import LONG, SIZES, earlier_texts, store_earlier
from benchmarks.stores import WAITING
from festinger_site import home as homes
from festinger_site.dev import scratch_instance
from festinger_site.run import postgres_cluster, supervision
from festinger_site.run.liveness_probe import health

PROMPTS_A_ROUND: Final = 100
PATIENCE_S: Final = 600
POLL_S: Final = 0.02
IDLE_S: Final = 20.0  # until what a process loads in the background is there
# The words of a command by which a process is told, the first that fits.
KINDS: Final = {"proxy": "festinger_site.serve.serve", "worker": "worker", "launcher": "festinger_site.run.launch"}
START, ALL = "warm start", "all"
START_AIM, MEMORY_AIM = "ready s <= 3", "after PSS MB <= 700"

Weights = Mapping[str, tuple[int, float]]  # by kind, how many processes there are, and the sum of their PSS in MB


@dataclass(frozen=True, slots=True)
class Launched:
    process: subprocess.Popen[bytes]
    home: Path
    port: int
    started: float

    def wait(self, event: Callable[[], object], what: str) -> float:
        """Return the seconds from the start until then. Raises BenchmarkBroken."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline and self.process.poll() is None:
            if event():
                return time.monotonic() - self.started
            time.sleep(POLL_S)
        raise BenchmarkBroken(f"{what} did not come:\n{homes.log_tail(self.home, 'proxy.log')}")

    def wait_ready(self) -> float:
        return self.wait(lambda: health(HOST, self.port).get("ready"), "readiness")

    def wait_done(self) -> None:
        def is_done() -> bool:
            with psycopg.connect(address(self.home, homes.DATABASE)) as connection:
                return connection.execute(WAITING.encode()).fetchone() == (0,)

        self.wait(is_done, "the end of the work")

    def say(self, *texts: str) -> None:
        line = Line(self.port)
        for text in texts:
            line.post(CHAT, {"model": "mock", "messages": [says("user", text)], "stream": False})

    def recalls(self, fact: Statement) -> bool:
        """True if it is a fact, which a worker has placed: the message itself is found before."""
        content, _ = Line(self.port).post("/recollect", {"text": f"Look at {fact.concept}."})
        return fact.is_in(orjson.loads(content)["block"])

    def weigh(self) -> Weights:
        counts: Counter[str] = Counter()
        sizes: dict[str, float] = defaultdict(float)
        ours = [psutil.Process(self.process.pid), *supervision.find_orphans(self.home)]
        for family, found in {"postgres": postgres_cluster.processes(self.home), "": ours}.items():
            for process in found:
                with suppress(psutil.Error):
                    words = process.cmdline()
                    kind = family or next((kind for kind, word in KINDS.items() if word in words), "other")
                    sizes[kind] += process.memory_full_info().pss / MEGABYTE
                    counts[kind] += 1
        return {kind: (counts[kind], sizes[kind]) for kind in counts}


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    """In a home of its own, as durable as a real one; ``home`` only has the log of the model server."""
    texts = islice(earlier_texts(), plan.earlier)
    with scratch_instance.home() as own, model(home) as mock:
        with launched(own, mock.url) as first:
            first.wait_ready()
            set_compact(address(own, homes.DATABASE))
            first.say("The greenhouse is warm today.")
            store_earlier(address(own, homes.DATABASE), list(texts))
            first.wait_done()
        starts = [time_start(own, mock.url, number) for number in range(plan.part(5))]
        row = {name: median(start[name] for start in starts) for name in starts[0]}
        yield Figures("warm start", f"of a home that exists, {len(starts)} times", {START: row}, {START: START_AIM})
        with launched(own, mock.url) as festinger:
            festinger.wait_ready()
            time.sleep(IDLE_S)
            idle = festinger.weigh()
            said = plan.rounds * PROMPTS_A_ROUND
            random = Random(5)
            festinger.say(*(english(random, SIZES[LONG]) for _ in range(said)))
            festinger.wait_done()
            after = festinger.weigh()
        title = f"of all processes with {plan.earlier:,} messages stored, idle and after {said:,} prompts"
        yield Figures("memory", title, table(idle, after), {ALL: MEMORY_AIM})


@contextmanager
def launched(home: Path, upstream: str) -> Iterator[Launched]:
    port = scratch_instance.free_port()
    scratch_instance.stop_on_signals()  # whoever is started while we ignore them would ignore them, too
    with home.with_name("launch.out").open("ab") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "festinger_site.run.launch"],
            cwd=homes.ROOT,
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


def time_start(home: Path, upstream: str, number: int) -> dict[str, float]:
    """The statement is said when Festinger is ready, and recalled when a worker has placed it."""
    fact = Statement(f"slithy{number}", f"tove{number}", "membership")
    with launched(home, upstream) as festinger:
        ready_s = festinger.wait_ready()
        festinger.say(fact.sentence)
        return {"ready s": ready_s, "taught s": festinger.wait(lambda: festinger.recalls(fact), "what was taught")}


def table(idle: Weights, after: Weights) -> Rows:
    rows: Rows = {
        kind: {"processes": count, "idle PSS MB": idle.get(kind, (0, 0.0))[1], "after PSS MB": size}
        for kind, (count, size) in sorted(after.items(), key=lambda item: -item[1][1])
    }
    rows[ALL] = {column: sum(row[column] for row in rows.values()) for column in next(iter(rows.values()))}
    return rows
