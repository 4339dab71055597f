"""``manage.py``: Django's command line. A command that needs the embedded Postgres finds it running: the launcher's
where one runs, else its own for as long as the command takes."""

import os
import secrets
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management import execute_from_command_line

from festinger_site import home as homes
from festinger_site.environment import EnvironmentMistake
from festinger_site.run import home_locks, postgres_cluster
from festinger_site.run.console import WaitNotice
from festinger_site.run.postgres_account import PostgresFailed

# Of Django's and our own commands: all others get a database, so that a forgotten one works, too.
NEEDS_NO_DATABASE = frozenset(
    """
    check_config collectstatic demo diffsettings doctor findstatic help makemigrations restore standin_ollama startapp
    test version
    """.split()  # noqa: SIM905
)
SETS_UP = frozenset({"bootstrap", "migrate", "prepare"})  # an empty database


def main(arguments: list[str]) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "festinger_site.settings")
    try:
        home = homes.path()
        if not homes.exists() and not may_lack_home(arguments[1:]):
            sys.exit(NO_HOME.format(home=home))
        if needs_embedded_database(arguments[1:]):
            run_with_postgres(arguments)
        else:
            execute_from_command_line(arguments)
    except (EnvironmentMistake, PostgresFailed) as mistake:
        sys.exit(str(mistake))


NO_HOME = (
    f"There is no Festinger at {{home}}: start one there ({homes.RUN}), or set FESTINGER_HOME to where it keeps its"
    " data."
)


def may_lack_home(words: list[str]) -> bool:
    """True if the command makes a home, or needs none. A mistyped path must not become another, empty Festinger."""
    name = words[0] if words else "help"
    if name == "prepare":
        return True
    # Django's settings would make a home for the key that signs logins.
    os.environ.setdefault("FESTINGER_SECRET_KEY", secrets.token_urlsafe())
    return (name in NEEDS_NO_DATABASE and name != "doctor") or bool({"--help", "-h", "--version"} & set(words))


def needs_embedded_database(words: list[str]) -> bool:
    if not homes.is_embedded() or {"--help", "-h", "--version"} & set(words):
        return False
    name = words[0] if words else "help"
    if name == "check":
        return "--database" in words
    return name not in NEEDS_NO_DATABASE


def run_with_postgres(arguments: list[str]) -> None:
    home = homes.ensure()  # of prepare
    # Python's default ends the process at once, and Postgres would be left running.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    with use_postgres(home, sets_up=arguments[1] in SETS_UP):
        execute_from_command_line(arguments)


@contextmanager
def use_postgres(home: Path, *, sets_up: bool) -> Iterator[None]:
    """The home's Postgres runs meanwhile. Ends the process where its database is empty, unless the command ``sets_up``
    one. Raises PostgresFailed."""
    waiting = WaitNotice("Waiting for Postgres")

    def start() -> None:
        if not home_locks.is_launched(home) and not postgres_cluster.is_running(home):
            postgres_cluster.ensure_cluster(home)
            postgres_cluster.start(home, on_wait=waiting)

    def is_usable() -> bool:
        if not postgres_cluster.is_running(home):
            waiting()
            return False
        # It may still recover, or be one that a killed command left.
        postgres_cluster.wait_ready(home, on_wait=waiting)
        if not home_locks.is_launched(home):
            postgres_cluster.ensure_database(home)
            if not sets_up:
                check_set_up(home)
        return True

    def stop() -> None:
        # A launcher that started meanwhile goes on using it.
        if not home_locks.is_launched(home):
            postgres_cluster.stop(home)

    with home_locks.using(home, start=start, is_usable=is_usable, stop=stop):
        yield


def check_set_up(home: Path) -> None:
    """Ends the process where the database is empty, as after a first start that was broken off."""
    with postgres_cluster.connect(home, homes.DATABASE) as connection:
        if connection.execute("SELECT to_regclass('django_migrations')").fetchone() == (None,):
            sys.exit(f"The database in {home} is empty: start Festinger there once.")
