"""``manage.py check_config``: prints the values that result from config.yaml and the environment, or the file's
mistakes."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from proxy.config.file import VARIABLES, RulesMistakes, environment, read_file
from proxy.config.schema import list_ignored, values
from proxy.upstream.client import without_password


class Command(BaseCommand):
    help = "Prints every key of config.yaml with its value and where it comes from, or what is wrong with the file."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("path", nargs="?", type=Path, help=f"(default: {settings.CONFIG_FILE})")

    def handle(self, *, path: Path | None, **_: Any) -> None:
        file = (path or settings.CONFIG_FILE).absolute()
        if path is not None and not file.exists():
            raise CommandError(f"{file}: no such file")
        try:
            rules = read_file(file)
        except RulesMistakes as error:
            raise CommandError(error.as_lines(file)) from None
        self.stdout.write(f"{file}{' does not exist: all values are defaults' if not file.exists() else ''}")
        for ignored in list_ignored(rules):
            self.stdout.write(f"ignored: {ignored}")
        overrides, in_file = environment(), values(rules, only_set=True)
        for key, value in values(rules.with_values(overrides)).items():
            source = VARIABLES[key] if key in overrides else "file" if key in in_file else "default"
            self.stdout.write(f"{key:<36}{source:<26}{format_value(value)}")


def format_value(value: object) -> str:
    """Format a value as the file would have it; an address without its password."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(repr, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    return without_password(value) if isinstance(value, str) else str(value)
