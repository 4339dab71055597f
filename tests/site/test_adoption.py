"""Databases of other versions, taken over or refused by their names of migrations.

A whole one is taken over in tests/served/test_migrations.py."""

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from festinger_site import adoption
from festinger_site.launcher.preflight import LaunchFailed
from memory.models import Config

pytestmark = pytest.mark.django_db

LAST = ("memory", "0041_word_indexes_sorted_early")


def record(names: adoption.Names) -> None:
    """These migrations of our apps, and no others, are applied."""
    recorder = MigrationRecorder(connection)
    recorder.migration_qs.filter(app__in=adoption.APPS).delete()
    for app, name in names:
        recorder.record_applied(app, name)


def find_recorded() -> adoption.Names:
    applied = MigrationRecorder(connection).applied_migrations()
    return frozenset(name for name in applied if name[0] in adoption.APPS)


def test_the_list_ends_with_the_last_migrations_of_0_1_0() -> None:
    assert len(adoption.OLD) == 78
    assert adoption.INITIAL < adoption.OLD
    assert {LAST, ("proxy", "0011_notes_of_requests"), ("resolution", "0026_values_in_words")} < adoption.OLD


def test_a_database_of_0_1_0_is_taken_over_once() -> None:
    record(adoption.OLD)

    adoption.adopt()

    assert find_recorded() == adoption.INITIAL
    adoption.check_known(MigrationLoader(connection))
    with pytest.raises(adoption.NotAdoptable, match=r"not of version 0\.1\.0: there is nothing to take over"):
        adoption.adopt()


@pytest.mark.parametrize(("episodes", "becomes"), [("ask", "off"), ("on", "on"), ("all", "all")])
def test_where_nobody_has_said_that_messages_may_be_kept_none_are(episodes: str, becomes: str) -> None:
    Config.objects.update_or_create(key="episodes", defaults={"value": episodes})
    record(adoption.OLD)

    assert adoption.adopt() == (episodes == "ask")

    assert Config.objects.get(key="episodes").value == becomes


@pytest.mark.parametrize(
    ("names", "difference"),
    [
        (adoption.OLD - {LAST}, "it lacks memory 0041_word_indexes_sorted_early. Nothing was changed."),
        (adoption.OLD | {("proxy", "0012_more")}, "it has besides proxy 0012_more. Nothing was changed."),
    ],
    ids=["one migration less", "one more"],
)
def test_a_database_that_0_1_0_left_otherwise_is_not_taken_over(names: adoption.Names, difference: str) -> None:
    record(names)

    with pytest.raises(adoption.NotAdoptable) as refused:
        adoption.adopt()

    assert difference in str(refused.value)
    assert find_recorded() == names


def test_an_empty_database_is_not_taken_over() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE django_migrations")

    with pytest.raises(adoption.NotAdoptable, match="is empty"):
        adoption.adopt()


@pytest.mark.parametrize("names", [adoption.OLD, adoption.OLD - {LAST}], ids=["its last state", "an earlier one"])
def test_a_database_of_0_1_0_is_refused_before_the_takeover(names: adoption.Names) -> None:
    record(names)

    with pytest.raises(LaunchFailed, match=r"of version 0\.1\.0\. Make a backup, .*: manage\.py adopt_0_1_0"):
        adoption.check_known(MigrationLoader(connection))
    with pytest.raises(CommandError, match=r"manage\.py adopt_0_1_0"):
        call_command("migrate", verbosity=0)


def test_a_database_of_a_newer_version_is_refused() -> None:
    record(adoption.INITIAL | {("memory", "0999_future")})

    with pytest.raises(LaunchFailed, match=r"newer version of Festinger, .* not know: memory 0999_future"):
        adoption.check_known(MigrationLoader(connection))
