"""``manage.py create_agent NAME``: a token for an agent, shown once."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import IntegrityError, transaction

from memory.models import Agent
from proxy.identity import NAME_MAX, new_token, token_hash


class Command(BaseCommand):
    help = "Makes an agent and prints its token, once; only a hash of it is kept."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="what the agent is called in conflicts and histories")
        parser.add_argument(
            "--scope", choices=Agent.Scope.values, default=Agent.Scope.AGENT, help="(default: %(default)s)"
        )

    def handle(self, *, name: str, scope: str, **_: Any) -> None:
        name = name.strip()
        if not name or len(name) > NAME_MAX or not name.isprintable():
            raise CommandError(f"a name has 1 to {NAME_MAX} printable characters")
        token = new_token()
        try:
            with transaction.atomic():
                Agent.objects.create(name=name, token_hash=token_hash(token), scope=scope)
        except IntegrityError:
            raise CommandError(f"there is an agent {name} already") from None
        self.stderr.write(f"The token of {name} ({scope}), shown this once:")
        self.stdout.write(token)
