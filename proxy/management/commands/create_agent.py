"""``manage.py create_agent NAME``: creates an agent and prints its token."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memory.access import agent_tokens
from memory.access.switches import SWITCHES, Switch
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

        parser.add_argument(
            "--can-teach",
            choices=Agent.CanTeach.values,
            default=Agent.CanTeach.AUTO,
            help="whether it is asked about unknown names; auto: if it taught, or has tools (default: %(default)s)",
        )

    def handle(self, *, name: str, scope: str, off: list[Switch], can_teach: str, **_: Any) -> None:
        try:
            agent, token = agent_tokens.create(name, scope, off, can_teach)
        except agent_tokens.AgentMistake as mistake:
            raise CommandError(str(mistake)) from None
        self.stderr.write(f"The token of {agent} ({scope}), shown only once:")
        self.stdout.write(token)
