"""Measures the cost of finding contradictions between project state, facts and memories: when something is written,
and in the nightly sweep.

``python -m benchmarks.layers FACTS MEMORIES ROUNDS`` measures it in a process of its own, in the database of
DATABASE_URL; prints JSON.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median
from typing import Any, Final
from unittest import mock

import psycopg

from benchmarks import placing
from benchmarks.client import BenchmarkBroken
from benchmarks.database import fresh
from benchmarks.figures import Figures
from benchmarks.plan import Plan
from festinger_site import home as homes
from festinger_site.dev import scratch_instance

STATES_PER_FACT: Final = 30
REPEATS: Final = 5  # rounds as long as others' twenty take
REMARKS: Final = 150  # of each sort
TITLES: Final = {
    "placing with layers": "statements placed by one process, without and with the search for contradictions",
    "remembering with layers": "one memory taken in, without and with the search for contradictions",
    "sweep": "the sweep over {facts:,} facts, {memories:,} memories and {states:,} values of a project",
}
AIMS: Final = {
    "placing with layers": "with >= 0.9 of without",
    "remembering with layers": "added ms <= 2",
    "sweep": "s <= 60",
}

FILL: Final = f"""
    SET session_replication_role = replica;
    INSERT INTO project (slug, name) VALUES ('p05', 'Project');
    INSERT INTO soas (token, novelty)
        SELECT CASE WHEN n % {STATES_PER_FACT} = 0 THEN 'p05.' ELSE '' END || 'part' || n, 1
        FROM generate_series(1, COUNT_OF_FACTS) AS n;
    INSERT INTO soas (token) SELECT 'kind' || n FROM generate_series(0, 49) AS n ON CONFLICT DO NOTHING;
    INSERT INTO urd (id, parent_id, dim_id, is_isa, source)
        SELECT concept.id, parent.id, dim.id, true, 'inferred' FROM soas AS concept
        JOIN soas AS parent ON parent.token = 'kind' || concept.id % 50 JOIN soas AS dim ON dim.token = 'type'
        WHERE concept.token LIKE '%part%';
    INSERT INTO project_state (project_id, category, key, value, actor)
        SELECT project.id, 'type', substr(concept.token, 5),
            CASE WHEN hashtext(concept.token) % 50 = 0 THEN 'another' ELSE parent.token END, 'operator'
        FROM urd JOIN soas AS concept ON concept.id = urd.id JOIN soas AS parent ON parent.id = urd.parent_id, project
        WHERE concept.token LIKE 'p05.%';
    INSERT INTO memory (text, category, agent, person, source, slot, slot_version)
        SELECT 'The user prefers ' || CASE WHEN n % 1000 = 0 THEN 'bronze' ELSE 'plain' END || ' tool' || n % 4 || '.',
            'preference', 'agent-' || n / 8 % 20, 'person-' || n / 8 % 20000, 'stated', 'tool' || n % 4, 1
        FROM generate_series(1, COUNT_OF_MEMORIES) AS n;
    SET session_replication_role = DEFAULT;
