"""Prepares the database for this version: migrations, then bootstrap; and puts the first config.yaml in the home.
Every start runs it in a process of its own (``python -m festinger_site.launcher.prepare_database``), so that the
launcher stays small."""

import os
import sys
from pathlib import Path

import django
from django.conf import settings
from django.core.management import call_command
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor

from memory.db.locks import hold_preparation_lock

EXAMPLE = settings.PROJECT / "config.example.yaml"


class Aside:
    """Takes the output of a command that ends with a line of JSON: keeps that line, and passes the rest to stderr."""

    kept = ""

    def write(self, text: str) -> None:
        if text.startswith("{"):
            self.kept = text
        else:
            sys.stderr.write(text)

    def flush(self) -> None:
        sys.stderr.flush()


def prepare() -> str:
    """Reports to stderr. Returns JSON: the operator, and the password if the account is new, else null."""
    if not settings.ENVIRONMENT.FESTINGER_CONFIG:
        offer_config(settings.CONFIG_FILE)
    aside = Aside()
    with hold_preparation_lock():  # several hosts may start on one database at once
        migrate()
        call_command("bootstrap", as_json=True, stdout=aside)
    return aside.kept


def offer_config(file: Path) -> None:
    """Puts the example, with every key commented out, where nothing is yet. Where that fails, it only says so."""
    try:
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as config:
            config.write(EXAMPLE.read_bytes())
    except FileExistsError:
        pass
    except OSError as error:
        print(f"{file}: cannot be written ({error.strerror})", file=sys.stderr)


def migrate() -> None:
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan:
        print(f"database: applying {len(plan)} migrations", file=sys.stderr, flush=True)
        call_command("migrate", verbosity=0, interactive=False)


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "festinger_site.settings")
    django.setup()
    try:
        print(prepare())
    except Error as error:
        sys.exit(f"The database refuses: {str(error).strip()}")
