"""Makes backups: one tar file with a dump of the database, config.yaml, messages that wait in the journal, and a
manifest."""

import fcntl
import hashlib
import io
import json
import os
import re
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from shutil import which
from typing import IO, Annotated, Any, Final, Self

import psycopg
from psycopg import sql
from psycopg.pq import Conninfo
from pydantic import Field, TypeAdapter, ValidationError

from festinger_site import home as homes
from festinger_site import settings
from festinger_site.run.postgres_account import PostgresFailed, environment, wheel_binaries
from proxy.health.facts import BACKUP_SUFFIX, BACKUPS, LOW_BYTES, describe_disk

FORMAT: Final = 1
UNFINISHED: Final = "unfinished"
DUMP: Final = "database.dump"
MANIFEST: Final = "manifest.json"
CONFIG: Final = "config.yaml"
JOURNAL: Final = "journal/"
KEYS: Final = ("secret_key", "encryption_keys")
NIGHTLY, BEFORE_UPGRADE = "festinger", "before-upgrade"
CHUNK_BYTES: Final = 1024 * 1024
ROOM_FACTOR: Final = 0.5  # of the database's size, about what its dump needs
NO_TLS: Final = " Install PostgreSQL's client programs, of the server's version or newer: then these are used."
NICENESS: Final = 15  # prompts come first


class BackupFailed(Exception):
    """The backup could not be made or read. The message, for the operator, says why."""


# Members of a backup that somebody else has made must not lead out of the home.
MemberName = Annotated[str, Field(pattern=rf"^({DUMP}|{CONFIG}|{'|'.join(KEYS)}|{JOURNAL}[\w-][\w.-]*)$")]


@dataclass(frozen=True, slots=True)
class Manifest:
    """The contents of a backup. ``rows`` has their number by table; ``digests``, sha256, are by the name of the file in
    it."""

    format: int
    version: str
    made_at: str
    postgres: int
    migrations: list[list[str]]
    rows: dict[str, int]
    digests: dict[MemberName, str]

    @classmethod
    def read(cls, archive: tarfile.TarFile) -> Self:
        """Raises BackupFailed if the archive is no backup of this format."""
        try:
            manifest = TypeAdapter(cls).validate_json(open_member(archive, MANIFEST).read())
        except ValidationError as error:
            raise BackupFailed("This is no backup of Festinger, or it is incomplete.") from error
        if manifest.format != FORMAT:
            raise BackupFailed(f"This backup was made by a newer version of Festinger, {manifest.version}.")
        return manifest


# --- writing ---


