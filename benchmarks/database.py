"""A Postgres of our own, in a home that is thrown away, prepared as ``make run`` prepares one."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

from benchmarks.client import BenchmarkBroken
from festinger_site import home as homes
from festinger_site.dev import scratch_instance
from festinger_site.run import postgres_cluster

COPIES = count(1)
# As a replica it runs no triggers: nothing is announced, and no ring checked row by row.
AS_REPLICA = "SET session_replication_role = replica"


@contextmanager
def prepared_home() -> Iterator[Path]:
    """Yields the home while its Postgres runs."""
    with scratch_instance.home() as home:
        home.mkdir(0o711)
        postgres_cluster.ensure_cluster(home, durable=False)
        server = postgres_cluster.start(home)
        try:
            postgres_cluster.ensure_database(home)
            prepare(home)
            yield home
        finally:
            postgres_cluster.stop(home)
            server.wait()


def prepare(home: Path) -> None:
    """Migrations, dictionary, dimensions; without quotas, which whoever measures would meet at once. Blocks name the
    dimension of each fact, for those measures that read them. Raises CalledProcessError."""
    subprocess.run(
        [sys.executable, "-m", "django", "prepare", "--settings=festinger_site.settings"],
        cwd=homes.ROOT,
        env=scratch_instance.environment(home, port=1, ollama="http://127.0.0.1:1"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    with psycopg.connect(address(home, homes.DATABASE), autocommit=True) as connection:
        connection.execute("UPDATE config SET value = '1000000' WHERE key LIKE 'quota_%'")
    set_compact(address(home, homes.DATABASE))


def set_compact(database: str) -> None:
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE config SET value = 'compact' WHERE key = 'recollection_style'")


def fresh(home: Path) -> str:
    """The address of a new copy of the prepared database: what one measure teaches, no other finds."""
    name = f"copy_{next(COPIES)}"
    with psycopg.connect(address(home, "postgres"), autocommit=True) as connection:
        names = {"name": sql.Identifier(name), "prepared": sql.Identifier(homes.DATABASE)}
        connection.execute(sql.SQL("CREATE DATABASE {name} TEMPLATE {prepared}").format(**names))
    return address(home, name)


def analyze(database: str) -> None:
    """Postgres' own statistics, which its planner goes by."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("ANALYZE")


def address(home: Path, database: str) -> str:
    return f"postgresql://postgres@/{database}?host={quote(str(homes.database_socket(home)))}&port={homes.PORT}"


def run_apart(home: Path, database: str, words: list[str], *, said: bytes = b"") -> bytes:
    """Run ``python`` with these words in a process that has Django and this database; return what it prints. ``said``:
    its standard input. Raises BenchmarkBroken."""
    environment = scratch_instance.environment(home, port=1, ollama="http://127.0.0.1:1")
    environment |= {"DATABASE_URL": database, "FESTINGER_LOG_LEVEL": "ERROR"}
    done = subprocess.run(
        [sys.executable, *words], cwd=homes.ROOT, env=environment, input=said, capture_output=True, check=False
    )
    if done.returncode:
        raise BenchmarkBroken(f"{' '.join(words)}: {done.stderr.decode(errors='replace')[-2_000:]}")
    return done.stdout


def set_up_django() -> None:
    """Set Django up for the database of DATABASE_URL, without quotas."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.unbounded")
    import django

    django.setup()
