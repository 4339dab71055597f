"""A Postgres of our own, in a home that is thrown away, prepared as ``make run`` prepares one."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from festinger_site import home as homes
from festinger_site import postgres, scratch


@contextmanager
def prepared_home() -> Iterator[Path]:
    """Yields the home while its Postgres runs."""
    with scratch.home() as home:
        home.mkdir(0o711)
        postgres.ensure_cluster(home, durable=False)
        server = postgres.start(home)
        try:
            postgres.ensure_database(home)
            prepare(home)
            yield home
        finally:
            postgres.stop(home)
            server.wait()


def prepare(home: Path) -> None:
    """Migrations, dictionary, dimensions. Raises CalledProcessError."""
    subprocess.run(
        [sys.executable, "-m", "festinger_site.preparation"],
        cwd=homes.PROJECT,
        env=scratch.environment(home, port=1, ollama="http://127.0.0.1:1"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )


def dsn(home: Path) -> str:
    return f"host={homes.database_socket(home)} port={homes.PORT} user=postgres dbname={homes.DATABASE}"
