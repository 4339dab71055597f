"""Checks an installation: each check returns a sign, with advice if something is wrong."""

import os
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from importlib.metadata import PackageNotFoundError, version
from typing import Final

import httpx
import psutil
import psycopg
from django.db.models import Min
from django.utils import timezone
from django_celery_beat.models import PeriodicTask
from psycopg.rows import TupleRow

from festinger_site import home as homes
from festinger_site import settings
from festinger_site.environment import find_misspelled
from festinger_site.launcher import embedder_weights, home_locks, preflight
from festinger_site.launcher.liveness_probe import health
from festinger_site.launcher.manage import use_postgres
from festinger_site.launcher.postgres_account import PostgresFailed
from festinger_site.launcher.preflight import LaunchFailed
from memory.access.key_encryption import find_undecryptable
from memory.bootstrap import DAILY, SCHEDULE
from memory.domain.formatting import format_count, format_duration
from memory.models import Agent, Config, InstalledVersion
from memory.semantic.encoder.model_file import FOLDER
from proxy.config_file import upstream_url
from proxy.health.backups import find_newest
from proxy.health.findings import describe_disk, find_around
from proxy.health.status import BAD, GOOD, UNKNOWN, WARNING, Assessment, Sign, assess_disk, signs

INSTALL_WEIGHTS: Final = "make encoder" if homes.IS_CLONE else "festinger embedder"
CLOCKS_DIFFER_S: Final = 5.0
UPSTREAM_S: Final = 5.0
FIRST_DAY: Final = timedelta(days=1)
BACKUP_MAX: Final = timedelta(days=2)
REVERSE_PROXIES: Final = frozenset("nginx caddy traefik haproxy apache2 httpd cloudflared ngrok".split())  # noqa: SIM905


def examine() -> list[Sign]:
    """Return the signs of all parts, in the order in which they depend on each other."""
    found = [Sign(part, *check()) for part, check in LOCAL.items()]
    if not homes.is_embedded() or home_locks.is_launched(settings.HOME):
        return [*found, *examine_database(is_running=True)]
    if not (settings.HOME / "postgres").exists():
        return [*found, Sign("Database", UNKNOWN, "There is none yet.", "Start Festinger once.")]
    try:
        with use_postgres(settings.HOME, sets_up=True):
            return [*found, *examine_database(is_running=False)]
    except PostgresFailed as failed:
        return [*found, Sign("Database", BAD, str(failed), "Look at postgres.log in the folder log of the home.")]


def examine_database(*, is_running: bool) -> Iterator[Sign]:
    """Yield the signs from the database; those of the processes only if Festinger ``is_running``."""
    try:
        with psycopg.connect(settings.DATABASE_URL, connect_timeout=5) as connection:
            found = [Sign(part, *check(connection)) for part, check in OF_DATABASE.items()]
    except psycopg.Error as error:
        reason = str(error).strip().partition("\n")[0]
        advice = "Look at postgres.log in the folder log of the home, or check DATABASE_URL."
        yield Sign("Database", BAD, f"It does not answer: {reason}", advice)
        return
    yield from found
    if any(sign.state == BAD for sign in found):
        return  # the rest reads tables that may not be as this version knows them
    yield from (Sign(part, *check()) for part, check in OF_TABLES.items())
    if not is_running:
        yield Sign("Festinger", UNKNOWN, "It is not running: its processes were not looked at.")
        return
    report = health(settings.FESTINGER_HOST, settings.FESTINGER_PORT)
    for sign in signs(find_around(report if "upstream" in report else None)):
        if sign.part not in (*LOCAL, *OF_DATABASE):
            yield sign


# --- without the database ---


def check_python() -> Assessment:
    differing = [name for name, pinned, installed in list_packages() if installed != pinned]
    says = f"Festinger {settings.VERSION} on Python {sys.version.split()[0]}"
    if differing:
        advice = "Install what this version was tested with: make run does, or pip install -r requirements.txt."
        return WARNING, f"{says}, with other versions of {', '.join(differing)} than it pins.", advice
    return GOOD, f"{says}.", ""


def list_packages() -> Iterator[tuple[str, str, str | None]]:
    """Yield each pinned package with its pinned and its installed version."""
    for pin in tomllib.loads((homes.PROJECT / "pyproject.toml").read_text())["project"]["dependencies"]:
        name, _, pinned = pin.partition("==")
        name = name.partition("[")[0]
        try:
            yield name, pinned, version(name)
        except PackageNotFoundError:
            yield name, pinned, None


