"""A migrated and bootstrapped database, prepared once for all processes of a run and copied by whoever needs one.

It lives in the cluster of a Postgres that is stopped: to copy that folder takes a third of a second, where initdb,
migrations and the dictionary take five.
"""

import atexit
import fcntl
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from urllib.parse import quote

import psycopg

from festinger_site import home as homes
from festinger_site.run import postgres_cluster
from memory.search.encoder.model_file import FOLDER

PREPARED = "festinger_prepared"  # the database's name, in the cluster and in its copies
SHARED_FOLDER = "FESTINGER_TEST_SHARED"  # environment variable: processes that a run starts inherit it
DURABLE = "fsync = on\nfull_page_writes = on\n"  # the last line of postgresql.conf about a setting counts


def copy_cluster(home: Path, *, durable: bool = False) -> None:
    """Gives the home a cluster with the database PREPARED in it, where ``ensure_cluster`` would give it an empty one.

    Prepares the original if that has not happened in this run, and waits while another process does."""
    original = prepared_cluster()
    if (shared_folder() / "postgres").is_symlink():  # Postgres' user cannot enter where temporary folders are made
        (home / "postgres").symlink_to(f"{original}-{secrets.token_hex(4)}")
    copy = postgres_cluster.data_folder(home)
    subprocess.run(["cp", "-a", str(original), str(copy)], check=True)  # with its owner, who is not always ours
    if durable:
        with (copy / "postgresql.conf").open("a") as settings:
            settings.write(DURABLE)
    postgres_cluster.ensure_cluster(home)


def prepared_cluster() -> Path:
    """The data folder of the original, whose server is stopped."""
    home = shared_folder()
    with (home / "prepare.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (home / "is_prepared").exists():
            _prepare_cluster(home)
            (home / "is_prepared").touch()
    return postgres_cluster.data_folder(home)


def prepare_database(url: str) -> None:
    """Migrates and bootstraps it, as every start of Festinger does, and lifts the quotas: all tests of a run together
    are one agent of one hour. Blocks are compact: so they name the dimension of each fact, which tests look at. Prompts
    are given nothing of what other tests have said, but for those of tests/served/test_remembered.py."""
    subprocess.run(
        [sys.executable, "-m", "django", "prepare", "--settings=festinger_site.settings"],
        cwd=homes.ROOT,
        env=os.environ | {"DATABASE_URL": url, "FESTINGER_HOME": str(shared_folder())},
        capture_output=True,
        check=True,
    )
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE config SET value = '1000000' WHERE key LIKE 'quota_%'")
        connection.execute("UPDATE config SET value = 'compact' WHERE key = 'recollection_style'")
        connection.execute("UPDATE config SET value = 'off' WHERE key = 'recall_current'")


def embedded_url(home: Path, database: str) -> str:
    return f"postgresql://postgres:@/{database}?host={quote(str(homes.database_socket(home)))}&port={homes.PORT}"


def share_encoder(home: Path) -> None:
    """The built-in embedder's file is made once a run, by whoever needs it first."""
    original = shared_folder() / FOLDER
    original.mkdir(exist_ok=True)
    (home / FOLDER).symlink_to(original)


@cache
def shared_folder() -> Path:
    """The folder that all processes of a run share. The first one makes it, and removes it at its end."""
    if inherited := os.environ.get(SHARED_FOLDER):
        return Path(inherited)
    folder = Path(tempfile.mkdtemp(prefix="festinger-prepared-")).resolve()
    folder.chmod(0o711)  # as root, Postgres is another user, who has to pass through
    os.environ[SHARED_FOLDER] = str(folder)
    atexit.register(_remove, folder, maker=os.getpid())
    return folder


def _prepare_cluster(home: Path) -> None:
    postgres_cluster.ensure_cluster(home, durable=False)
    server = postgres_cluster.start(home)
    try:
        postgres_cluster.ensure_database(home, PREPARED)
        prepare_database(embedded_url(home, PREPARED))
    finally:
        postgres_cluster.stop(home)
        server.wait()


def _remove(folder: Path, *, maker: int) -> None:
    if os.getpid() == maker:  # not a fork that a test made
        postgres_cluster.remove(folder)
        shutil.rmtree(folder, ignore_errors=True)
