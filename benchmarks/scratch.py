"""A home of its own with a Postgres in it, prepared as ``make run`` would; gone when the benchmarks are done.

What the operator has set up, the real database above all, is out of reach.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from festinger_site import home as homes
from festinger_site import postgres

OPERATORS_OWN = ("FESTINGER_", "DATABASE_URL", "CELERY_BROKER_URL")


@contextmanager
def scratch_home() -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="festinger-bench-")).resolve()
    home.chmod(0o711)  # as root, Postgres is another user, who has to pass through
    try:
        postgres.ensure_cluster(home, durable=False)
        server = postgres.start(home)
        postgres.ensure_database(home)
        prepare(home)
        yield home
    finally:
        postgres.stop(home)
        server.wait()
        shutil.rmtree(homes.run_folder(home), ignore_errors=True)
        shutil.rmtree(home, ignore_errors=True)


def prepare(home: Path) -> None:
    """Migrations, dictionary, dimensions. Raises CalledProcessError."""
    subprocess.run(
        [sys.executable, "-m", "festinger_site.preparation"],
        cwd=homes.PROJECT,
        env=environment(home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )


def environment(home: Path, **settings: str) -> Mapping[str, str]:
    """For Festinger's processes: default settings, but for those given."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(OPERATORS_OWN)}
    return inherited | {"FESTINGER_HOME": str(home)} | settings


def dsn(home: Path) -> str:
    return f"host={homes.database_socket(home)} port={homes.PORT} user=postgres dbname={homes.DATABASE}"