def check_home() -> Assessment:
    home = settings.HOME
    if not os.access(home, os.W_OK | os.X_OK):
        return BAD, f"{home} cannot be written by this user.", "Run this, and Festinger, as the user who owns it."
    if home.stat().st_mode & 0o066:
        return WARNING, f"{home} can be read or written by others.", f"chmod go-rw {home}"
    return GOOD, f"{home}", ""


def check_disk() -> Assessment:
    return assess_disk(describe_disk(settings.HOME))


def check_environment() -> Assessment:
    if misspelled := find_misspelled():
        told = "; ".join(f"{name} is not read: did you mean {known}?" for name, known in misspelled.items())
        return WARNING, told, "Correct the name, or unset the variable."
    return GOOD, f"Times of schedules are in {settings.TIME_ZONE}.", ""


def check_config() -> Assessment:
    try:
        preflight.check_config(settings.CONFIG_FILE)
    except LaunchFailed as failed:
        return BAD, str(failed), "Correct the file, or delete it: then the defaults hold."
    return GOOD, f"{settings.CONFIG_FILE}" if settings.CONFIG_FILE.exists() else "The defaults are in effect.", ""


def check_access() -> Assessment:
    try:
        preflight.check_exposure(settings.ENVIRONMENT, settings.FESTINGER_HOST)
    except LaunchFailed as failed:
        return BAD, str(failed), "Set one of the variables that it names."
    in_front = sorted({name for process in psutil.process_iter() if (name := _name(process)) in REVERSE_PROXIES})
    if in_front and settings.FESTINGER_TRUST_LOOPBACK != "none":
        advice = "If it passes requests on to Festinger, set FESTINGER_TRUST_LOOPBACK=0."
        return WARNING, f"{', '.join(in_front)} runs on this machine; requests from here need no token.", advice
    return GOOD, f"It listens on {settings.FESTINGER_HOST}, port {settings.FESTINGER_PORT}.", ""


