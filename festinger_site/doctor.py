"""Checks an installation: those of proxy/health/checks.py, and those of the machine and the home that it has here."""

import os
import sys
import tomllib
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from typing import Final

import psutil
from django.db import DatabaseError

from festinger_site import home as homes
from festinger_site import settings
from festinger_site.dev import embedder_weights
from festinger_site.environment import find_misspelled
from festinger_site.run import home_locks, preflight
from festinger_site.run.liveness_probe import health
from festinger_site.run.manage import use_postgres
from festinger_site.run.postgres_account import PostgresFailed
from festinger_site.run.preflight import LaunchFailed
from festinger_site.run.supervision import SERVER as SERVER_MODULE
from memory.access.key_encryption import find_undecryptable
from memory.db.connections import fetch_rows
from memory.english.phrases import format_count
from memory.models import Agent, Heartbeat
from memory.search.encoder.model_file import FOLDER
from proxy.health.checks import CHECKS, NOTE, OK, PROBLEM, WARNING, CheckResult, Outcome, check
from proxy.health.facts import DATABASE, NOTHING, RUNNING, SERVER, Facts, collect_outside

INSTALL_WEIGHTS: Final = "make encoder" if homes.IS_CLONE else "festinger embedder"
REVERSE_PROXIES: Final = frozenset("nginx caddy traefik haproxy apache2 httpd cloudflared ngrok".split())  # noqa: SIM905


def examine() -> list[CheckResult]:
    """Return the results of all checks that are possible, in the order in which they depend on each other."""
    is_running = not homes.is_embedded() or home_locks.is_launched(settings.HOME)
    has_database = is_running or (settings.HOME / "postgres").exists()
    starts_database = has_database and not is_running
    try:
        with use_postgres(settings.HOME, sets_up=True) if starts_database else nullcontext():
            facts = collect_outside(lists_models=True)
            if facts.available and not is_running:
                facts = replace(facts, available=DATABASE)
            elif facts.available and "upstream" in (report := health(settings.FESTINGER_HOST, settings.FESTINGER_PORT)):
                facts = replace(
                    facts, available=SERVER, process=report | {"listening": report["database"]["listening"]}
                )
            return list(run_possible(facts if has_database else replace(facts, database_error="")))
    except PostgresFailed as failed:
        return [CheckResult("Database", PROBLEM, str(failed), "Look at postgres.log in the folder log of the home.")]


def run_possible(facts: Facts) -> Iterator[CheckResult]:
    are_tables_known = True
    for one in sorted(CHECKS, key=lambda one: one.needs):
        # The others read tables that may not be as this version knows them.
        if one.needs <= facts.available and (one.needs == NOTHING or are_tables_known):
            yield (result := one.run(facts))
            are_tables_known &= result.part != "Migrations" or result.level == OK
    if facts.available < RUNNING:
        yield CheckResult("Festinger", NOTE, "It is not running: its processes were not looked at.")


@check("Versions", hint="Install what this version was tested with: make run does, or pip install -r requirements.txt.")
def check_python(_: Facts) -> Outcome:
    differing = [name for name, pinned, installed in list_packages() if installed != pinned]
    message = f"Festinger {settings.VERSION} on Python {sys.version.split()[0]}"
    if differing:
        return WARNING, f"{message}, with other versions of {', '.join(differing)} than it pins."
    return OK, f"{message}."


def list_packages() -> Iterator[tuple[str, str, str | None]]:
    """Yield each pinned package with its pinned and its installed version."""
    for pin in tomllib.loads((homes.ROOT / "pyproject.toml").read_text())["project"]["dependencies"]:
        name, _, pinned = pin.partition("==")
        name = name.partition("[")[0]
        try:
            yield name, pinned, version(name)
        except PackageNotFoundError:
            yield name, pinned, None


@check("Home")
def check_home(_: Facts) -> Outcome:
    home = settings.HOME
    if not os.access(home, os.W_OK | os.X_OK):
        return PROBLEM, f"{home} cannot be written by this user.", "Run this, and Festinger, as the user who owns it."
    if home.stat().st_mode & 0o066:
        return WARNING, f"{home} can be read or written by others.", f"chmod go-rw {home}"
    return OK, f"{home}"


@check("Environment", hint="Correct the name, or unset the variable.")
def check_environment(_: Facts) -> Outcome:
    if misspelled := find_misspelled():
        return WARNING, "; ".join(f"{name} is not read: did you mean {known}?" for name, known in misspelled.items())
    return OK, f"Times of schedules are in {settings.TIME_ZONE}."


