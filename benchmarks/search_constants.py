"""Measures what each constant of the search is worth, on the weeks of ``benchmarks/weeks``.

``python -m benchmarks.search_constants`` stores the weeks once, each for a speaker of its own and all for one, and
evaluates all requests with one constant changed at a time.
"""

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from benchmarks import weeks
from benchmarks.database import fresh, prepared_home
from benchmarks.weeks import Given, Request, Score, Week, rows_of
from festinger_site import home as homes
from festinger_site.launcher import scratch_instance

VARIANTS: Final[dict[str, dict[str, Any]]] = {
    "as it is": {},
    "floor 1.1": {"LEAST_FACTOR": 1.1},
    "floor 1.2": {"LEAST_FACTOR": 1.2},
    "floor 1.5": {"LEAST_FACTOR": 1.5},
    "companions from the floor on": {"WEAK": 1.0},
    "companions 0.6": {"WEAK": 0.6},
    "words count nothing": {"SHARE_WEIGHT": 0.0},
    "words count 0.4": {"SHARE_WEIGHT": 0.4},
    "four lines": {"LINES_MAX": 4},
    "eight lines": {"LINES_MAX": 8},
}


@dataclass(slots=True)
class Asked:
    """A request with the rows that the statement returned for it."""

    request: Request
    rows: list[Any]


def main() -> None:
    if "DATABASE_URL" in os.environ:
        evaluate(held_out="--held-out" in sys.argv)
        return
    with prepared_home() as home:
        environment = scratch_instance.environment(home, port=1, ollama="http://127.0.0.1:1")
        environment |= {"DATABASE_URL": fresh(home), "DJANGO_SETTINGS_MODULE": "festinger_site.settings"}
        command = [sys.executable, "-m", "benchmarks.search_constants", *sys.argv[1:]]
        sys.exit(subprocess.run(command, cwd=homes.PROJECT, env=environment, check=False).returncode)


def evaluate(*, held_out: bool) -> None:
    import django

    django.setup()
    from memory.models import Config

    Config.objects.update_or_create(key="embedder", defaults={"value": "builtin"})
    read = weeks.read_weeks(held_out=held_out)
    stores = {week.name: [week] for week in read} | {"all": read}
    for name, some in stores.items():
        store(name, some)
    embed()
    asked = {name: [ask(name, request) for week in some for request in week.requests] for name, some in stores.items()}
    for variant, constants in VARIANTS.items():
        scores = {"a store a week": Score(), "one store": Score()}
        for name, requests in asked.items():
            score = scores["one store" if name == "all" else "a store a week"]
            score.given += (Given(each.request, give(each, constants)) for each in requests)
        for kind, row in rows_of(scores).items():
            print(f"{variant:30} {kind:16} " + " ".join(f"{key} {value:.0f}" for key, value in row.items()), flush=True)


def store(speaker: str, some: Sequence[Week]) -> None:
    from django.db import connection

    from memory.learning.heard import HeardMessage, compose_row
    from memory.learning.message_table import INSERT
    from memory.semantic.domain.scope import Scope, Speaker

    rows = []
    for week in some:
        for number, chat in enumerate(week.chats):
            before = ""
            for place, message in enumerate(chat.messages):
                opening = hashlib.sha256(f"{speaker} {week.name} {number}".encode()).digest()[:16]
                key = opening + hashlib.sha256(str(place).encode()).digest()[:16]
                at = chat.at.timestamp() + 60 * place
                scope = Scope(Speaker(speaker))
                rows.append(compose_row(HeardMessage(key, speaker, scope, message.role, message.text, at, before)))
                before = message.text if message.role == "assistant" else ""
    with connection.cursor() as cursor:
        cursor.execute(INSERT, [orjson.dumps(rows).decode()])


def embed() -> None:
    from memory.semantic.vectors import queue
    from resolution.memories.reading import due, read_due

    while due().exists():
        read_due(seconds=60.0)
    while queue.embed_due():
        pass


def ask(speaker: str, request: Request) -> Asked:
    from django.db import connection

    from memory.search.request import SearchRequest
    from memory.search.statement import CURRENT_EMBEDDER, VectorSpace, compose
    from memory.semantic.domain.scope import Scope, Speaker
    from memory.semantic.vectors import builtin

    asked = SearchRequest(Scope(Speaker(speaker)), request.text, is_unasked=True)
    with connection.cursor() as cursor:
        cursor.execute(CURRENT_EMBEDDER)
        space = VectorSpace.of(cursor.fetchone())
        cursor.execute(*compose(asked, space, builtin.embed_query(asked.text)))
        return Asked(request, cursor.fetchall())


def give(asked: Asked, constants: dict[str, Any]) -> str:
    """The lines that the prompt would get."""
    from memory.cache.state import Cache
    from memory.domain.recall.notes import render_note
    from memory.domain.recall.rendering import NOTHING
    from memory.recall.notes import choose_notes
    from memory.search import ranking
    from memory.semantic.domain.scope import Scope, Speaker
    from memory.semantic.vectors.calibration import BUILTIN_NOISE
    from proxy.enrichment.prompt_search import show

    before = {name: getattr(ranking, name) for name in constants}
    try:
        for name, value in constants.items():
            setattr(ranking, name, value)
        found = ranking.choose_unasked(ranking.read_rows(asked.rows), BUILTIN_NOISE, asked.request.text, time.time())
        cache = Cache()
        notes, _ = choose_notes(cache, show(found, [asked.request.text], Scope(Speaker("x"))), NOTHING, (), 1_500)
        return "\n".join(map(render_note, notes))
    finally:
        for name, value in before.items():
            setattr(ranking, name, value)


if __name__ == "__main__":
    main()