def _name(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return process.name()
    return ""


def check_port() -> Assessment:
    report = health(settings.FESTINGER_HOST, settings.FESTINGER_PORT)
    if report:
        return (GOOD, "Festinger answers.", "") if report.get("ready") else (WARNING, "It is not ready yet.", "Wait.")
    try:
        preflight.check_port(settings.FESTINGER_HOST, settings.FESTINGER_PORT)
    except LaunchFailed as failed:
        return BAD, f"{failed} What answers there is not Festinger.", "ss -ltnp shows which program it is."
    return (
        UNKNOWN,
        f"Nothing listens on port {settings.FESTINGER_PORT}.",
        f"Start Festinger: {homes.RUN}.",
    )


def check_upstream() -> Assessment:
    url = upstream_url()
    try:
        # Like the proxy, ignore HTTP_PROXY.
        answer = httpx.get(f"{url}/api/tags", timeout=UPSTREAM_S, trust_env=False)
        names = [model["name"] for model in answer.raise_for_status().json()["models"]]
    except (httpx.HTTPError, ValueError, KeyError, TypeError) as error:
        advice = "Start Ollama there, or set upstream.url in config.yaml, or FESTINGER_UPSTREAM."
        return BAD, f"No Ollama answers at {url}: {error or type(error).__name__}", advice
    if "x-festinger" in answer.headers or "via" in answer.headers:
        return WARNING, f"{url} is itself a proxy.", "Name the Ollama behind it, not a Festinger."
    if not names:
        return WARNING, f"{url} answers, but has no models.", "ollama pull llama3.1"
    return GOOD, f"{url} has {format_count(len(names), 'model')}.", ""


def check_embedder() -> Assessment:
    if any((settings.HOME / FOLDER).glob("*.onnx")) or embedder_weights.are_installed():
        return GOOD, "The built-in one can be used.", ""
    return WARNING, "The weights of the built-in one are not installed: full-text search only.", INSTALL_WEIGHTS


# --- with the database ---

Database = psycopg.Connection[TupleRow]


def check_server(connection: Database) -> Assessment:
    major = connection.info.server_version // 10_000
    if major < preflight.OLDEST_POSTGRES:
        return BAD, f"PostgreSQL {major} is too old.", f"Use {preflight.OLDEST_POSTGRES} or newer."
    (encoding, now) = connection.execute(
        "SELECT current_setting('server_encoding'), extract(epoch FROM clock_timestamp())::float8"
    ).fetchone() or ("", 0.0)
    if encoding != "UTF8":
        return BAD, f"Its encoding is {encoding}.", "Make a database with ENCODING 'UTF8'."
    if abs(now - time.time()) > CLOCKS_DIFFER_S:
        apart = format_duration(abs(now - time.time()))
        return WARNING, f"Its clock and this machine's are {apart} apart.", "Set both by NTP."
    return GOOD, f"PostgreSQL {major}", ""


def check_extension(connection: Database) -> Assessment:
    row = connection.execute("SELECT installed_version FROM pg_available_extensions WHERE name = 'vector'").fetchone()
    if row is None:
        return WARNING, "pgvector is not available: words only.", "Install pgvector 0.8 or newer for this Postgres."
    if row[0] is None:
        return WARNING, "pgvector is not installed in the database.", "As its owner: CREATE EXTENSION vector;"
    return GOOD, f"pgvector {row[0]}", ""


def check_migrations(connection: Database) -> Assessment:
    if connection.execute("SELECT to_regclass('django_migrations')").fetchone() == (None,):
        return BAD, "The database is empty.", "Start Festinger once, or restore a backup."
    rows = connection.execute("SELECT app, name FROM django_migrations").fetchall()
    applied, known = {(app, name) for app, name in rows}, preflight.list_migrations(settings.INSTALLED_APPS)
    try:
        preflight.check_migrations(applied, known)
    except LaunchFailed as failed:
        return BAD, str(failed), "Start the version that it names, or restore a backup."
    if missing := known - applied:
        says = f"{format_count(len(missing), 'migration')} of this version not applied yet."
        return BAD, says, f"The next start applies them, or: {settings.MANAGE} prepare."
    return GOOD, "The tables are of this version.", ""


def check_schedules() -> Assessment:
    rows = dict(PeriodicTask.objects.values_list("task", "enabled"))
    tasks = {task: name for name, task, *_ in (*SCHEDULE, *DAILY)}
    missing = [name for task, name in tasks.items() if task not in rows]
    if missing:
        return WARNING, f"Missing: {', '.join(missing)}.", "The next start adds them."
    if off := [name for task, name in tasks.items() if not rows[task]]:
        return WARNING, f"Switched off: {', '.join(off)}.", "Switch them on under Schedules, unless that is meant."
    return GOOD, f"All {len(tasks)} are there.", ""


def check_backups() -> Assessment:
    kept = Config.tuning().backups_kept
    if not kept:
        return WARNING, "None is made at night.", "Set backups_kept, or see to backups of your own."
    made = find_newest(settings.HOME)
    advice = f"Make one now: {settings.MANAGE} backup. If last night's failed, worker.log says why (backup.failed)."
    if made is None:
        first = InstalledVersion.objects.aggregate(Min("at"))["at__min"]
        if first is not None and timezone.now() - first < FIRST_DAY:
            return GOOD, "There is none yet: the first one is made at night.", ""
        return WARNING, "There is none yet.", advice
    age = timedelta(seconds=max(0.0, time.time() - made))
    says = f"The newest is {format_duration(age.total_seconds())} old."
    return (WARNING, says, advice) if age > BACKUP_MAX else (GOOD, says, "")


def check_tokens() -> Assessment:
    agents = Agent.objects.count()
    if settings.FESTINGER_REQUIRE_TOKEN and not agents:
        return BAD, "Prompts need a token, and nobody has one.", f"{settings.MANAGE} create_agent NAME"
    return GOOD, f"{format_count(agents, 'agent has', 'agents have')} a token.", ""


def check_keys() -> Assessment:
    if lost := find_undecryptable():
        advice = "Put encryption_keys of the backup into the home, or enter the keys and secrets again."
        return BAD, f"What is encrypted cannot be decrypted of: {', '.join(map(str, lost))}.", advice
    return GOOD, "What is encrypted can be decrypted.", ""


LOCAL: Final[dict[str, Callable[[], Assessment]]] = {
    "Versions": check_python,
    "Home": check_home,
    "Disk": check_disk,
    "Environment": check_environment,
    "config.yaml": check_config,
    "Access": check_access,
    "Port": check_port,
    "Upstream": check_upstream,
    "Embedder": check_embedder,
}
OF_DATABASE: Final[dict[str, Callable[[Database], Assessment]]] = {
    "Database": check_server,
    "Extensions": check_extension,
    "Migrations": check_migrations,
}
OF_TABLES: Final[dict[str, Callable[[], Assessment]]] = {
    "Schedules": check_schedules,
    "Backups": check_backups,
    "Tokens": check_tokens,
    "Keys": check_keys,
}
