"""``manage.py migrate``: refuses databases of other versions, which Django's own command would silently migrate."""

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands.migrate import Command as Migrate
from django.db import connections
from django.db.migrations.loader import MigrationLoader

from festinger_site import adoption
from festinger_site.launcher.preflight import LaunchFailed


class Command(Migrate):
    def handle(self, *args: Any, **options: Any) -> None:
        try:
            adoption.check_known(MigrationLoader(connections[options["database"]]))
        except LaunchFailed as refused:
            raise CommandError(str(refused)) from refused
        super().handle(*args, **options)
