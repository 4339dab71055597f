"""``manage.py explain``: shows what a text or a whole request would do. Nothing is stored."""

import asyncio
import json
import sys
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from memory.cache.state import Cache
from memory.english.statements import CueMatch, describe_match, find_cues
from memory.english.tokenizer import tokenise
from memory.learning.reader import unwrap_message
from memory.types import NAMES, Message
from proxy.access.caller import impersonate
from proxy.config.file import RulesMistakes
from proxy.explanation import KINDS, Explanation, Untriable, explain, read_body, read_graph, run_alone
from proxy.formats import FORMATS
from proxy.prompts.dry_run import TEXT_PATH, write_prompt

ROLES = ("user", "assistant", "system", "tool")
STANDARD_INPUT = "-"


class Command(BaseCommand):
    help = (
        "Shows what a text or a whole request would do: what is read in it, recalled, asked and learned, and why."
        " Nothing is stored. Reads English only."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("text", nargs="?", help="the text; - or none reads standard input")
        parser.add_argument("--request", metavar="FILE", help="the body of a request, as JSON; - reads standard input")
        parser.add_argument("--path", choices=tuple(FORMATS), help="where the request goes (default: by its fields)")
        parser.add_argument("--role", choices=ROLES, default="user", help="who says the text (default: %(default)s)")
        parser.add_argument("--agent", default="explain", help="the agent that sends it (default: %(default)s)")
        parser.add_argument("--person", default="", help="the person for whom the agent speaks")
        parser.add_argument("--project", metavar="SLUG", help="the project (default: the agent's own)")
        parser.add_argument(
            "--jsonl",
            action="store_true",
            help='one JSON object a line in ({"text", "role"}) and out ({"tokens", "cues"})',
        )

    def handle(
        self,
        *,
        text: str | None,
        request: str | None,
        path: str | None,
        role: str,
        agent: str,
        person: str,
        project: str | None,
        jsonl: bool,
        **_: Any,
    ) -> None:
        if request is not None and (text is not None or jsonl):
            raise CommandError("--request takes the place of a text and of --jsonl")
        source = request if request is not None else text
        if source is None and sys.stdin.isatty():
            raise CommandError("give a text, --request FILE, or - to read standard input")
        lines = text.splitlines() if text not in (None, STANDARD_INPUT) else None
        try:
            if request is not None:
                path, body = read_body(read_file(request), path or "")
            elif not jsonl:
                path, body = TEXT_PATH, write_prompt(sys.stdin.read() if lines is None else str(text), role)
        except Untriable as mistake:
            raise CommandError(str(mistake)) from mistake
        cache = asyncio.run(read_graph())
        if not cache.soas_by_token:
            raise CommandError(f"the vocabulary is empty: run {settings.MANAGE} bootstrap first")
        if jsonl:
            self.batch(cache, sys.stdin if lines is None else lines, role)
        else:
            assert path is not None
            caller = impersonate(cache, agent, person, None if project is None else find_project(cache, project))
            try:
                run = asyncio.run(run_alone(cache, path, body, caller))
            except RulesMistakes as mistakes:
                raise CommandError(mistakes.as_lines(settings.CONFIG_FILE)) from None
            self.show(explain(cache, run, path))

    def batch(self, cache: Cache, lines: Iterable[str], role: str) -> None:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            said = parse(line, number, role)
            tokens, cues = tokens_and_cues(cache, said)
            self.stdout.write(
                json.dumps({"tokens": tokens, "cues": [describe_match(cue) for cue in cues]}, ensure_ascii=False)
            )

    def show(self, told: Explanation) -> None:
        tokens = (" ".join(token.text for token in tokenise(lesson.message.text)) for lesson in told.run.lessons)
        self.section("tokens", tokens)
        self.section("cues", (describe_cue(stated.match) for stated in told.stated))
        self.section("learned", (f"{stated.fact}: {stated.became}" for stated in told.stated))
        self.section("whose words", (f"{said}: {why}" for said, why in told.voices))
        self.section("not learned", (f"{sentence}: {why}" for sentence, why in told.untold))
        self.section("concepts", (f"{word}: {why}" for word, why in told.concepts))
        self.section("remembered", (f"{text}: {became}." for text, became in told.remembered or ()))
        self.section("found", (f"{note.line}: {', '.join(filter(None, note[2:]))}" for note in told.run.notes))
        self.section("block", list_block(told))

    def section(self, title: str, lines: Iterable[str]) -> None:
        self.stdout.write(self.style.MIGRATE_HEADING(title))
        for line in list(lines) or ["(none)"]:
            self.stdout.write(f"  {line}")


def read_file(name: str) -> str:
    if name == STANDARD_INPUT:
        return sys.stdin.read()
    try:
        return Path(name).read_text("utf-8", "replace")
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror}") from error


def find_project(cache: Cache, slug: str) -> int:
    """Raises CommandError."""
    project = cache.projects.get(slug.lower())
    if project is None:
        raise CommandError(f"there is no project {slug!r}")
    return project.id


def list_block(told: Explanation) -> Iterator[str]:
    if told.run.plan is None:
        yield f"(none: {told.path} forwards such a request as it is)"
    for what, why in told.run.restrictions.items():
        yield f"(no {what}: {why})"
    if told.run.step:
        yield f"(a loop: {told.run.step})"
    if told.run.lookup is not None:
        yield f"(the search: {told.run.lookup.outcome})"
    yield from told.run.block.splitlines()
    if told.place:
        yield f"({told.place})"


def describe_cue(cue: CueMatch) -> str:
    kind = f"{KINDS[cue.kind]}, " if KINDS[cue.kind] else ""
    relation = "ISA" if cue.is_isa else "ISPART"
    fact = f"{cue.subject} {relation} {cue.parent} [{cue.dimension}]"
    return (
        f"{f'{cue.subject} = {cue.parent}' if cue.dimension == NAMES else fact}"
        f"  {kind}confidence {cue.confidence:.2f}{', only believed' if cue.is_hedged else ''}"
        f", characters {cue.start}-{cue.end}"
    )


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
