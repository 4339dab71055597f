"""``festinger restore``: makes a new home from a backup."""

import signal
import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from festinger_site import home as homes
from festinger_site.care.backup import KEYS, BackupFailed
from festinger_site.care.restore import restore
from festinger_site.environment import EnvironmentMistake
from festinger_site.run.home_locks import HomeInUse
from festinger_site.run.postgres_account import PostgresFailed


class Command(BaseCommand):
    help = "Makes a new home, FESTINGER_HOME, from a backup; with DATABASE_URL, in an empty database."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *, file: Path, **_: Any) -> None:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # removes what was begun
        self.stdout.write(f"Restoring {file} into {homes.path()} ...")
        try:
            manifest = restore(file)
        except (BackupFailed, EnvironmentMistake, HomeInUse, PostgresFailed) as failed:
            raise CommandError(str(failed)) from failed
        rows = manifest.rows
        self.stdout.write(
            f"Restored as of {manifest.made_at}, version {manifest.version}: {rows['urd']:,} facts,"
            f" {rows['memory']:,} memories, {rows['episode']:,} messages. Start Festinger to use it."
        )
        if KEYS[1] not in manifest.digests:
            self.stdout.write(
                f"The backup has no keys: put {' and '.join(KEYS)} into the home before you start it, unless they come"
                " from the environment."
            )
