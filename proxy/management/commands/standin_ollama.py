"""``manage.py standin_ollama``: runs an Ollama without a model, to try things on."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from standin import server


class Command(BaseCommand):
    help = server.DESCRIPTION
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        server.add_arguments(parser)

    def handle(self, *, host: str, port: int, echo: bool, **options: Any) -> None:
        try:
            listener = server.listen(host, port)
        except OSError as error:
            raise CommandError(f"cannot listen on {host} port {port}: {error.strerror}") from error
        self.stdout.write(f"stand-in Ollama on {server.url_of(listener)}")
        server.serve(listener, echoes=echo)
