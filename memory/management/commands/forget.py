"""``manage.py forget``: forgets what was said, selected by agent, person, conversation, time or words."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from memory.management.arguments import moment
from memory.memories.forgetting import ForgetScope, forget

EXAMPLE_MAX = 100  # characters
UNTOUCHED = "Backups are untouched. Run this again in a minute to catch messages still in the queue."
FACTS = f"Facts and the sentences behind them are untouched (gutask forget, {settings.MANAGE} redact). "


class Command(BaseCommand):
    help = (
        "Forgets what users and models said, for good: the episodes for which all that you name holds, and the memories"
        " that were made of nothing else, or have the words themselves; of a whole agent or person also the facts that"
        " nobody else has stated, and their sentences. Clients that resend it do not bring it back."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--agent", default="", help="what this agent was told and said, as zero or zero@10.0.0.7")
        parser.add_argument("--person", default="", help="what this person behind an agent said and was told")
        parser.add_argument("--conversation", default="", metavar="DIGEST", help="as /why names it")
        parser.add_argument("--since", type=moment, metavar="TIME", help="first seen from then on, as 2026-11-30T18:00")
        parser.add_argument("--until", type=moment, metavar="TIME", help="first seen before then")
        parser.add_argument("--words", default="", help="what has all these words, in any order, or just this text")
        parser.add_argument("--dry-run", action="store_true", dest="is_trial", help="only say what would go")

    def handle(self, *, is_trial: bool, **given: Any) -> None:
        try:
            selection = ForgetScope(**{name: value for name, value in given.items() if name in ForgetScope.__slots__})
        except ValueError as error:
            raise CommandError(f"{error}: see {settings.MANAGE} forget --help") from None
        found = forget(selection, is_trial=is_trial)
        for part in found.parts if is_trial else ():
            stays = "stays" if part.rows == 1 else "stay"
            self.stdout.write(f"{part} {stays}: {part.stays}" if part.stays else str(part))
            for text in part.texts:
                self.stdout.write(f"  {' '.join(text.split())[:EXAMPLE_MAX]}")
        if is_trial:
            self.stdout.write(f"Would forget {found}; nothing was changed.")
        else:
            self.stdout.write(f"Deleted {found}.")
            self.stdout.write(f"{'' if selection.is_all_of_speaker else FACTS}{UNTOUCHED}")