def back_up(file: Path, *, with_keys: bool = False) -> Manifest:
    """Write a backup of the current database; Festinger may run. Raises BackupFailed, and then leaves no file."""
    if file.exists():
        raise BackupFailed(f"{file} exists.")
    # Always the same name, so that the next backup overwrites what a killed one has left.
    unfinished = file.with_name(UNFINISHED)
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(unfinished, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as target:
            fcntl.flock(target, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not unfinished.exists() or not os.path.samestat(os.fstat(target.fileno()), unfinished.stat()):
                raise BlockingIOError  # it has just become the file of another backup
            target.truncate()
            try:
                manifest = _write(target, file.parent, with_keys=with_keys)
                target.flush()
                os.fsync(target.fileno())
                check_archive(unfinished, manifest)
                unfinished.rename(file)
            finally:
                unfinished.unlink(missing_ok=True)
        folder = os.open(file.parent, os.O_RDONLY)
        os.fsync(folder)  # makes the rename durable
        os.close(folder)
    except BlockingIOError as error:
        raise BackupFailed(f"Another backup is being written in {file.parent}.") from error
    except OSError as error:
        raise BackupFailed(f"{file}: {error.strerror or error}") from error
    except psycopg.Error as error:
        raise BackupFailed(f"The database cannot be read: {str(error).strip()}") from error
    return manifest


def _write(target: IO[bytes], folder: Path, *, with_keys: bool) -> Manifest:
    # Before the snapshot: a message that leaves the journal meanwhile is in both, and is stored only once.
    files = dict(_read_files(with_keys=with_keys))
    with _hold_snapshot() as (connection, snapshot):
        _check_room(connection, folder)
        rows, migrations = count_rows(connection), _list_migrations(connection)
        postgres = connection.info.server_version // 10_000
        digests = {DUMP: _write_dump(target, connection, snapshot, find_client("pg_dump", postgres))}
    with tarfile.open(fileobj=target, mode="a") as archive:
        for name, content in files.items():
            digests[name] = hashlib.sha256(content).hexdigest()
            _add(archive, name, content)
        made_at = datetime.now(UTC).isoformat(timespec="seconds")
        manifest = Manifest(FORMAT, settings.VERSION, made_at, postgres, migrations, rows, digests)
        _add(archive, MANIFEST, json.dumps(asdict(manifest), indent=1).encode())
    return manifest


@contextmanager
def _hold_snapshot() -> Iterator[tuple[psycopg.Connection, str]]:
    """Hold a snapshot for the counts and the dump; yield its name."""
    with psycopg.connect(settings.DATABASE_URL, connect_timeout=5) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.execute("SET LOCAL idle_in_transaction_session_timeout = 0")  # it idles as long as the dump takes
        (snapshot,) = connection.execute("SELECT pg_export_snapshot()").fetchone() or ("",)
        yield connection, snapshot


def _check_room(connection: psycopg.Connection, folder: Path) -> None:
    (size,) = connection.execute("SELECT pg_database_size(current_database())").fetchone() or (0,)
    free, needed = describe_disk(folder)["free_bytes"], int(size * ROOM_FACTOR) + LOW_BYTES
    if free < needed:
        raise BackupFailed(f"{folder}: {free // 10**6:,} MB are free, and a backup needs {needed // 10**6:,}.")


def count_rows(connection: psycopg.Connection) -> dict[str, int]:
    tables = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1"
    counts = {}
    for (table,) in connection.execute(tables).fetchall():
        counted = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))).fetchone()
        counts[table] = counted[0] if counted else 0
    return counts


def _list_migrations(connection: psycopg.Connection) -> list[list[str]]:
    return [list(row) for row in connection.execute("SELECT app, name FROM django_migrations ORDER BY id").fetchall()]


def _write_dump(target: IO[bytes], connection: psycopg.Connection, snapshot: str, program: str) -> str:
    """Write the dump into the archive, and return its digest."""
    # Write straight into the archive, and its header once the size is known: a separate copy would need twice the room.
    target.write(b"\0" * tarfile.BLOCKSIZE)
    digest = hashlib.sha256()
    command = [program, "--format=custom", "--compress=1", f"--snapshot={snapshot}"]
    with run_client(command, settings.DATABASE_URL, stdout=subprocess.PIPE) as dump:
        assert dump.stdout
        for number, chunk in enumerate(iter(partial(dump.stdout.read, CHUNK_BYTES), b"")):
            if number == 0 and homes.is_embedded():  # its backend is there now
                _put_last(connection)
            digest.update(chunk)
            target.write(chunk)
    size = target.tell() - tarfile.BLOCKSIZE
    target.write(b"\0" * (-size % tarfile.BLOCKSIZE))
    end = target.tell()
    target.seek(0)
    target.write(_header(DUMP, size).tobuf(tarfile.GNU_FORMAT))
    target.seek(end)
    target.write(b"\0" * tarfile.BLOCKSIZE * 2)  # the end of an archive, which the next member overwrites
    target.seek(0)
    return digest.hexdigest()


def _put_last(connection: psycopg.Connection) -> None:
    """Give the backends that serve pg_dump a lower priority than those of prompts."""
    for (process,) in connection.execute("SELECT pid FROM pg_stat_activity WHERE application_name = 'pg_dump'"):
        with suppress(OSError):  # the process has ended, or is not ours
            os.setpriority(os.PRIO_PROCESS, process, NICENESS)


def _read_files(*, with_keys: bool) -> Iterator[tuple[str, bytes]]:
    journal = sorted(settings.JOURNAL.iterdir()) if settings.JOURNAL.is_dir() else ()
    files = {CONFIG: settings.CONFIG_FILE} | {f"{JOURNAL}{path.name}": path for path in journal}
    if with_keys:
        files |= {name: settings.HOME / name for name in KEYS}
    for name, path in files.items():
        with suppress(FileNotFoundError):  # the journal was read in meanwhile
            yield name, path.read_bytes()


