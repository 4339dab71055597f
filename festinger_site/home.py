"""The home folder: everything Festinger keeps outside its database, and the address of the embedded one.

    secret_key              Django's key
    encryption_keys         encrypt the API keys of language models (memory/access/key_encryption.py)
    postgres/               the embedded database's files, or a link to them (run/postgres_account.py)
    run/                    sockets, where their path is short enough
    config.yaml             what operators may change while it runs (proxy/config/file.py)
    journal/                what is to be learned while Postgres is away (memory/learning/journal.py)
    backups/                what was backed up at night, or before an upgrade (care/backup.py)
    reserve                 deleted when the disk is full (run/reserve.py)
    prepared                marks the home of a database that has been set up
    uploads/                files that wait to be imported (resolution/admin/transfer.py)
    metrics/                what the processes count (memory/metrics.py)
    log/                    what the processes say (run/supervision.py)
    *.lock                  who runs or uses this home (run/home_locks.py)

Imports no Django: settings.py and the launcher read it first.
"""

import fcntl
import hashlib
import os
import re
import secrets
import stat
from pathlib import Path
from pwd import struct_passwd
from typing import Any
from urllib.parse import quote

from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from festinger_site.environment import EnvironmentMistake, read_environment

CLONE = Path(__file__).resolve().parent.parent
IS_CLONE = (CLONE / "manage.py").exists()
# For messages that tell operators what to type.
RUN, MANAGE = ("make run", "manage.py") if IS_CLONE else ("festinger run", "festinger manage")
# The folder of templates, the example of config.yaml and gutask; in an installed package it is inside (pyproject.toml).
ROOT = CLONE if IS_CLONE else Path(__file__).resolve().parent / "project"
DATABASE = "festinger"
PORT = 5432  # only names the socket file, nothing listens on it; given everywhere, because PGPORT would override it

# If we are root, Postgres runs as another user, who may pass through the folder but read nothing.
FOLDER_MODE = 0o711 if os.geteuid() == 0 else 0o700
SOCKET_PATH_MAX_BYTES = 100  # the kernel's limit is 104 (macOS) to 108
MARKS = ("secret_key", "postgres", "prepared")  # any of these makes a folder a home
RESTORING = "restoring"  # a file in the home while a backup is being restored into it
LONGEST_SOCKET = "postgres/.s.PGSQL.5432.lock"
# libpq reads a host with a comma as a list.
PLAIN_PATH = re.compile(r"[A-Za-z0-9/._-]+")


def path() -> Path:
    """Return the home's path, absolute and with links resolved, so that a home has one name only; it need not exist."""
    raw = read_environment().FESTINGER_HOME
    data = Path(os.environ.get("XDG_DATA_HOME") or "~/.local/share")
    usual = ROOT / "var" if IS_CLONE else data / "festinger"
    return (Path(raw) if raw else usual).expanduser().resolve()


def config_path() -> Path:
    """Return the path of config.yaml. Links are not resolved: platforms replace a mounted file by changing one."""
    raw = read_environment().FESTINGER_CONFIG
    return Path(raw).expanduser().absolute() if raw else path() / "config.yaml"


def ensure() -> Path:
    """Return the home, and create it if absent. Its parents keep their permissions.

    Raises EnvironmentMistake if it cannot be created, or used.
    """
    home = path()
    if (home / RESTORING).exists():
        raise EnvironmentMistake(f"{home}: a restore into it was broken off; delete it and restore again")
    try:
        if not home.is_dir():
            home.mkdir(parents=True, exist_ok=True)
            home.chmod(FOLDER_MODE)
    except OSError as error:
        raise EnvironmentMistake(f"FESTINGER_HOME={home}: cannot be created ({error.strerror})") from error
    return home


def metrics_folder(home: Path) -> Path:
    return home / "metrics"


def name_metrics_folder(home: Path) -> dict[str, str]:
    """Return the variable that tells prometheus-client where all processes of a home keep their counts."""
    return {"PROMETHEUS_MULTIPROC_DIR": str(metrics_folder(home))}


def exists() -> bool:
    """True if there is a home, and not just a folder, at its path."""
    return any((path() / mark).exists() for mark in MARKS)


def mark(home: Path) -> None:
    """Mark a folder as a home, even if its keys come from the environment."""
    (home / MARKS[-1]).touch()


def log_folder(home: Path) -> Path:
    """Return the folder of logs, created if absent, for its owner only: a log can quote what people wrote."""
    folder = home / "log"
    folder.mkdir(mode=0o700, exist_ok=True)
    return folder


def log_tail(home: Path, file_name: str, lines: int = 15) -> str:
    """Return the last lines of a log, indented below its path."""
    file = log_folder(home) / file_name
    text = file.read_text(errors="replace").splitlines()[-lines:] if file.exists() else []
    return "\n".join([f"  {file}:", *(f"    {line}" for line in text)])


