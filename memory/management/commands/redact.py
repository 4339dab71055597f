"""``manage.py redact``: removes a secret from everything that is stored."""

import getpass
import sys
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from memory.cache.sync import CHANNEL
from memory.english.phrases import format_count
from memory.redaction import Redaction, redact_episodes, redact_journals
from memory.secrets.known import KnownSecret

UNTOUCHED = (
    "Not touched: backups, Postgres' write-ahead log and the space of old rows until it is vacuumed, log files, and"
    " uploads that wait to be imported. What a running server has read and not yet written may still come: run this"
    " again in a minute. And change the secret itself: whoever has seen it has it."
)


class Command(BaseCommand):
    help = (
        "Takes a text, such as a password, out of every table and journal, the history of facts and decisions included,"
        " and leaves a mark in its place. Says where it was and how often."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "text", nargs="?", help="the secret; without it, it is asked for, so that no shell's history has it"
        )
        parser.add_argument("--dry-run", action="store_true", dest="is_trial", help="only say where it is")

    def handle(self, *, text: str | None, is_trial: bool, **_: Any) -> None:
        if text is None:
            text = getpass.getpass("Secret: ") if sys.stdin.isatty() else sys.stdin.readline()
        try:
            secret = KnownSecret.of(text)
        except ValueError as error:
            raise CommandError(f"This cannot be redacted: {error}.") from None
        # The journals first: what is replayed meanwhile is then in the tables.
        journals = redact_journals(settings.JOURNAL, secret, is_trial=is_trial)
        tables = Redaction(secret, is_trial)
        if not is_trial:
            tables.found += redact_episodes(secret)
        tables.redact_tables()
        for place, count in sorted(tables.found.items()):
            kept = f", {tables.left[place]:,} of them as they were" if tables.left[place] else ""
            self.stdout.write(f"{place}: {count:,}{kept}")
        if journals.lines:
            self.stdout.write(f"journals: {journals.lines:,}")
        count = tables.found.total() + journals.lines
        if is_trial:
            self.stdout.write(f"Found {format_count(count, 'time')}; nothing was changed.")
            return
        # What they show and recall is in their memory: words, facts, blocks of conversations.
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_notify(%s, 'reload:*')", [CHANNEL])
        self.stdout.write(f"Found {format_count(count, 'time')}. All processes read everything anew.")
        self.stdout.write(UNTOUCHED)
        if journals.in_use:
            raise CommandError(
                f"{format_count(journals.in_use, 'journal')} could not be looked at, because a process writes or"
                " replays it: run this again when Postgres has taken what waits."
            )