@check("Access", hint="Set one of the variables that it names.")
def check_access(_: Facts) -> Outcome:
    try:
        preflight.check_exposure(settings.ENVIRONMENT, settings.FESTINGER_HOST)
    except LaunchFailed as failed:
        return PROBLEM, str(failed)
    in_front = sorted({name for process in psutil.process_iter() if (name := _name(process)) in REVERSE_PROXIES})
    if in_front and settings.FESTINGER_TRUST_LOOPBACK != "none":
        hint = "If it passes requests on to Festinger, set FESTINGER_TRUST_LOOPBACK=0."
        return WARNING, f"{', '.join(in_front)} runs on this machine; requests from here need no token.", hint
    return OK, f"It listens on {settings.FESTINGER_HOST}, port {settings.FESTINGER_PORT}."


def _name(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return process.name()
    return ""


@check("Port", hint="ss -ltnp shows which program it is.")
def check_port(facts: Facts) -> Outcome:
    report = health(settings.FESTINGER_HOST, settings.FESTINGER_PORT)
    if report:
        return (OK, "Festinger answers.") if report.get("ready") else (WARNING, "It is not ready yet.", "Wait.")
    try:
        preflight.check_port(settings.FESTINGER_HOST, settings.FESTINGER_PORT)
    except LaunchFailed as failed:
        return PROBLEM, f"{failed} What answers there is not Festinger."
    nothing = f"Nothing listens on port {settings.FESTINGER_PORT}"
    if ports := _find_ports(facts):
        return NOTE, f"{nothing}; the server does on {ports[0]}.", f"Set FESTINGER_PORT={ports[0]} here, as it has it."
    return NOTE, f"{nothing}.", f"Start Festinger: {homes.RUN}."


def _find_ports(facts: Facts) -> list[int]:
    """Return the ports on which server processes of this machine listen, by the heartbeats that they sent."""
    ports = set()
    for name, pid, _ in facts.stored.heartbeats if facts.available else ():
        if name != Heartbeat.SERVER:
            continue
        with suppress(psutil.Error):  # gone, or of another machine
            process = psutil.Process(pid)
            # One of several is a child of the server.
            if any(SERVER_MODULE in one.cmdline() for one in (process, *process.parents()[:1])):
                ports |= {one.laddr.port for one in process.net_connections("tcp") if one.status == psutil.CONN_LISTEN}
    return sorted(ports)


@check("Embedder", hint=INSTALL_WEIGHTS)
def check_embedder(_: Facts) -> Outcome:
    if any((settings.HOME / FOLDER).glob("*.onnx")) or embedder_weights.are_installed():
        return OK, "The built-in one can be used."
    return WARNING, "The weights of the built-in one are not installed: full-text search only."


@check("Migrations")
def check_migrations(facts: Facts) -> Outcome:
    try:
        applied = {(app, name) for app, name in fetch_rows("SELECT app, name FROM django_migrations")}
    except DatabaseError:
        return NOTE, "There are none, or the database does not answer.", "Start Festinger once, or restore a backup."
    known = preflight.list_migrations(settings.INSTALLED_APPS)
    try:
        preflight.check_migrations(applied, known)
    except LaunchFailed as failed:
        return PROBLEM, str(failed), "Start the version that it names, or restore a backup."
    if missing := known - applied:
        message = f"{format_count(len(missing), 'migration')} of this version not applied yet."
        return PROBLEM, message, f"The next start applies them, or: {settings.MANAGE} prepare."
    return OK, "The tables are of this version."


@check("Tokens", DATABASE, hint=f"{settings.MANAGE} create_agent NAME")
def check_tokens(_: Facts) -> Outcome:
    agents = Agent.objects.count()
    if settings.FESTINGER_REQUIRE_TOKEN and not agents:
        return PROBLEM, "Prompts need a token, and nobody has one."
    return OK, f"{format_count(agents, 'agent has', 'agents have')} a token."


@check("Keys", DATABASE, hint="Put encryption_keys of the backup into the home, or enter the keys and secrets again.")
def check_keys(_: Facts) -> Outcome:
    if lost := find_undecryptable():
        return PROBLEM, f"What is encrypted cannot be decrypted of: {', '.join(map(str, lost))}."
    return OK, "What is encrypted can be decrypted."
