"""``manage.py``: Django's command line. A command that needs the embedded Postgres finds it running: the launcher's
where one runs, else its own for as long as the command takes, set up if it is new."""

import json
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

NEEDS_NO_DATABASE = {
    "",
    "check_config",
    "collectstatic",
    "demo",
    "diffsettings",
    "findstatic",
    "help",
    "makemigrations",
    "standin_ollama",
    "startapp",
    "test",
    "version",
}


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
    name = words[0] if words else ""
    if name == "check":
        return "--database" in words
    return name not in NEEDS_NO_DATABASE


def run_with_postgres(arguments: list[str]) -> None:
    home = homes.ensure()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # so that Postgres is stopped, too
    waiting = Patience("Waiting for Postgres")

    def arrive() -> bool:
        if home_locks.is_launched(home):
            return wait_for_launchers(home, waiting)
        start_own(home, waiting)
        if arguments[1] != "migrate" and not postgres_cluster.has_table(home, "django_migrations"):
            set_up(only_migrate=arguments[1] == "bootstrap")
        return True

    with home_locks.using(home, arrive=arrive, leave_last=lambda: leave(home)):
        execute_from_command_line(arguments)


def wait_for_launchers(home: Path, waiting: Patience) -> bool:
    """False where it is not running: the launcher will start it, and may need our locks first."""
    waiting()
    if not postgres_cluster.is_running(home):
        return False
    postgres_cluster.wait_ready(home, on_wait=waiting)
    return True


def start_own(home: Path, waiting: Patience) -> None:
    if not postgres_cluster.is_running(home):
        postgres_cluster.ensure_cluster(home)
        postgres_cluster.start(home, on_wait=waiting)
    postgres_cluster.wait_ready(home, on_wait=waiting)  # one that a killed command left may still recover
    postgres_cluster.ensure_database(home)


def set_up(*, only_migrate: bool) -> None:
    say("This home is new: setting up its database")
    django.setup()
    from festinger_site.launcher import prepare_database  # needs Django's settings

    if only_migrate:
        prepare_database.migrate()
    else:
        tell_operator(json.loads(prepare_database.prepare()))


def leave(home: Path) -> None:
    if not home_locks.is_launched(home):
        postgres_cluster.stop(home)
