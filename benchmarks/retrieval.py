"""Measures which of what was said is found again on request, among ten results: in long conversations that a seed
makes, and in chats of weeks that were written by hand.

``python -m benchmarks.retrieval TALKS`` measures it in a process of its own, in the database of DATABASE_URL; prints
JSON.
"""

import hashlib
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import orjson

from benchmarks.database import fresh, run_apart, set_up_django
from benchmarks.figures import Figures
from benchmarks.plan import Plan
from benchmarks.talks import Talk, make_talk, read_talks

FIRST: Final = 10  # of what is found
HOUR_S: Final = 3_600
MINUTE_S: Final = 60.0
TITLE: Final = "what was said in {talks} long conversations and in chats of weeks, found on request: shares in percent"
AIM: Final = "all >= 80, multi-hop >= 70; of what nobody said, beside <= 5"


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    words = ["-m", "benchmarks.retrieval", str(plan.talks)]
    rows = orjson.loads(run_apart(home, fresh(home), words).splitlines()[-1])
    yield Figures("retrieval", TITLE.format(talks=plan.talks), rows, dict.fromkeys(rows, AIM))


def main() -> None:
    set_up_django()
    talks = [*(make_talk(seed) for seed in range(1, int(sys.argv[1]) + 1)), *read_talks()]
    print(orjson.dumps(evaluate(talks, store(talks))).decode())


def scope_of(number: int) -> Any:
    from memory.memories.scope import Scope, Speaker

    return Scope(Speaker(f"agent-{number}"))


def store(talks: Sequence[Talk]) -> list[list[int]]:
    """Store them as the proxy does, the last message said now; return the ids of each talk's lines."""
    from django.db import connection

    from memory.search.vectors import queue
    from resolution.memories.reading import read_due

    ids = []
    with connection.cursor() as cursor:
        for number, talk in enumerate(talks):
            start = time.time() - len(talk.lines) * HOUR_S
            own = []
            for at, line in enumerate(talk.lines):
                cursor.execute(
                    "INSERT INTO episode (digest, conversation, agent, role, lexemes, text, said_at) VALUES"
                    " (%s, %s, %s, %s, setweight(to_tsvector('english', %s), %s), %s, to_timestamp(%s)) RETURNING id",
                    (hashlib.sha256(f"{number} {at}".encode()).digest(),
                     hashlib.sha256(str(line.conversation).encode()).digest()[:16],
                     scope_of(number).speaker.agent, line.role, line.text, "A" if line.role == "user" else "C",
                     line.text, start + at * HOUR_S),
                )  # fmt: skip
                own.append(cursor.fetchone()[0])
            ids.append(own)
        cursor.execute("ANALYZE")
    read_due(seconds=MINUTE_S)
    while queue.embed_due():
        pass
    return ids


def evaluate(talks: Sequence[Talk], ids: Sequence[Sequence[int]]) -> dict[str, dict[str, float]]:
    from memory.search.service import search

    shares: defaultdict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for number, (talk, own) in enumerate(zip(talks, ids, strict=True)):
        where: defaultdict[str, set[int]] = defaultdict(set)
        for line, key in zip(talk.lines, own, strict=True):
            for fact in line.facts:
                where[fact].add(key)
        for asked in talk.asked:
            evidence = set().union(*(where[fact] for fact in asked.evidence))
            outdated = set().union(*(where[fact] for fact in asked.older))
            found = [each.id for each in search(scope_of(number), asked.text, types="episodes", limit=FIRST)]
            row = shares[f"{'held-out' if asked.is_held_out else 'seen'} {talk.topics}"]
            row["all"].append(not evidence.isdisjoint(found))
            if len(asked.evidence) > 1:
                row["multi-hop"].append(not evidence.isdisjoint(found))
            if asked.older:
                values = [id for id in found if id in evidence | outdated]
                row["newest"].append(bool(values) and values[0] in evidence)
        for prompt, is_held_out in talk.beside:
            row = shares[f"{'held-out' if is_held_out else 'seen'} {talk.topics}"]
            row["beside"].append(bool(find_for_prompt(number, prompt)))
    return {name: {column: 100 * sum(hits) / len(hits) for column, hits in row.items()} for name, row in shares.items()}


def find_for_prompt(number: int, prompt: str) -> Sequence[Any]:
    from memory.search.ranking import choose_for_prompt
    from memory.search.service import open_cursor, prepare

    with open_cursor() as cursor:
        index, asked, _ = prepare(cursor, scope_of(number), prompt)
    return choose_for_prompt(index, asked).lines


if __name__ == "__main__":
    main()