def _header(name: str, size: int) -> tarfile.TarInfo:
    header = tarfile.TarInfo(name)
    header.size, header.mtime, header.mode = size, int(time.time()), 0o600
    return header


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    archive.addfile(_header(name, len(content)), io.BytesIO(content))


def find_client(name: str, server: int) -> str:
    """Find the program of this name for a server of this major version. Raises BackupFailed."""
    # Prefer the machine's own program if it is new enough: those of the embedded Postgres have no TLS.
    if (found := which(name)) and not homes.is_embedded():
        told = subprocess.run([found, "--version"], capture_output=True, text=True, check=False).stdout
        if (version := re.search(r"(\d+)", told)) and int(version[1]) >= server:
            return found
    try:
        return str(wheel_binaries() / name)
    except PostgresFailed as error:
        raise BackupFailed(str(error)) from error


@contextmanager
def run_client(
    command: list[str], url: str, *, server_options: str = "", **options: Any
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a client program on the database at ``url``, and wait until it ends. ``server_options`` has the format of
    PGOPTIONS. Raises BackupFailed."""
    # Pass the address in variables: everybody can see the arguments of a process, and it may contain a password.
    parsed = Conninfo.parse(url.encode())
    # An operator's server may need what libpq finds in the environment, such as certificates.
    variables = (environment() if homes.is_embedded() else dict(os.environ)) | {"PGOPTIONS": server_options}
    variables |= {option.envvar.decode(): option.val.decode() for option in parsed if option.envvar and option.val}
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(["nice", f"-n{NICENESS}", *command], env=variables, stderr=errors, **options) as process,
    ):
        try:
            yield process
        except BaseException:
            process.kill()
            raise
        if process.wait():
            errors.seek(0)
            told = errors.read().decode(errors="replace").strip()
            raise BackupFailed(f"{Path(command[0]).name}: {told}{NO_TLS if 'SSL support' in told else ''}")


# --- reading ---


@contextmanager
def open_archive(file: Path) -> Iterator[tarfile.TarFile]:
    """Open a backup. Raises BackupFailed if it cannot be read."""
    try:
        with tarfile.open(file, "r:") as archive:
            yield archive
    except (OSError, tarfile.TarError) as error:
        raise BackupFailed(f"{file} cannot be read: {error}") from error


def check_archive(file: Path, expected: Manifest | None = None) -> Manifest:
    """Read a whole backup. Raises BackupFailed if anything differs from its manifest, or its manifest from
    ``expected``."""
    with open_archive(file) as archive:
        manifest = Manifest.read(archive)
        for name, digest in manifest.digests.items():
            if _digest(open_member(archive, name)) != digest:
                raise BackupFailed(f"{file} is damaged: {name} has changed.")
    if expected is not None and manifest != expected:
        raise BackupFailed(f"{file} is damaged: its manifest has changed.")
    return manifest


def open_member(archive: tarfile.TarFile, name: str) -> IO[bytes]:
    """Raises BackupFailed if there is no such file."""
    with suppress(KeyError):
        if (file := archive.extractfile(name)) is not None:
            return file
    raise BackupFailed(f"This is no backup of Festinger, or it is incomplete: it has no {name}.")


def _digest(file: IO[bytes]) -> str:
    return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]  # typeshed wants a subclass


# --- keeping ---


def name_backup(now: datetime, prefix: str = NIGHTLY) -> Path:
    """Return the path of a new backup in the home."""
    return settings.HOME / BACKUPS / f"{prefix}-{now:%Y-%m-%d-%H%M%S}{BACKUP_SUFFIX}"


def delete_old(folder: Path, kept: int, prefix: str = NIGHTLY) -> list[Path]:
    """Delete all but the newest of the folder's backups that ``name_backup`` has named with this prefix, and return
    them."""
    found = sorted(folder.glob(f"{prefix}-20??-??-??-??????{BACKUP_SUFFIX}"), reverse=True)
    for file in found[kept:]:
        file.unlink(missing_ok=True)
    return found[kept:]
