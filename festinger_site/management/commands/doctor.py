"""``festinger doctor``: finds out what is wrong with this installation."""

import json
import sys
from argparse import ArgumentParser
from dataclasses import asdict
from typing import Any, Final

from django.core.management.base import BaseCommand

from festinger_site.doctor import examine
from proxy.health.status import ALL_WELL, BAD, GOOD, UNKNOWN, WARNING, summary

MARKS: Final = {GOOD: "ok", WARNING: "WARNING", BAD: "PROBLEM", UNKNOWN: "-"}


class Command(BaseCommand):
    help = "Looks for what is wrong with this installation, and says what mends it. Status 1: there is a problem."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", dest="as_json", help="a list of objects")

    def handle(self, *, as_json: bool, **_: Any) -> None:
        found = examine()
        if as_json:
            self.stdout.write(json.dumps([asdict(sign) for sign in found], indent=1))
        else:
            for sign in found:
                self.stdout.write(f"{MARKS[sign.state]:<8} {sign.part:<12} {sign.says}")
                if sign.needs_someone and sign.advice:
                    self.stdout.write(f"{'':<8} {'':<12} -> {sign.advice}")
            is_whole = all(sign.state != UNKNOWN for sign in found)
            told = summary(found)
            self.stdout.write(told if is_whole or told != ALL_WELL else "Nothing is wrong in what could be checked")
        if any(sign.state == BAD for sign in found):
            sys.exit(1)
