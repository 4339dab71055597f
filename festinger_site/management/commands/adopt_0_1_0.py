"""``manage.py adopt_0_1_0``: takes over a database of version 0.1.0, once."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from festinger_site import adoption
from memory.db.locks import hold_preparation_lock


class Command(BaseCommand):
    help = "Lets this version go on with a database of version 0.1.0. Only the names of its migrations change."

    def handle(self, **_: Any) -> None:
        try:
            with hold_preparation_lock():
                was_unanswered = adoption.adopt()
        except adoption.NotAdoptable as refused:
            raise CommandError(str(refused)) from refused
        initial = ", ".join(f"{app} {name}" for app, name in sorted(adoption.INITIAL))
        self.stdout.write(
            f"Taken over: instead of the {len(adoption.OLD)} migrations of version 0.1.0, {initial} are recorded as"
            " applied. What is stored was not changed. Start Festinger as usual."
        )
        if was_unanswered:
            self.stdout.write(
                "Nobody has answered whether what is said may be kept: nothing is. To change that, set episodes to on."
            )
