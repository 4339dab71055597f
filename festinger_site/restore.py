"""Makes a home, or fills an empty database, from a backup."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import psycopg

from festinger_site import backup, settings
from festinger_site import home as homes
from festinger_site.backup import BackupFailed, Manifest
from festinger_site.launcher import home_locks, postgres_cluster
from festinger_site.launcher.preflight import list_migrations

# With the default of 64 MB, the graph of 200,000 vectors is made on the disk: many times slower.
FOR_INDEXES = "-c maintenance_work_mem=512MB"
JOBS = 2  # tables and indexes at a time


def restore(file: Path) -> Manifest:
    """Restores the backup into a home that does not exist yet or, with ``DATABASE_URL``, into a database that is empty.
    Raises BackupFailed, and leaves nothing behind then."""
    manifest = backup.check_archive(file)
    known = list_migrations(settings.INSTALLED_APPS)
    if unknown := [f"{app} {name}" for app, name in manifest.migrations if (app, name) not in known]:
        raise BackupFailed(
            f"This backup was made by a newer version of Festinger, {manifest.version}, with migrations that this one"
            f" does not know: {', '.join(unknown)}."
        )
    home = homes.path()
    if home.exists() and any(home.iterdir()):
        raise BackupFailed(f"{home} is not empty: set FESTINGER_HOME to a folder that does not exist yet.")
    homes.ensure()
    (home / homes.RESTORING).touch()
    try:
        with home_locks.launching(home, lambda: None), _serve_database(home), backup.open_archive(file) as archive:
            for name in manifest.digests:
                _extract(backup.open_member(archive, name), home / name)
            _load(home / backup.DUMP, manifest)
    except BaseException:
        postgres_cluster.remove(home)
        shutil.rmtree(home, ignore_errors=True)
        raise
    (home / backup.DUMP).unlink()
    (home / homes.RESTORING).unlink()
    return manifest


@contextmanager
def _serve_database(home: Path) -> Iterator[None]:
    if not homes.is_embedded():
        yield
        return
    postgres_cluster.ensure_cluster(home)
    postgres_cluster.start(home)
    try:
        postgres_cluster.ensure_database(home)
        yield
    finally:
        postgres_cluster.stop(home)


def _extract(content: IO[bytes], target: Path) -> None:
    target.parent.mkdir(mode=0o700, exist_ok=True)
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        shutil.copyfileobj(content, file, backup.CHUNK_BYTES)


def _load(dump: Path, manifest: Manifest) -> None:
    with psycopg.connect(settings.DATABASE_URL, connect_timeout=5) as connection:
        if connection.execute("SELECT 1 FROM pg_class WHERE relnamespace = 'public'::regnamespace").fetchone():
            raise BackupFailed("The database that DATABASE_URL names is not empty.")
    database = homes.connection_parts(settings.DATABASE_URL)["dbname"]
    options = ["--no-owner", "--no-privileges", "--exit-on-error", f"--jobs={JOBS}", f"--dbname={database}"]
    command = ["pg_restore", *options, str(dump)]
    with backup.run_client(command, settings.DATABASE_URL, server_options=FOR_INDEXES, stdout=subprocess.DEVNULL):
        pass
    with psycopg.connect(settings.DATABASE_URL) as connection:
        connection.execute("ANALYZE")
        rows = backup.count_rows(connection)
    if differing := [table for table in manifest.rows if rows.get(table) != manifest.rows[table]]:
        raise BackupFailed(f"These tables did not come back whole: {', '.join(differing)}.")
