"""``festinger backup``: writes a backup, while Festinger runs."""

from argparse import ArgumentParser
from datetime import datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from festinger_site.care.backup import KEYS, BackupFailed, back_up, delete_old, name_backup


class Command(BaseCommand):
    help = "Writes a backup: database, config.yaml, messages that wait. Festinger may run."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", nargs="?", type=Path, help="a new file (default: one in the home, backups/)")
        parser.add_argument("--with-keys", action="store_true", help=f"put {' and '.join(KEYS)} into it, too")
        parser.add_argument("--keep", type=int, metavar="N", help="delete all but the newest N in its folder")

    def handle(self, *, file: Path | None, with_keys: bool, keep: int | None, **_: Any) -> None:
        if keep is not None and keep < 1:
            raise CommandError("--keep takes a number from 1 on.")
        file = (file or name_backup(timezone.localtime())).absolute()
        try:
            manifest = back_up(file, with_keys=with_keys)
        except BackupFailed as failed:
            raise CommandError(str(failed)) from failed
        made_at = datetime.fromisoformat(manifest.made_at)
        self.stdout.write(f"{file}: {file.stat().st_size >> 10:,} KB, {sum(manifest.rows.values()):,} rows, {made_at}")
        if missing := [name for name in KEYS if name not in manifest.digests]:
            if there := [name for name in missing if (settings.HOME / name).exists()]:
                self.stdout.write(
                    f"Without {' and '.join(there)}: keep a copy elsewhere. Without encryption_keys, the keys of"
                    " language models and the secrets of webhooks have to be entered again."
                )
            if others := [name for name in missing if name not in there]:
                self.stdout.write(f"The home has no {' and '.join(others)}: not made yet, or in the environment.")
        for old in delete_old(file.parent, keep) if keep is not None else ():
            self.stdout.write(f"Deleted: {old}")