def run_folder(home: Path) -> Path:
    """Return the folder of this home's sockets: in the home, unless that path is too long or too odd for a socket."""
    name = f"{os.geteuid()}-{hashlib.sha256(os.fsencode(home)).hexdigest()[:12]}"
    # Never in the home if we are root: Postgres' user may not be able to enter its parents.
    if os.geteuid() == 0:
        return Path("/var/run") / f"festinger-{name}"
    folder = home / "run"
    fits = len(os.fsencode(folder / LONGEST_SOCKET)) <= SOCKET_PATH_MAX_BYTES
    if fits and PLAIN_PATH.fullmatch(str(folder)):
        return folder
    # Not TMPDIR, because two shells of one user must agree.
    return Path("/tmp") / f"festinger-{name}"


def ensure_run_folder(home: Path) -> Path:
    return own_folder(run_folder(home), FOLDER_MODE)


def own_folder(folder: Path, mode: int, user: struct_passwd | None = None) -> Path:
    """Create the folder, for that user or the current one. Raises EnvironmentMistake if another user owns it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    owner = user.pw_uid if user else os.geteuid()
    # In /tmp anybody could have created a folder, or a link to one, under this name before us.
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in (owner, os.geteuid()):
        raise EnvironmentMistake(f"{folder} belongs to user id {found.st_uid}: remove it and start again")
    if user:
        os.chown(folder, user.pw_uid, user.pw_gid)
    folder.chmod(mode)
    return folder


def database_socket(home: Path) -> Path:
    """Return the folder of the embedded Postgres' socket."""
    return run_folder(home) / "postgres"


def ensure_secret(name: str) -> str:
    """Return 86 random characters from a file of this name that only its owner can read, created on first use."""
    file = ensure() / name
    try:
        with os.fdopen(os.open(file, os.O_RDWR | os.O_CREAT, 0o600), "r+") as kept:
            # The lock makes two processes that need it at once agree on one value.
            fcntl.flock(kept, fcntl.LOCK_EX)
            value = kept.read().strip()
            if not value:
                value = secrets.token_urlsafe(64)
                kept.write(value)
    except OSError as error:
        raise EnvironmentMistake(f"{file}: cannot be read or written ({error.strerror})") from error
    return value


def is_embedded() -> bool:
    """True if we run the database, because no other is named."""
    return not read_environment().DATABASE_URL


def local_database_url() -> str:
    """Return the embedded database's address, which follows from the home alone: nothing has to run."""
    return f"postgresql://postgres@/{DATABASE}?host={quote(str(database_socket(path())))}&port={PORT}"


def django_database(url: str) -> dict[str, Any]:
    """Return Django's settings for a ``postgresql://`` address.

    Raises EnvironmentMistake, which never repeats the address, because it contains a password.
    """
    parts = connection_parts(url)
    known = {key: parts.pop(name, "") for key, name in DJANGO_NAMES.items()}
    return {
        "ENGINE": "django.db.backends.postgresql",
        **known,
        "OPTIONS": {"connect_timeout": 5, **parts},
        # Django serves each request in a thread of its own, and a persistent connection would die with it.
        "CONN_MAX_AGE": 0,
        "CONN_HEALTH_CHECKS": True,
    }


DJANGO_NAMES = {"NAME": "dbname", "USER": "user", "PASSWORD": "password", "HOST": "host", "PORT": "port"}


def connection_parts(url: str) -> dict[str, Any]:
    """Return the address as libpq's keywords."""
    takes = "DATABASE_URL: takes postgresql://user:password@host:5432/name"
    if not url.startswith(("postgresql://", "postgres://")):
        raise EnvironmentMistake(takes)
    try:
        parts = dict(conninfo_to_dict(url))
    except ProgrammingError as error:
        raise EnvironmentMistake(takes) from error
    if not parts.get("dbname"):
        raise EnvironmentMistake(f"{takes}; it names no database")
    return parts


# A process that sends a wake-up must not wait long for a database that is down, nor for ever for one that vanished.
BROKER_PATIENCE = {"connect_timeout": 5, "keepalives_idle": 15, "keepalives_interval": 5, "keepalives_count": 3}


def broker_options(broker_url: str, database_url: str) -> dict[str, Any]:
    """Return transport options for Celery's broker: those of PGMQ on our own database, none for any other."""
    if not broker_url.startswith("pgmq"):
        return {}
    return {
        "conn_string": make_conninfo(**BROKER_PATIENCE | connection_parts(database_url)),
        "init_extension": False,  # bootstrap installs PGMQ as plain SQL; the extension is not in the wheel
        "use_notify": True,
        "notify_throttle_interval_ms": 0,  # else a message within 250 ms of another is found by polling only
        "wait_time_seconds": 0,  # with the default of 10 the first message of each process takes 6.5 s
        "polling_interval": 1,
        "visibility_timeout": 60,
        "pool_size": 2,
        "pool_timeout": BROKER_PATIENCE["connect_timeout"],
    }
