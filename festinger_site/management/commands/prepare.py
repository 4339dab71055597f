"""``manage.py prepare``: what every start needs of the database, for those who start the programs themselves."""

import json
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import Error

from festinger_site.launcher import preflight, prepare_database
from festinger_site.launcher.console import say, tell_operator


class Command(BaseCommand):
    help = "Migrations, then bootstrap. Shows the first operator's password, once."
    requires_system_checks: list[str] = []

    def handle(self, **_: Any) -> None:
        try:
            preflight.check_config(settings.CONFIG_FILE)
            preflight.check_database(settings.DATABASE_URL)
            operator = json.loads(prepare_database.prepare())
        except preflight.LaunchFailed as failed:
            raise CommandError(str(failed)) from failed
        except Error as error:
            raise CommandError(f"The database refuses: {str(error).strip()}") from error
        tell_operator(operator)
        say("The database is ready.")
