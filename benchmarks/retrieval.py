"""Measures which of what was said is found again: by who asks, by itself, the newest first, and nothing beside the
point.

``python -m benchmarks.retrieval`` measures it in a process of its own, in the database of DATABASE_URL; prints JSON.
"""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.client import BenchmarkBroken
from benchmarks.database import fresh
from benchmarks.figures import Figures
from benchmarks.plan import Plan
from benchmarks.retrieval_data import Asked, Line, Talk, make_talk
from benchmarks.retrieval_weeks import read_weeks
from festinger_site import home as homes
from festinger_site.dev import scratch_instance

FIRST = 10  # of what is found
MINUTE_S = 60.0
TITLE = "what was said in {talks} long conversations and in chats of weeks, found again: shares in percent"
AIMS = {
    "seen topics": "all >= 80, multi-hop >= 70, beside <= 5, newest >= 95",
    "held-out topics": "the same",
    "seen weeks": "all >= 80, beside <= 5, newest >= 95",
    "held-out weeks": "the same",
    "seen topics, words only": "beside <= 5",
}


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    rows: dict[str, dict[str, float]] = {}
    for words in ("", ", words only"):
        command = [sys.executable, "-m", "benchmarks.retrieval", str(plan.talks), "none" if words else "builtin"]
        environment = scratch_instance.environment(home, port=1, ollama="http://127.0.0.1:1")
        done = subprocess.run(
            command,
            cwd=homes.PROJECT,
            env=environment | {"DATABASE_URL": fresh(home)},
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise BenchmarkBroken(done.stderr.decode(errors="replace")[-2_000:])
        rows |= {f"{name}{words}": row for name, row in json.loads(done.stdout).items()}
    yield Figures("retrieval", TITLE.format(talks=plan.talks), rows, {key: AIMS[key] for key in AIMS if key in rows})


def main() -> None:
    """In a process of its own, which has Django."""
    import django

    django.setup()
    count, embedder = int(sys.argv[1]), sys.argv[2]
    talks = [*(make_talk(seed) for seed in range(1, count + 1)), *read_weeks()]
    ids = store(talks, embedder)
    print(json.dumps(evaluate(talks, ids)))


# --- what was said ---


def scope_of(number: int) -> Any:
    from memory.memories.scope import Scope, Speaker

    return Scope(Speaker(f"agent-{number}"))


def store(talks: Sequence[Talk], embedder: str) -> list[list[int]]:
    """As the proxy stores it; the ids of each talk's lines. The last was said now."""
    from django.db import connection

    from memory.models import Config
    from memory.search.vectors import queue
    from resolution.memories.reading import read_due

    Config.objects.filter(key="embedder").update(value=embedder)
    ids = []
    with connection.cursor() as cursor:
        for number, talk in enumerate(talks):
            start = time.time() - len(talk.lines) * 3_600
            rows = [
                (hashlib.sha256(f"{number} {at}".encode()).digest(),
                 hashlib.sha256(str(line.conversation).encode()).digest()[:16],
                 scope_of(number).speaker.agent, line.role, line.text, "A" if line.role == "user" else "C",
                 line.text, start + at * 3_600)
                for at, line in enumerate([*talk.lines, *tell_of_oneself(talk)])
            ]  # fmt: skip
            own = []
            for row in rows:
                cursor.execute(
                    "INSERT INTO episode (digest, conversation, agent, role, lexemes, text, said_at) VALUES"
                    " (%s, %s, %s, %s, setweight(to_tsvector('english', %s), %s), %s, to_timestamp(%s)) RETURNING id",
                    row,
                )
                own.append(cursor.fetchone()[0])
            ids.append(own[: len(talk.lines)])
        cursor.execute("ANALYZE")
    read_due(seconds=MINUTE_S)
    while queue.embed_due():
        pass
    return ids


def tell_of_oneself(talk: Talk) -> Iterator[Line]:
    """Each in a conversation of its own. Who tells one of a slot tells another later, which is to be found, too."""
    for at, (told, _, _) in enumerate(talk.oneself):
        yield Line("user", told, -at)


# --- what is found ---


def evaluate(talks: Sequence[Talk], ids: Sequence[Sequence[int]]) -> dict[str, dict[str, float]]:
    shares: defaultdict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for number, (talk, own) in enumerate(zip(talks, ids, strict=True)):
        where: defaultdict[str, set[int]] = defaultdict(set)
        for line, key in zip(talk.lines, own, strict=True):
            for fact in line.facts:
                where[fact].add(key)
        for asked in talk.asked:
            evidence = set().union(*(where[fact] for fact in asked.evidence))
            row = shares[name_row(talk, asked.is_held_out)]
            judge_asked(row, number, asked, evidence, set().union(*(where[fact] for fact in asked.older)))
            found = find_unasked(number, asked.text)
            row["by itself"].append(not evidence.isdisjoint(list_sources(found)))
        for at, (_, prompt, word) in enumerate(talk.oneself):
            row = shares[name_row(talk, at % 2 == 1)]
            row["oneself"].append(any(word in each.text for each in find_unasked(number, prompt)))
        for prompt, is_held_out in talk.beside:
            shares[name_row(talk, is_held_out)]["beside"].append(bool(find_unasked(number, prompt)))
    return {name: {column: 100 * sum(hits) / len(hits) for column, hits in row.items()} for name, row in shares.items()}


def name_row(talk: Talk, is_held_out: bool) -> str:
    return f"{'held-out' if is_held_out else 'seen'} {talk.topics}"


def judge_asked(row: dict[str, list[bool]], number: int, asked: Asked, evidence: set[int], outdated: set[int]) -> None:
    from memory.search.service import search

    found = search(scope_of(number), asked.text, types="episodes", limit=FIRST)
    is_there = any(each.id in evidence for each in found)
    row["all"].append(is_there)
    if len(asked.evidence) > 1:
        row["multi-hop"].append(is_there)
    if asked.older:
        values = [each.id for each in found if each.id in evidence | outdated]
        row["newest"].append(bool(values) and values[0] in evidence)


def find_unasked(number: int, prompt: str) -> Sequence[Any]:
    from memory.search.ranking import choose_for_prompt
    from memory.search.service import open_cursor, prepare

    with open_cursor() as cursor:
        index, asked, _ = prepare(cursor, scope_of(number), prompt)
    return choose_for_prompt(index, asked).lines


def list_sources(found: Sequence[Any]) -> set[int]:
    """The messages that were found, and those that the memories come from."""
    from memory.models import MemoryLineage

    memories = [each.id for each in found if each.kind == "memory"]
    rows = MemoryLineage.objects.filter(memory__in=memories, kind=MemoryLineage.Kind.EPISODE)
    return {*rows.values_list("row", flat=True), *(each.id for each in found if each.kind == "episode")}


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.unbounded")
    main()
