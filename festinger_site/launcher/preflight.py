"""Checks before anything is started, so that a mistake is one line and not a log to read."""

import errno
import socket
from pathlib import Path

import psycopg

from proxy.config_file.parser import RulesMistakes
from proxy.config_file.watcher import read_at

OLDEST_POSTGRES = 15


class LaunchFailed(Exception):
    """Festinger cannot start, or could not stay up. The message, for the operator, says it all."""


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


def check_config(file: Path) -> None:
    """Raises LaunchFailed where config.yaml cannot be used."""
    try:
        read_at(file).rules()
    except RulesMistakes as error:
        raise LaunchFailed(error.as_lines(file)) from None


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
