"""The embedded PostgreSQL: its files, its process and its one database. It listens on a Unix socket only, in a
folder that only its owner can enter: whoever can open the socket is allowed in.

Two processes must not start it at once: festinger_site/run/home_locks.py prevents that.
"""

import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from pwd import struct_passwd

import psutil
import psycopg
from psycopg import sql

from festinger_site import home as homes
from festinger_site.run.postgres_account import (
    MAJOR_VERSION,
    PostgresFailed,
    account,
    as_user,
    binaries,
    ensure_shared_folder,
    run_to_end,
)

READY_TIMEOUT_S = 120  # recovery after a kill -9 replays up to max_wal_size
STOP_GRACE_S = 10
PID_FILE = "postmaster.pid"

# Written into postgresql.conf once, where the operator may change them.
INITIAL_SETTINGS = {
    "shared_buffers": "128MB",
    "max_connections": "100",
    "max_wal_size": "512MB",  # bounds the recovery after a crash
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    "log_line_prefix": "%m [%p] ",
}


def ignore(reason: str) -> None:
    """An ``on_wait`` that prints nothing."""


def data_folder(home: Path) -> Path:
    """With links resolved: where Postgres' user cannot enter the home, the home holds only a link."""
    return (home / "postgres").resolve()


def ensure_cluster(home: Path, *, durable: bool = True, on_make: Callable[[str], None] = ignore) -> Path:
    """The data folder, created on first use, as is the socket's.

    Without ``durable`` a crash of the machine may destroy it, which tests can afford. ``on_make`` is called with a line
    that says where it is created. Raises PostgresFailed."""
    data = data_folder(home)
    user = account(data)
    homes.ensure_run_folder(home)
    homes.own_folder(homes.database_socket(home), 0o700, user)
    try:
        made_by = (data / "PG_VERSION").read_text().strip()
    except FileNotFoundError:
        return make_cluster(home, user, durable=durable, on_make=on_make)
    except PermissionError as error:
        raise PostgresFailed(f"{data} belongs to another user: start Festinger as that user, or as root") from error
    if made_by != MAJOR_VERSION:
        raise PostgresFailed(f"{data} was created by PostgreSQL {made_by}; this Festinger brings {MAJOR_VERSION}")
    if not processes(home):
        # After a restart of a container its process id may be somebody else's, who would count as a running server.
        for lock in (data / PID_FILE, homes.database_socket(home) / f".s.PGSQL.{homes.PORT}.lock"):
            lock.unlink(missing_ok=True)
    return data


