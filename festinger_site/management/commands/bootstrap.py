"""``manage.py bootstrap``: adds what a migrated database needs before the first request."""

import time
from argparse import ArgumentParser
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand
from pgmq import get_embedded_install_sql, install_pgmq_sql
from pgmq.install import get_embedded_sql_version

from memory.llm.upstream_models import use_for_everything
from memory.running import bootstrap
from resolution.nightly.schedule import sync_beat_schedule


class Command(BaseCommand):
    help = "Loads the dictionary, dimensions, settings, schedules and groups, and creates the first operator."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--dictionary-floor",
            type=float,
            metavar="ZIPF",
            help=f"load English words of at least this Zipf frequency (at first: {bootstrap.ZIPF_FLOOR})",
        )

    def handle(self, *, dictionary_floor: float | None, **_: Any) -> None:
        if password := self.fill_database(dictionary_floor):
            self.stdout.write(f"operator: {bootstrap.OPERATOR}, password: {password} (shown this once)")

    def fill_database(self, dictionary_floor: float | None = None) -> str | None:
        """Fill the database; return the password of the first operator if this created the account."""
        if dictionary_floor is not None or not bootstrap.has_dictionary():
            # It takes seconds: show what is happening.
            self.stdout.write("dictionary: loading English words", ending=" ... ")
            self.stdout.flush()
            started = time.monotonic()
            count = bootstrap.load_dictionary(bootstrap.ZIPF_FLOOR if dictionary_floor is None else dictionary_floor)
            self.stdout.write(f"{count} in {time.monotonic() - started:.1f} s")
        bootstrap.load_lexemes()
        for what, added in (("dimensions", bootstrap.load_dimensions()), ("settings", bootstrap.load_config())):
            if added:
                self.stdout.write(f"{what}: {added} added")
        bootstrap.load_schedule()
        for name in bootstrap.load_groups():
            self.stdout.write(f"group {name}: permissions added")
        if (model := settings.FESTINGER_MODEL) and use_for_everything(model):
            self.stdout.write(f"language model: {model} of the upstream, for proposals only at first")
        sync_beat_schedule()
        if install_pgmq():
            self.stdout.write("broker: PGMQ installed")
        return bootstrap.create_first_operator()


def install_pgmq() -> bool:
    """Install Celery's broker if it is used and its schema is absent; return True if it did."""
    if not settings.CELERY_BROKER_URL.startswith("pgmq"):
        return False
    with psycopg.connect(settings.DATABASE_URL) as connection:
        if connection.execute("SELECT to_regnamespace('pgmq')").fetchone() != (None,):
            return False
        # The wheel's Postgres lacks the extension, and an operator's server may forbid installing it.
        install_pgmq_sql(get_embedded_install_sql(), conn=connection)
        # Plain SQL has no other place for the installed version.
        connection.execute(f"COMMENT ON SCHEMA pgmq IS 'PGMQ {get_embedded_sql_version()}'")
    return True
