"""``manage.py prepare``: brings the database to this version, by migrations and bootstrap, and puts the first
config.yaml into the home. Operators who start the programs themselves run it first; the launcher runs it at each
start."""

import json
import os
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone

from festinger_site import home as homes
from festinger_site.care import backup
from festinger_site.management.commands.bootstrap import Command as Bootstrap
from festinger_site.run import preflight
from festinger_site.run.console import say, tell_operator
from memory.db.locks import hold_preparation_lock
from memory.models import InstalledVersion
from memory.running.bootstrap import OPERATOR
from memory.search.vectors.schema import make_tables

UPGRADES_KEPT = 3  # backups before upgrades
EXAMPLE = settings.ROOT / "config.example.yaml"


class Command(BaseCommand):
    help = "Migrations, then bootstrap. Shows the first operator's password, once."
    # System checks would import every page of the admin, and each start waits for this command.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--json", action="store_true", dest="as_json", help="end with a line of JSON: operator, password"
        )

    def handle(self, *, as_json: bool, **_: Any) -> None:
        try:
            if not settings.IS_LAUNCHED:  # as in a container: the message is found here; a proxy would keep restarting
                preflight.check(settings)
            operator = prepare()
        except preflight.LaunchFailed as failed:
            raise CommandError(str(failed)) from failed
        except Error as error:
            raise CommandError(f"The database refuses: {str(error).strip()}") from error
        if as_json:
            self.stdout.write(json.dumps(operator))
        else:
            tell_operator(operator)
            say("The database is ready.")


def prepare() -> dict[str, str | None]:
    """Prepare the database and the home; report to stderr. Return the operator, and the password if the account is new,
    else None."""
    homes.mark(homes.ensure())
    if not settings.ENVIRONMENT.FESTINGER_CONFIG:
        offer_config(settings.CONFIG_FILE)
    # Several hosts may start on one database at once: Django's migrations have no lock of their own.
    with hold_preparation_lock():
        migrate()
        if lack := make_tables():
            print(f"database: {lack}; what was said is found by its words only", file=sys.stderr, flush=True)
        return {"operator": OPERATOR, "password": Bootstrap(stdout=sys.stderr).fill_database()}


def offer_config(file: Path) -> None:
    """Create a config.yaml with every key commented out, if there is none. A failure is only reported."""
    try:
        # O_EXCL never overwrites a file, and does not follow a link, even a broken one.
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as config:
            config.write(EXAMPLE.read_bytes())
    except FileExistsError:
        pass
    except OSError as error:
        print(f"{file}: cannot be written ({error.strerror})", file=sys.stderr)


def back_up_before_upgrade() -> str:
    """Back up, and return the file. Raises LaunchFailed if that fails: there is no other way back."""
    file = backup.name_backup(timezone.localtime(), backup.BEFORE_UPGRADE)
    # Before the backup, so that an upgrade that keeps failing does not leave more.
    backup.delete_old(file.parent, UPGRADES_KEPT - 1, backup.BEFORE_UPGRADE)
    print(f"database: backing up to {file}", file=sys.stderr, flush=True)
    try:
        backup.back_up(file)
    except backup.BackupFailed as failed:
        raise preflight.LaunchFailed(
            f"The database is to be upgraded, but cannot be backed up before: {failed} To upgrade it without:"
            " FESTINGER_UPGRADE_BACKUP=0"
        ) from failed
    return str(file)


def migrate() -> None:
    """Apply the migrations. Raises LaunchFailed if the database has migrations that this version does not know, or
    cannot be backed up."""
    # ``migrate`` would compare all permissions and content types even if there is nothing to apply.
    executor = MigrationExecutor(connection)
    preflight.check_migrations(executor.loader.applied_migrations, executor.loader.disk_migrations)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    is_new, file = not executor.loader.applied_migrations, ""
    if plan:
        if settings.ENVIRONMENT.FESTINGER_UPGRADE_BACKUP and not is_new:
            file = back_up_before_upgrade()
        print(f"database: applying {len(plan)} migrations", file=sys.stderr, flush=True)
        call_command("migrate", verbosity=0, interactive=False)
    note_version(file)


def note_version(file: str) -> None:
    """Record the installed version for the home page. ``file`` is the backup before the upgrade."""
    last = InstalledVersion.objects.order_by("-at").values_list("version", flat=True).first()
    if last != settings.VERSION:
        known = {"before": last or "", "backup": file, "at": timezone.now()}
        InstalledVersion.objects.update_or_create(version=settings.VERSION, defaults=known)
