"""``manage.py``: Django's command line. A command that needs the embedded Postgres finds it running: the launcher's
where one runs, else its own for as long as the command takes, set up if it is new."""

import os
import signal
import sys
from pathlib import Path

import django
from django.core.management import execute_from_command_line

from festinger_site import home as homes
from festinger_site.environment import EnvironmentMistake
from festinger_site.launcher import home_locks, postgres_cluster
from festinger_site.launcher.console import Patience, say, tell_operator
from festinger_site.launcher.postgres_account import PostgresFailed

# Of Django's and our own commands: all others get a database, so that a forgotten one works, too.
NEEDS_NO_DATABASE = frozenset(
    """
    check_config collectstatic demo diffsettings findstatic help makemigrations standin_ollama startapp test version
    """.split()  # noqa: SIM905
)


def main(arguments: list[str]) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "festinger_site.settings")
    try:
        if needs_embedded_database(arguments[1:]):
            run_with_postgres(arguments)
        else:
            execute_from_command_line(arguments)
    except (EnvironmentMistake, PostgresFailed) as mistake:
        sys.exit(str(mistake))


def needs_embedded_database(words: list[str]) -> bool:
    if not homes.is_embedded() or {"--help", "-h", "--version"} & set(words):
        return False
    name = words[0] if words else "help"
    if name == "check":
        return "--database" in words
    return name not in NEEDS_NO_DATABASE


def run_with_postgres(arguments: list[str]) -> None:
    home = homes.ensure()
    # Python's default ends the process at once, and Postgres would be left running.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    waiting = Patience("Waiting for Postgres")

    def arrive() -> bool:
        is_launched, is_running = home_locks.is_launched(home), postgres_cluster.is_running(home)
        if is_launched and not is_running:
            # The launcher will start it, and may need our locks first.
            waiting()
            return False
        if not is_running:
            postgres_cluster.ensure_cluster(home)
            postgres_cluster.start(home, on_wait=waiting)
        # Also for one that runs: it may still recover, or be one that a killed command left.
        postgres_cluster.wait_ready(home, on_wait=waiting)
        if not is_launched:
            postgres_cluster.ensure_database(home)
            set_up_if_new(home, arguments[1])
        return True

    def leave_last() -> None:
        # A launcher that started meanwhile goes on using it.
        if not home_locks.is_launched(home):
            postgres_cluster.stop(home)

    with home_locks.using(home, arrive=arrive, leave_last=leave_last):
        execute_from_command_line(arguments)


def set_up_if_new(home: Path, command: str) -> None:
    """Does what the command itself does not: ``migrate`` needs nothing, and ``bootstrap`` the tables."""
    with postgres_cluster.connect(home, homes.DATABASE) as connection:
        is_new = connection.execute("SELECT to_regclass('django_migrations')").fetchone() == (None,)
    if not is_new or command == "migrate":
        return
    say("This home is new: setting up its database")
    django.setup()
    # Needs Django's settings, which are read only now: most commands find a home that is set up.
    from festinger_site.management.commands.prepare import migrate, prepare

    if command == "bootstrap":
        migrate()
    else:
        tell_operator(prepare())
