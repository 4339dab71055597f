"""``manage.py rotate_keys``: encrypts the stored keys again with the newest key."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memory.access import key_encryption


class Command(BaseCommand):
    help = (
        "Encrypts all stored keys of language models and secrets of webhooks with the newest key: the first of"
        " FESTINGER_ENCRYPTION_KEY, or, without that, a new one in the home."
    )

    def handle(self, **_: Any) -> None:
        try:
            count, lost = key_encryption.rotate()
        except key_encryption.KeyMistake as mistake:
            raise CommandError(str(mistake)) from None
        self.stdout.write(f"{count} encrypted with the newest key.")
        if lost:
            names = ", ".join(f"{row._meta.verbose_name} {row.pk} ({row})" for row in lost)
            raise CommandError(f"These could not be decrypted; enter their keys again: {names}.")
