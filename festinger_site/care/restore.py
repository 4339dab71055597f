"""Makes a home, or fills an empty database, from a backup."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Final

import psycopg

from festinger_site import home as homes
from festinger_site import settings
from festinger_site.care import backup
from festinger_site.care.backup import BackupFailed, Manifest
from festinger_site.run import home_locks, postgres_cluster
from festinger_site.run.preflight import format_migrations, list_migrations

JOBS: Final = 2  # tables and indexes at a time
# With the default of 64 MB, the index of 200,000 vectors is built on the disk: many times slower.
FOR_INDEXES: Final = "-c maintenance_work_mem=512MB"
OPTIONS: Final = ("--no-owner", "--no-privileges")
# Lines that older servers or psql do not know, or that only the owner of an extension may run.
SKIPPED: Final = re.compile(rb"SET transaction_timeout = |COMMENT ON EXTENSION |\\(?:un)?restrict ")


def restore(file: Path) -> Manifest:
    """Restore the backup into a home that does not exist yet and, with ``DATABASE_URL``, into an empty database. Raises
    BackupFailed, HomeInUse or PostgresFailed, and then leaves nothing behind."""
    manifest = backup.check_archive(file)
    if unknown := {(app, name) for app, name in manifest.migrations} - list_migrations(settings.INSTALLED_APPS):
        raise BackupFailed(
            f"This backup was made by another version of Festinger, {manifest.version}, with migrations that this one"
            f" does not know: {format_migrations(unknown)}."
        )
    home = homes.path()
    _check_empty(home)
    homes.ensure()
    with home_locks.launching(home, lambda: None):
        _check_empty(home)  # again: somebody may have started Festinger there meanwhile
        (home / homes.RESTORING).touch()
        try:
            with _serve_database(home), backup.open_archive(file) as archive:
                for name in manifest.digests:
                    _extract(backup.open_member(archive, name), home / name)
                _load(home / backup.DUMP, manifest)
        except BaseException:
            postgres_cluster.remove(home)
            shutil.rmtree(home, ignore_errors=True)
            raise
        (home / backup.DUMP).unlink()
        homes.mark(home)
        (home / homes.RESTORING).unlink()
    return manifest


def _check_empty(home: Path) -> None:
    if home.exists() and any(entry.name != home_locks.RUN for entry in home.iterdir()):
        raise BackupFailed(f"{home} is not empty: set FESTINGER_HOME to a folder that does not exist yet.")


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
        server = connection.info.server_version // 10_000
        if connection.execute("SELECT 1 FROM pg_class WHERE relnamespace = 'public'::regnamespace").fetchone():
            raise BackupFailed("The database that DATABASE_URL names is not empty.")
    if homes.is_embedded():
        _load_in_parallel(dump, server)
    else:
        _load_at_once(dump, server)
    with psycopg.connect(settings.DATABASE_URL) as connection:
        connection.execute("ANALYZE")
        rows = backup.count_rows(connection)
    if differing := [table for table in manifest.rows if rows.get(table) != manifest.rows[table]]:
        advice = "" if homes.is_embedded() else " Make the database anew before you try again."
        raise BackupFailed(f"These tables did not come back whole: {', '.join(differing)}.{advice}")


def _load_in_parallel(dump: Path, server: int) -> None:
    program = backup.find_client("pg_restore", server)
    command = [program, *OPTIONS, "--exit-on-error", f"--jobs={JOBS}", f"--dbname={homes.DATABASE}", str(dump)]
    with backup.run_client(command, settings.DATABASE_URL, server_options=FOR_INDEXES, stdout=subprocess.DEVNULL):
        pass


def _load_at_once(dump: Path, server: int) -> None:
    """Load the dump in one transaction: a failure leaves nothing in the operator's database."""
    # Use the embedded Postgres' own program, which has written the dump or is newer, and needs no server here.
    read = [str(backup.wheel_binaries() / "pg_restore"), *OPTIONS, "--file=-", str(dump)]
    load = [backup.find_client("psql", server), "--quiet", "--no-psqlrc", "--single-transaction"]
    load += ["--set=ON_ERROR_STOP=1"]
    url, pipe = settings.DATABASE_URL, subprocess.PIPE
    with (
        backup.run_client(read, url, stdout=pipe) as reading,
        backup.run_client(load, url, server_options=FOR_INDEXES, stdin=pipe, stdout=subprocess.DEVNULL) as loading,
    ):
        assert reading.stdout
        assert loading.stdin
        with suppress(BrokenPipeError):  # psql says why
            loading.stdin.writelines(line for line in reading.stdout if not SKIPPED.match(line))
        with suppress(BrokenPipeError):
            loading.stdin.close()
