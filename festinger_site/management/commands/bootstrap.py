"""``manage.py bootstrap``: what a migrated database needs before the first request."""

import json
import time
from argparse import ArgumentParser
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import BaseCommand
from pgmq import get_embedded_install_sql, install_pgmq_sql
from pgmq.install import get_embedded_sql_version

from memory import bootstrap
from resolution.resolver import schedule as resolver_schedule


class Command(BaseCommand):
    help = "Loads the dictionary, dimensions, settings, schedules and groups, and creates the first operator."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--dictionary-floor",
            type=float,
            metavar="ZIPF",
            help=f"load English words of at least this Zipf frequency (at first: {bootstrap.ZIPF_FLOOR})",
        )
        parser.add_argument(
            "--json", action="store_true", dest="as_json", help="end with a line of JSON: operator, password"
        )

    def handle(self, *, dictionary_floor: float | None, as_json: bool, **_: Any) -> None:
        self.dictionary(dictionary_floor)
        self.say("dimensions", bootstrap.load_dimensions())
        self.say("settings", bootstrap.load_config())
        bootstrap.load_schedule()
        for name in bootstrap.load_groups():
            self.stdout.write(f"group {name}: permissions added")
        resolver_schedule.keep()
        if install_pgmq():
            self.stdout.write("broker: PGMQ installed")
        self.operator(bootstrap.create_first_operator(), as_json=as_json)

    def dictionary(self, floor: float | None) -> None:
        if floor is None and bootstrap.has_dictionary():
            return
        self.stdout.write("dictionary: loading English words", ending=" ... ")
        self.stdout.flush()
        started = time.monotonic()
        count = bootstrap.load_dictionary(bootstrap.ZIPF_FLOOR if floor is None else floor)
        self.stdout.write(f"{count} in {time.monotonic() - started:.1f} s")

    def say(self, what: str, added: int) -> None:
        if added:
            self.stdout.write(f"{what}: {added} added")

    def operator(self, password: str | None, *, as_json: bool) -> None:
        if as_json:
            self.stdout.write(json.dumps({"operator": bootstrap.OPERATOR, "password": password}))
        elif password is not None:
            self.stdout.write(f"operator: {bootstrap.OPERATOR}, password: {password} (shown this once)")


def install_pgmq() -> bool:
    """Installs Celery's broker as plain SQL, which needs no extension, where it is used and its schema is absent; True
    if it did."""
    if not settings.CELERY_BROKER_URL.startswith("pgmq"):
        return False
    with psycopg.connect(settings.DATABASE_URL) as connection:
        if connection.execute("SELECT to_regnamespace('pgmq')").fetchone() != (None,):
            return False
        install_pgmq_sql(get_embedded_install_sql(), conn=connection)
        # Plain SQL has no other place for the installed version.
        connection.execute(f"COMMENT ON SCHEMA pgmq IS 'PGMQ {get_embedded_sql_version()}'")
    return True
