"""When a start may begin before Django has looked at the database."""

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from psycopg.conninfo import make_conninfo

from festinger_site.dev.scratch_instance import free_port
from festinger_site.run.preflight import is_prepared


@pytest.fixture
def database(transactional_db: None) -> str:
    return make_conninfo(settings.DATABASE_URL, dbname=connection.settings_dict["NAME"])


@pytest.fixture
def account(database: str) -> User:
    return User.objects.create(username="admin")


def test_a_database_with_all_migrations_and_an_account_is_prepared(database: str, account: User) -> None:
    assert is_prepared(database, settings.INSTALLED_APPS)


def test_one_that_was_never_filled_is_not(database: str) -> None:
    assert not is_prepared(database, settings.INSTALLED_APPS)


@pytest.mark.parametrize("app", ["memory", "auth", "django_celery_beat"])
def test_one_that_lacks_a_migration_is_not(database: str, account: User, app: str) -> None:
    last = MigrationRecorder.Migration.objects.filter(app=app).latest("id")
    last.delete()
    try:
        assert not is_prepared(database, settings.INSTALLED_APPS)
    finally:
        last.save()


def test_one_of_a_later_version_is_not(database: str, account: User) -> None:
    later = MigrationRecorder.Migration.objects.create(app="memory", name="9999_later")
    try:
        assert not is_prepared(database, settings.INSTALLED_APPS)
        with pytest.raises(CommandError, match=r"does not know: memory 9999_later\. Start that version"):
            call_command("prepare")
    finally:
        later.delete()


def test_one_that_cannot_be_asked_is_not(database: str) -> None:
    assert not is_prepared(f"postgresql://u@127.0.0.1:{free_port()}/name", settings.INSTALLED_APPS)
