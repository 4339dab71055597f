"""A Postgres of our own, in a home that is thrown away, prepared as ``make run`` prepares one."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

from festinger_site import home as homes
from festinger_site.dev import scratch_instance
from festinger_site.run import postgres_cluster

COPIES = count(1)


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
        cwd=homes.PROJECT,
        env=scratch_instance.environment(home, port=1, ollama="http://127.0.0.1:1"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    with psycopg.connect(address(home, homes.DATABASE), autocommit=True) as connection:
        connection.execute("UPDATE config SET value = '1000000' WHERE key LIKE 'quota_%'")
        connection.execute("UPDATE config SET value = 'compact' WHERE key = 'recollection_style'")


def fresh(home: Path) -> str:
    """The address of a new copy of the prepared database: what one measure teaches, no other finds."""
    name = f"copy_{next(COPIES)}"
    with psycopg.connect(address(home, "postgres"), autocommit=True) as connection:
        names = {"name": sql.Identifier(name), "prepared": sql.Identifier(homes.DATABASE)}
        connection.execute(sql.SQL("CREATE DATABASE {name} TEMPLATE {prepared}").format(**names))
    return address(home, name)


def remember_nothing(database: str) -> None:
    """Prompts are kept nowhere and searched for nowhere."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("UPDATE config SET value = 'off' WHERE key = 'episodes'")
        connection.execute("UPDATE config SET value = 'off' WHERE key = 'recall_current'")


def analyze(database: str) -> None:
    """Postgres' own statistics, which its planner goes by."""
    with psycopg.connect(database, autocommit=True) as connection:
        connection.execute("ANALYZE")


def address(home: Path, database: str) -> str:
    return f"postgresql://postgres@/{database}?host={quote(str(homes.database_socket(home)))}&port={homes.PORT}"
