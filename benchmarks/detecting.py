"""Measures how long the detective takes over the story of a great many changes, without a model.

``python -m benchmarks.detecting ROWS`` measures it in a process of its own, in the database of DATABASE_URL; prints
JSON.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psycopg

from benchmarks.client import BenchmarkBroken
from benchmarks.database import fresh
from benchmarks.figures import Figures
from benchmarks.plan import Plan
from festinger_site import home as homes
from festinger_site.dev import scratch_instance

CONCEPTS: Final = 100_000
MEMORIES: Final = 10_000
PROJECT: Final = "p05"  # carried by one concept in fifty
TITLE: Final = "one run of the detective over {rows:,} changes of facts and {memories:,} memories, without a model"
AIM: Final = "s <= 5"

FILL: Final = f"""
    SET session_replication_role = replica;
    INSERT INTO soas (token, novelty)
        SELECT CASE WHEN n % 50 = 0 THEN '{PROJECT}.part' ELSE 'part' END || n, 1
        FROM generate_series(1, {CONCEPTS}) AS n;
    INSERT INTO project (slug, name) VALUES ('{PROJECT}', 'Project');
    CREATE TEMP TABLE known AS SELECT row_number() OVER () AS n, id FROM soas WHERE token LIKE '%part%';
    CREATE TEMP TABLE dims AS SELECT row_number() OVER () AS n, id FROM dimension WHERE NOT is_additive;
    INSERT INTO edge_history (concept_id, dim_id, action, after, actor, source, channel, conversation, at)
        SELECT concept.id, dim.id, CASE WHEN told <= {CONCEPTS} THEN 'insert' ELSE 'supersede' END,
            jsonb_build_object('parent_id', parent.id, 'is_isa', false), 'agent-' || told % 20, 'inferred', 'user',
            substr(sha256((told / 7)::text::bytea), 1, 16), now() - (COUNT_OF_ROWS - told) * interval '30 seconds'
        FROM generate_series(1, COUNT_OF_ROWS) AS told
        JOIN known AS concept ON concept.n = 1 + told % {CONCEPTS}
        JOIN dims AS dim ON dim.n = 1 + told % (SELECT count(*) FROM dims)
        JOIN known AS parent ON parent.n = 1 + told * 7 % 5000 AND parent.id <> concept.id;
    INSERT INTO urd (id, parent_id, dim_id, is_isa, source)
        SELECT DISTINCT ON (concept_id, dim_id) concept_id, (after->>'parent_id')::int, dim_id, false, 'inferred'
        FROM edge_history ORDER BY concept_id, dim_id, id DESC;
    INSERT INTO memory (text, category, project_id, agent, source, said_at, created_at)
        SELECT 'The part ' || n || ' weighs ' || n % 90 || ' kg and stands in hall ' || n % 12 || '.', 'project',
            CASE WHEN n % 2 = 0 THEN (SELECT id FROM project) END, 'agent-' || n % 20, 'stated', at, at
        FROM (
            SELECT n, now() - n * interval '1 hour' AS at FROM generate_series(1, {MEMORIES}) AS n
        ) AS said;
    SET session_replication_role = DEFAULT;
"""


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    database = fresh(home)
    environment = scratch_instance.environment(home, port=1, ollama="http://127.0.0.1:1") | {"DATABASE_URL": database}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.detecting", str(plan.tokens)],
        cwd=homes.PROJECT,
        env=environment | {"DJANGO_SETTINGS_MODULE": "tests.unbounded", "FESTINGER_LOG_LEVEL": "WARNING"},
        capture_output=True,
        check=False,
    )
    if done.returncode:
        raise BenchmarkBroken(f"detecting: {done.stderr.decode(errors='replace')}")
    rows = json.loads(done.stdout)
    title = TITLE.format(rows=plan.tokens, memories=MEMORIES)
    yield Figures("detecting", title, rows, dict.fromkeys(rows, AIM))


def fill(dsn: str, rows: int) -> None:
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in FILL.replace("COUNT_OF_ROWS", str(rows)).split(";\n"):
            connection.execute(statement)
        connection.execute("VACUUM ANALYZE")


def detect() -> dict[str, dict[str, float]]:
    from memory.models import Project
    from resolution.detective import run

    found = {}
    for name, project in {"of no project": None, "of a project": Project.objects.get(slug=PROJECT)}.items():
        started = time.perf_counter()
        read = run.preview(project)
        found[name] = {"s": time.perf_counter() - started, "lines": read.lines, "found": len(read.findings)}
    return found


def main() -> None:
    import django

    django.setup()
    fill(os.environ["DATABASE_URL"], int(sys.argv[1]))
    print(json.dumps(detect()))


if __name__ == "__main__":
    main()
