"""Checks before anything is started, so that a mistake is one line and not a log to read."""

import errno
import socket
from collections.abc import Collection, Iterable
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import psycopg

from festinger_site import home as homes
from festinger_site.environment import Environment
from proxy.config.file import RulesMistakes, read_file

OLDEST_POSTGRES = 15
SECRET_MIN = 32  # characters
LISTED_MAX = 3
OWN_APPS = ("memory", "proxy", "resolution")  # packages of others may be older than the database


class LaunchFailed(Exception):
    """Festinger cannot start, or could not stay up. The message, for the operator, says it all."""


def check(settings: Any) -> None:
    """Check what a start needs by Django's settings, but for the port. Raises LaunchFailed."""
    check_exposure(settings.ENVIRONMENT, settings.FESTINGER_HOST)
    check_config(settings.CONFIG_FILE)
    if not homes.is_embedded():
        check_database(settings.DATABASE_URL)


def check_port(host: str, port: int) -> None:
    """Raises LaunchFailed where the proxy could not listen."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as listener:
            # As the server does: else the port of a Festinger that has just stopped would count as taken.
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise LaunchFailed(f"Port {port} on {host} is taken: free it, or set FESTINGER_PORT.") from error
        raise LaunchFailed(f"FESTINGER_HOST={host}: cannot listen there ({error.strerror})") from error


def check_exposure(environment: Environment, host: str) -> None:
    """Raises LaunchFailed where other machines could reach the proxy, and nobody has said that they may. ``host`` is
    the address to listen on."""
    # In a container that is any address; what counts is where its port is published.
    variable = "FESTINGER_PUBLISHED" if environment.FESTINGER_PUBLISHED else "FESTINGER_HOST"
    host = environment.FESTINGER_PUBLISHED or host
    if is_only_local(host):
        return
    problems = []
    if not environment.FESTINGER_REQUIRE_TOKEN and not environment.FESTINGER_OPEN:
        problems.append(
            "Others could prompt, and so teach. Set FESTINGER_REQUIRE_TOKEN=1, and give each agent a token"
            f" ({homes.MANAGE} create_agent NAME); or set FESTINGER_OPEN=1 if everybody there may use it without."
        )
    if 0 < len(environment.FESTINGER_SECRET_KEY) < SECRET_MIN:
        problems.append(
            f"Logins are signed with FESTINGER_SECRET_KEY, which others could guess: it has fewer than {SECRET_MIN}"
            " characters. Take what `openssl rand -base64 32` prints, or leave it unset: then Festinger makes one."
        )
    if problems:
        raise LaunchFailed("\n".join([f"{variable}={host} lets other machines reach Festinger.", *problems]))


def is_only_local(host: str) -> bool:
    """True if what listens on this address is reached from this machine only."""
    try:
        found = {str(address[0]) for *_, address in socket.getaddrinfo(host, None, flags=socket.AI_PASSIVE)}
    except OSError:
        return False
    return all(ip_address(address.partition("%")[0]).is_loopback for address in found)


def check_config(file: Path) -> None:
    """Raises LaunchFailed where config.yaml cannot be used."""
    try:
        read_file(file)
    except RulesMistakes as error:
        raise LaunchFailed(error.as_lines(file)) from None


def is_prepared(url: str, apps: Iterable[str]) -> bool:
    """True if the database has exactly the migrations of this version, and was filled after them. Without Django, which
    takes a second to find that out."""
    try:
        with psycopg.connect(url, connect_timeout=5) as connection:
            applied = connection.execute("SELECT app, name FROM django_migrations").fetchall()
            # Bootstrap ends with the first account.
            (is_filled,) = connection.execute("SELECT EXISTS (SELECT FROM auth_user)").fetchone() or (False,)
    except psycopg.Error:
        return False
    return bool(is_filled) and set(applied) == list_migrations(apps)


def list_migrations(apps: Iterable[str]) -> set[tuple[str, str]]:
    """List the migrations of this version, by app and name."""
    found = set()
    for app in apps:
        # An app may be named by its configuration, the rest of it by its package.
        package = app.partition(".apps.")[0]
        spec = find_spec(package)
        for folder in (spec and spec.submodule_search_locations) or ():
            files = (Path(folder) / "migrations").glob("[!_]*.py")
            found |= {(package.rpartition(".")[2], file.stem) for file in files}
    return found


def check_migrations(applied: Iterable[tuple[str, str]], known: Collection[tuple[str, str]]) -> None:
    """Raises LaunchFailed where migrations are applied that this version does not know; both hold apps and names."""
    if unknown := {name for name in applied if name[0] in OWN_APPS} - set(known):
        raise LaunchFailed(
            f"This database is of another version of Festinger, with migrations that this one does not know:"
            f" {format_migrations(unknown)}. Start that version, or restore a backup from before it."
        )


def format_migrations(names: Iterable[tuple[str, str]]) -> str:
    """List the first few migrations."""
    listed = [f"{app} {name}" for app, name in sorted(names)]
    return ", ".join(listed[:LISTED_MAX]) + (f" and {len(listed) - LISTED_MAX} more" if listed[LISTED_MAX:] else "")


def check_database(url: str) -> None:
    """Raises LaunchFailed where DATABASE_URL leads to no PostgreSQL that is new enough."""
    try:
        with psycopg.connect(url, connect_timeout=5) as connection:
            version = connection.info.server_version // 10_000
    except psycopg.Error as error:
        reason = str(error).strip().partition("\n")[0]
        raise LaunchFailed(f"DATABASE_URL cannot be used: {reason}") from error
    if version < OLDEST_POSTGRES:
        raise LaunchFailed(f"DATABASE_URL leads to PostgreSQL {version}; Festinger needs {OLDEST_POSTGRES} or newer.")
