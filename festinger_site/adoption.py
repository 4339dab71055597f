"""Takes over databases of version 0.1.0, whose migrations were squashed: the tables are the same, but not the
migrations that Django has recorded. See docs/decisions/014-migrations.md."""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from django.db import connection, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from festinger_site import home as homes
from festinger_site.launcher.preflight import LaunchFailed

Names = frozenset[tuple[str, str]]  # app and migration

# All migrations of version 0.1.0, in the order of their application: each line an app and a migration.
LIST: Final = Path(__file__).with_name("migrations_of_0_1_0.txt")
OLD: Final = frozenset((app, name) for app, name in map(str.split, LIST.read_text().splitlines()))
APPS: Final = ("memory", "proxy", "resolution")
TOLD_MAX: Final = 3
INITIAL: Final = frozenset((app, "0001_initial") for app in APPS)


class NotAdoptable(Exception):
    """The database is not of version 0.1.0. The message, for the operator, says why."""


def check_known(loader: MigrationLoader) -> None:
    """Raise LaunchFailed if the database has migrations that this version does not have."""
    check_applied(loader.applied_migrations, loader.disk_migrations)


def check_applied(applied: Iterable[tuple[str, str]], known: Collection[tuple[str, str]]) -> None:
    """Raise LaunchFailed if unknown migrations are applied; both arguments hold apps and names."""
    unknown = _select_own(applied) - set(known)
    if unknown and unknown <= OLD:
        raise LaunchFailed(
            "This database is of version 0.1.0. Make a backup, then let this version take it over, once:"
            f" {homes.MANAGE} adopt_0_1_0"
        )
    if unknown:
        raise LaunchFailed(
            f"This database is of a newer version of Festinger, which has migrations that this one does not know:"
            f" {format_migrations(unknown)}. Start that version, or restore a backup from before it."
        )


def adopt() -> bool:
    """Record the initial migrations in place of the old ones.

    Returns True if ``episodes`` was a question that nobody had answered, which is "off" now. Raises NotAdoptable, and
    then has changed nothing.
    """
    recorder = MigrationRecorder(connection)
    if not recorder.has_table():
        raise NotAdoptable("This database is empty: there is nothing to take over.")
    with transaction.atomic(), connection.cursor() as cursor:
        # Somebody may run migrate by hand, without the preparation lock.
        cursor.execute("LOCK TABLE django_migrations IN EXCLUSIVE MODE")
        _check_adoptable(_select_own(recorder.applied_migrations()))
        recorder.migration_qs.filter(app__in=APPS).delete()
        for app, name in sorted(INITIAL):
            recorder.record_applied(app, name)
        # Nothing was kept until an operator answered, and an unknown value would now count as the default.
        cursor.execute("UPDATE config SET value = 'off' WHERE key = 'episodes' AND value = 'ask'")
        return bool(cursor.rowcount)


def _check_adoptable(applied: Names) -> None:
    if not applied & (OLD - INITIAL):
        raise NotAdoptable("This database is not of version 0.1.0: there is nothing to take over.")
    differences = {"it lacks": OLD - applied, "it has besides": applied - OLD}
    told = [f"{what} {format_migrations(names)}" for what, names in differences.items() if names]
    if told:
        raise NotAdoptable(
            f"This database is not as version 0.1.0 leaves it: {'; '.join(told)}. Nothing was changed. Start version"
            " 0.1.0 with it once, or restore a backup, then try again."
        )


def _select_own(applied: Iterable[tuple[str, str]]) -> Names:
    return frozenset(name for name in applied if name[0] in APPS)


def format_migrations(names: Iterable[tuple[str, str]]) -> str:
    """List the first few migrations."""
    told = [f"{app} {name}" for app, name in sorted(names)]
    more = f" and {len(told) - TOLD_MAX} more" if len(told) > TOLD_MAX else ""
    return ", ".join(told[:TOLD_MAX]) + more
