"""``manage.py explain``: shows how Festinger reads a text. Nothing is stored."""

import asyncio
import json
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from memory.cache.loader import load_cache
from memory.cache.state import Cache
from memory.db.connections import open_connection
from memory.domain.cues.extractor import CueMatch, Kind, find_cues
from memory.domain.text.tokenizer import tokenise
from memory.domain.types import Message
from memory.ingest.reader import Reader, describe_match, unwrap_message
from memory.recall.mentions import Mentions
from memory.recall.recollect import recollect

# What a statement that does not merely state does.
KINDS = {
    Kind.STATES: "",
    Kind.RETRACTS: "is taken back, ",
    Kind.CHANGES: "is so from now on, ",
    Kind.CORRECTS: "corrects what was said, ",
}
ROLES = ("user", "assistant", "system", "tool")


class Command(BaseCommand):
    help = "Shows what a text would do: its tokens, its cues, its salient concepts and the block. Reads English only."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("text", nargs="?", help="the text; without it, standard input is read")
        parser.add_argument("--role", choices=ROLES, default="user", help="who says it (default: %(default)s)")
        parser.add_argument(
            "--jsonl",
            action="store_true",
            help='one JSON object a line in ({"text", "role"}) and out ({"tokens", "cues"})',
        )

    def handle(self, *, text: str | None, role: str, jsonl: bool, **_: Any) -> None:
        cache = asyncio.run(read_graph())
        if not cache.soas_by_token:
            raise CommandError("the vocabulary is empty: run manage.py bootstrap first")
        if jsonl:
            self.batch(cache, text.splitlines() if text is not None else sys.stdin, role)
        else:
            self.show(cache, sys.stdin.read() if text is None else text, role)

    def batch(self, cache: Cache, lines: Iterable[str], role: str) -> None:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            said = parse(line, number, role)
            tokens, cues = tokens_and_cues(cache, said)
            self.stdout.write(
                json.dumps({"tokens": tokens, "cues": [describe_match(cue) for cue in cues]}, ensure_ascii=False)
            )

    def show(self, cache: Cache, text: str, role: str) -> None:
        said = Message(role, text)
        tokens, cues = tokens_and_cues(cache, said)
        recollection = recollect(cache, Mentions.of([Reader(cache).read(said)]), time.time())
        self.section("tokens", [" ".join(tokens)] if tokens else [])
        self.section(
            "cues",
            [
                f"{cue.subject} {'ISA' if cue.is_isa else 'ISPART'} {cue.parent} [{cue.dimension}]"
                f"  {KINDS[cue.kind]}confidence {cue.confidence:.2f}{', only believed' if cue.is_hedged else ''}"
                f", characters {cue.start}-{cue.end}"
                for cue in cues
            ],
        )
        self.section("salient", [f"{word}: {why}" for word, why in sorted(recollection.reasons.items())])
        self.section("block", recollection.block.text.splitlines())

    def section(self, title: str, lines: list[str]) -> None:
        self.stdout.write(self.style.MIGRATE_HEADING(title))
        for line in lines or ["(none)"]:
            self.stdout.write(f"  {line}")


async def read_graph() -> Cache:
    cache = Cache()
    async with open_connection(settings.DATABASE_URL, "explain") as connection:
        await load_cache(cache, connection)
    return cache


def parse(line: str, number: int, role: str) -> Message:
    """Raises CommandError, which names the line."""
    try:
        entry = json.loads(line)
        text, said_by = entry["text"], entry.get("role") or role
    except (ValueError, TypeError, KeyError, AttributeError):
        raise CommandError(f'line {number}: takes a JSON object such as {{"text": "..."}}') from None
    if not isinstance(text, str) or said_by not in ROLES:
        raise CommandError(f"line {number}: text is a string, role one of {', '.join(ROLES)}")
    return Message(said_by, text)


def tokens_and_cues(cache: Cache, said: Message) -> tuple[list[str], list[CueMatch]]:
    said = unwrap_message(said)
    return [token.text for token in tokenise(said.text)], find_cues(said.text, said.role, vocabulary=cache)
