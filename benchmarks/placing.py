"""Measures how fast the two processes of one worker place what was said: statements that wait in ``observation``.

``python -m benchmarks.placing`` is one such process: it says when it is ready, waits for a line, and settles all."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median

import psycopg

from benchmarks.client import BenchmarkBroken
from benchmarks.database import fresh
from benchmarks.figures import Figures
from benchmarks.plan import Plan
from festinger_site import home as homes
from festinger_site.dev import scratch_instance

PROCESSES = 2
REPEATS = 5  # rounds as long as others' twenty take
STATEMENTS = 3_000
PATIENCE_S = 300
AIM = ">= 300 triples/s"
TITLE = "statements that wait, placed by the two processes of one worker"

SAY = """
    INSERT INTO observation (kind, digest, concept, parent, dimension, confidence, is_isa, role, agent, said_at)
    SELECT 'triple', sha256(n::text::bytea), 'word' || slot, {parent},
           (ARRAY['type', 'membership', 'runs-on', 'tech'])[1 + slot %% 4], 0.8, true, 'user', {agent},
           now() - (%(count)s - n) * interval '1 millisecond'
    FROM generate_series(1, %(count)s) AS n, LATERAL (SELECT {slot} AS slot) AS about
"""
# Expressions in n, the number of the statement.
NEW = {"slot": "n", "parent": "'kind' || slot %% 50", "agent": "'dobby'"}
OFTEN = {"slot": "n / 4", "parent": "'kind' || slot %% 50 + n %% 4 / 3", "agent": "'agent' || n %% 4"}
CHANGING = {"slot": "n * 7 %% 900", "parent": "'kind' || n %% 49", "agent": "'dobby'"}
QUEUE = "UPDATE dimension SET on_collision = 'queue'"
SUPERSEDE = "UPDATE dimension SET on_collision = 'supersede'"
LOADS = {
    "all new": (NEW, QUEUE),
    "confirmed and disputed": (OFTEN, QUEUE),
    "superseded": (CHANGING, SUPERSEDE),
}


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    rows = {}
    for name, (words, policy) in LOADS.items():
        rates = [STATEMENTS / seconds(home, SAY.format(**words), policy) for _ in range(plan.part(REPEATS))]
        rows[name] = {"statements": STATEMENTS, "triples/s": median(rates)}
    yield Figures("placing", TITLE, rows, dict.fromkeys(rows, AIM))


def seconds(home: Path, say: str, policy: str) -> float:
    """For all statements. Raises BenchmarkBroken where not each is done."""
    database = fresh(home)
    with psycopg.connect(database) as connection:
        connection.execute(say, {"count": STATEMENTS})
        connection.execute(policy)
    with ExitStack() as stack:
        workers = [stack.enter_context(worker(home, database)) for _ in range(PROCESSES)]
        for process in workers:
            ask(process, "ready")
        started = time.perf_counter()
        for process in workers:
            print(file=process.stdin, flush=True)
        settled = sum(int(answer(process)) for process in workers)
        taken = time.perf_counter() - started
    with psycopg.connect(database) as connection:
        done = connection.execute("SELECT count(*) FROM observation WHERE state = 'done'").fetchone()
    if (settled, done) != (STATEMENTS, (STATEMENTS,)):
        raise BenchmarkBroken(f"of {STATEMENTS} statements {settled} were settled, {done} are done")
    return taken


def worker(home: Path, database: str) -> subprocess.Popen[str]:
    environment = scratch_instance.environment(home, port=1, ollama="http://127.0.0.1:1") | {"DATABASE_URL": database}
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.placing"],
        cwd=homes.PROJECT,
        env=environment | {"DJANGO_SETTINGS_MODULE": "tests.unbounded", "FESTINGER_LOG_LEVEL": "WARNING"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def ask(process: subprocess.Popen[str], expected: str) -> None:
    if (said := answer(process)) != expected:
        raise BenchmarkBroken(f"a worker said {said!r}")


def answer(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def main() -> None:
    import django

    django.setup()
    from django.db import connection

    from resolution.observations import settle_due

    connection.ensure_connection()
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(settle_due(seconds=PATIENCE_S)), flush=True)


if __name__ == "__main__":
    main()