def make_cluster(home: Path, user: struct_passwd | None, *, durable: bool, on_make: Callable[[str], None]) -> Path:
    link = home / "postgres"
    if user and not link.is_symlink() and run_to_end(["test", "-x", str(home)], user):
        link.symlink_to(ensure_shared_folder() / f"home-{secrets.token_hex(4)}")
    data = data_folder(home)
    why = f" (its user {user.pw_name} cannot enter {home})" if user and link.is_symlink() else ""
    on_make(f"Creating a PostgreSQL database in {data}{why}")
    # Renamed at the end: an interrupted start leaves no half-made database.
    unfinished = data.with_name(f"{data.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    homes.own_folder(unfinished, 0o700, user)
    # The builtin locale is the same on every machine, so indexes survive a change of the C library.
    locale = ["--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    settings = INITIAL_SETTINGS if durable else INITIAL_SETTINGS | {"fsync": "off", "full_page_writes": "off"}
    initdb = [str(binaries(user) / "initdb"), "-D", str(unfinished), "--username=postgres", "--auth=trust"]
    initdb += [*locale, *(f"--set={name}={value}" for name, value in settings.items())]
    if problem := run_to_end(initdb if durable else [*initdb, "--no-sync"], user):
        raise PostgresFailed(f"The embedded database could not be created in {data.parent}: {problem}")
    return unfinished.rename(data)


def command(home: Path) -> list[str]:
    """The command that serves the cluster in the foreground and logs to stderr; ``account`` names its user."""
    data = data_folder(home)
    always = {
        "listen_addresses": "",
        "port": homes.PORT,
        "unix_socket_directories": homes.database_socket(home),
        "unix_socket_permissions": "0700",
        "logging_collector": "off",
        # The row that an error is about, and the statement, are what somebody said, or the hash of a password.
        "log_error_verbosity": "terse",
        "log_min_error_statement": "panic",
    }
    settings = [word for name, value in always.items() for word in ("-c", f"{name}={value}")]
    return [str(binaries(account(data)) / "postgres"), "-D", str(data), *settings]


def start(home: Path, on_wait: Callable[[str], None] = ignore) -> subprocess.Popen[bytes]:
    """Starts it unsupervised and waits until it accepts connections.

    ``on_wait`` as in ``wait_ready``. Raises PostgresFailed where it exits instead."""
    user = account(data_folder(home))
    with (homes.log_folder(home) / "postgres.log").open("ab") as log:
        server = subprocess.Popen(
            command(home),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            # Ctrl-C in this terminal must not reach it: we stop it when our work is done.
            start_new_session=True,
            **as_user(user),
        )

    def still_alive(reason: str) -> None:
        if server.poll() is not None:
            raise PostgresFailed(f"Postgres exited at its start:\n{homes.log_tail(home, 'postgres.log')}")
        on_wait(reason)

    wait_ready(home, on_wait=still_alive)
    return server


def connect(home: Path, database: str = "postgres") -> psycopg.Connection:
    return psycopg.connect(
        host=str(homes.database_socket(home)),
        port=homes.PORT,
        user="postgres",
        dbname=database,
        connect_timeout=5,
        autocommit=True,
    )


def wait_ready(home: Path, *, on_wait: Callable[[str], None] = ignore) -> None:
    """Returns when it accepts connections. ``on_wait`` gets Postgres' own message 20 times a second, and may raise.

    Raises PostgresFailed after READY_TIMEOUT_S."""
    deadline = time.monotonic() + READY_TIMEOUT_S
    while True:
        try:
            connect(home).close()
            return
        except psycopg.OperationalError as error:
            reason = str(error).partition("\n")[0].rpartition("failed: ")[2]
        if time.monotonic() > deadline:
            raise PostgresFailed(f"Postgres is not ready after {READY_TIMEOUT_S} s: {reason}")
        on_wait(reason)
        time.sleep(0.05)


def ensure_database(home: Path, name: str = homes.DATABASE) -> None:
    with connect(home) as connection:
        known = connection.execute("SELECT FROM pg_database WHERE datname = %s", [name]).fetchone()
        if known is None:
            # Postgres has no CREATE DATABASE IF NOT EXISTS.
            with suppress(psycopg.errors.DuplicateDatabase):
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))


def processes(home: Path) -> list[psutil.Process]:
    """The server of this home and its children, or children that outlived it."""
    data = str(data_folder(home))
    found = []
    # By the folder they work in: children that outlived a killed server have no parent to be found by.
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.name() == "postgres" and process.cwd() == data:
                found.append(process)
    return found


def running(home: Path) -> psutil.Process | None:
    """Return the server's main process; None if it does not run."""
    data = data_folder(home)
    with suppress(OSError, ValueError, IndexError, psutil.Error):
        # A server in single-user mode writes its process id as a negative number.
        process = psutil.Process(abs(int((data / PID_FILE).read_text().split(maxsplit=1)[0])))
        # After a crash, the id may be another process's by now, even another home's Postgres.
        if process.name() == "postgres" and process.cwd() == str(data):
            return process
    return None


def is_running(home: Path) -> bool:
    return running(home) is not None


def stop(home: Path) -> None:
    """Stops the server, by force if necessary, and ends what a killed one left behind."""
    if server := running(home):
        # Fast shutdown; then one without a checkpoint. TERM would wait until every client has left.
        for number in (signal.SIGINT, signal.SIGQUIT):
            with suppress(psutil.Error):
                server.send_signal(number)
                server.wait(STOP_GRACE_S)
    left = processes(home)
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(left, timeout=STOP_GRACE_S)


def remove(home: Path) -> None:
    """Stops it and deletes its data, for temporary homes."""
    stop(home)
    shutil.rmtree(data_folder(home), ignore_errors=True)
    shutil.rmtree(homes.run_folder(home), ignore_errors=True)
