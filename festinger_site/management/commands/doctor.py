"""``festinger doctor``: finds out what is wrong with this installation."""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any, Final

from django.core.management.base import BaseCommand

from festinger_site.doctor import examine
from proxy.health.checks import NOTE, OK, PROBLEM, WARNING, WORKS, summarise

MARKS: Final = {OK: "ok", NOTE: "-", WARNING: "WARNING", PROBLEM: "PROBLEM"}


class Command(BaseCommand):
    help = "Looks for what is wrong with this installation, and says what mends it. Status 1: there is a problem."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", dest="as_json", help="a list of objects")

    def handle(self, *, as_json: bool, **_: Any) -> None:
        results = examine()
        if as_json:
            self.stdout.write(json.dumps([asdict(result) for result in results], indent=1))
        else:
            for result in results:
                self.stdout.write(f"{MARKS[result.level]:<8} {result.part:<12} {result.message}")
                if result.hint:
                    self.stdout.write(f"{'':<8} {'':<12} -> {result.hint}")
            summary = summarise(results)
            self.stdout.write("No check failed" if summary == WORKS else summary)
        if any(result.level == PROBLEM for result in results):
            sys.exit(1)