"""


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    environment = scratch_instance.environment(home, port=1, ollama="http://127.0.0.1:1")
    environment |= {"DATABASE_URL": fresh(home), "DJANGO_SETTINGS_MODULE": "tests.unbounded"}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.layers", *map(str, (plan.edges, plan.memories, plan.part(REPEATS)))],
        cwd=homes.PROJECT,
        env=environment | {"FESTINGER_LOG_LEVEL": "ERROR"},
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise BenchmarkBroken(f"layers: {done.stderr.decode(errors='replace')}")
    sizes = {"facts": plan.edges, "memories": plan.memories, "states": plan.edges // STATES_PER_FACT}
    for name, rows in json.loads(done.stdout).items():
        yield Figures(name, TITLES[name].format(**sizes), rows, dict.fromkeys(rows, AIMS[name]))


def fill(dsn: str, facts: int, memories: int) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        words = FILL.replace("COUNT_OF_FACTS", str(facts)).replace("COUNT_OF_MEMORIES", str(memories))
        for statement in words.split(";\n"):
            connection.execute(statement.encode())
        connection.execute("VACUUM ANALYZE")


def sweep() -> dict[str, dict[str, float]]:
    from resolution.nightly.sweep import sweep_conflicts

    rows = {}
    for name in ("the first", "the next"):
        started = time.perf_counter()
        run = sweep_conflicts()
        assert run is not None
        rows[name] = {"s": time.perf_counter() - started, "opened": run.counts.get("opened", 0)}
    return rows


@contextmanager
def without_search() -> Iterator[None]:
    from resolution.conflicts import memories
    from resolution.memories import disputes

    with (
        mock.patch.object(disputes, "drop_settled", lambda _, rivals: rivals),
        mock.patch.object(memories, "open_between", mock.Mock(return_value=None)),
        mock.patch.object(memories, "detect_memory"),
        mock.patch.object(disputes, "settle_memories"),
    ):
        yield


def place(dsn: str, rounds: int) -> dict[str, dict[str, float]]:
    """The search is timed where it happens: two runs after each other differ by more than it takes."""
    from memory.graph import store
    from resolution.conflicts import detection
    from resolution.observations import settle_due

    searched = 0.0

    def timed(work: Callable[..., Any]) -> Callable[..., Any]:
        def run(*arguments: Any) -> Any:
            nonlocal searched
            began = time.perf_counter()
            found = work(*arguments)
            searched += time.perf_counter() - began
            return found

        return run

    rates: dict[str, list[float]] = {"without": [], "with": []}
    words = placing.NEW | {"slot": "n + {start}"}
    with (
        mock.patch.object(store, "followers", [timed(detection.note_facts)]),
        mock.patch.object(detection, "refresh", timed(detection.refresh)),
    ):
        for number in range(rounds + 1):
            start = 1_000_000 + number * placing.STATEMENTS
            said = placing.SAY.format(**words | {"slot": words["slot"].format(start=start)})
            with psycopg.connect(dsn, autocommit=True) as connection:
                connection.execute("DELETE FROM observation")
                connection.execute(said.encode(), {"count": placing.STATEMENTS})
            searched, started = 0.0, time.perf_counter()
            settle_due(seconds=placing.PATIENCE_S)
            taken = time.perf_counter() - started
            if number:  # the first warms
                rates["with"].append(placing.STATEMENTS / taken)
                rates["without"].append(placing.STATEMENTS / (taken - searched))
    found = {name: median(each) for name, each in rates.items()}
    return {
        "all new": {f"{name}/s": rate for name, rate in found.items()} | {"ratio": found["with"] / found["without"]}
    }


def take_in(rounds: int) -> dict[str, dict[str, float]]:
    from django.utils import timezone

    from memory.channels import Channel
    from memory.memories.scope import Scope, Speaker
    from memory.models import Memory
    from resolution.memories.remarks import compose
    from resolution.memories.service import remember

    people = count()

    def tell(*texts: str) -> float:
        """The milliseconds of the last one."""
        scope, taken = Scope(Speaker("bench", str(next(people)))), 0.0
        for text in texts:
            said = compose(text, "", scope, Channel.GUTASK, timezone.now(), source=Memory.Source.WRITTEN)
            started = time.perf_counter()
            remember([said])
            taken = 1000 * (time.perf_counter() - started)
        return taken

    sorts: dict[str, tuple[str, ...]] = {
        "without a slot": ("The kettle is in room 5.",),
        "in a slot of its own": ("My staging database is Postgres.",),
        "contradicted": ("I prefer rebase to merge commits.", "I prefer merge commits."),
    }
    times = max(3, rounds * REMARKS // 4)
    return {name: compare(partial(tell, *texts), times) for name, texts in sorts.items()}


def compare(work: Callable[[], float], rounds: int) -> dict[str, float]:
    taken: dict[str, list[float]] = {"without": [], "with": []}
    for _ in range(rounds):
        with without_search():
            taken["without"].append(work())
        taken["with"].append(work())
    found = {name: median(each) for name, each in taken.items()}
    return {f"{name} ms": each for name, each in found.items()} | {"added ms": found["with"] - found["without"]}


def main() -> None:
    import django

    django.setup()
    facts, memories, rounds = map(int, sys.argv[1:])
    dsn = os.environ["DATABASE_URL"]
    fill(dsn, facts, memories)
    found: dict[str, Any] = {"sweep": sweep()}
    found["placing with layers"] = place(dsn, rounds)
    found["remembering with layers"] = take_in(rounds)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
