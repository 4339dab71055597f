"""``manage.py create_agent NAME``: creates an agent and prints its token."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memory.access import agent_tokens
from memory.domain.switches import SWITCHES, Switch
from memory.models import Agent


class Command(BaseCommand):
    help = "Creates an agent and prints its token, once; only a hash of it is stored."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="what the agent is called in conflicts and histories")
        parser.add_argument(
            "--scope", choices=Agent.Scope.values, default=Agent.Scope.AGENT, help="(default: %(default)s)"
        )

        parser.add_argument(
            "--off", nargs="+", choices=SWITCHES, default=[], help="what is not to be done for its prompts"
        )

    def handle(self, *, name: str, scope: str, off: list[Switch], **_: Any) -> None:
        try:
            agent, token = agent_tokens.create(name, scope, off)
        except agent_tokens.AgentMistake as mistake:
            raise CommandError(str(mistake)) from None
        self.stderr.write(f"The token of {agent} ({scope}), shown only once:")
        self.stdout.write(token)
