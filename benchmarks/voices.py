"""Whose words become statements and episodes: replays recorded requests of applications, of which it is known what a
person typed, and tells what would be kept or learned of anything else.

``python -m benchmarks.voices FOLDER`` of JSONL files with ``path``, ``body``, ``human`` (what a person typed, word for
word) and ``helper`` (a prompt that a program sends for itself). Nothing is stored.
"""

import argparse
import asyncio
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

SHOWN: Final = 120  # characters of what is taken for a person's
# All that a process knows of words before anybody has taught it anything.
KNOWN: Final = ("repo", "service", "server", "type", "runs-on")


@dataclass(slots=True)
class Findings:
    """Of one application, each text once. ``typed``: what a person typed; ``kept``: of that, what became an episode.
    ``strange``: what was kept of a user, or stated in a user's voice, that no person typed."""

    typed: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)
    strange: Counter[str] = field(default_factory=Counter)
    requests: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.voices", description=__doc__)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "festinger_site.settings")
    import django

    django.setup()
    totals = Findings()
    for file in sorted(arguments.folder.glob("*.jsonl")):
        found = asyncio.run(replay([orjson.loads(line) for line in file.read_bytes().splitlines()]))
        print(f"{file.stem}: {describe(found)}")
        for text, times in found.strange.most_common():
            print(f"    {times} x {text[:SHOWN]!r}")
        totals.requests += found.requests
        totals.strange += found.strange
        totals.typed |= found.typed
        totals.kept |= found.kept
    print(f"all: {describe(totals)}")


def describe(found: Findings) -> str:
    kept = f"{len(found.kept)} of {len(found.typed)} messages of people kept"
    return f"{found.requests} requests, {kept}, {len(found.strange)} texts of others taken for a person's"


async def replay(requests: Sequence[dict[str, Any]]) -> Findings:
    from memory.cache.state import Cache
    from memory.domain.types import SoasRow
    from proxy.auth import Caller
    from proxy.domain.config_schema import Loops
    from proxy.enrichment.dry_run import run_dry
    from proxy.enrichment.turns import Turns
    from proxy.upstream.client import Upstream
    from proxy.upstream.modelfiles import Modelfiles

    cache = Cache(loaded_at=1.0)
    for number, word in enumerate(KNOWN, 1):
        cache.put_soas(word, SoasRow(number, is_common=True))
    caller, modelfiles = Caller("replayed", None, is_local=True), Modelfiles(Upstream("http://127.0.0.1:9", 1.0))
    found = Findings(typed={human.strip() for request in requests for human in request["human"]} - {""})
    typed = sorted(found.typed)
    for request in requests:
        found.requests += 1
        run = await run_dry(
            cache, modelfiles, Loops, Turns(), None,
            path=request["path"], body=orjson.dumps(request["body"]), caller=caller,
        )  # fmt: skip
        for lesson in run.lessons:
            for what in find_taken(lesson):
                if not is_typed(what, typed):
                    found.strange[what] += 1
            found.kept.update(human for human in typed if is_kept(lesson, human))
    return found


def find_taken(lesson: Any) -> Iterator[str]:
    """What is kept of the message as a user's, and the sentences that state something in a user's voice."""
    from memory.domain.channels import Channel
    from memory.learning.heard import compose_heard

    episode = compose_heard(lesson.heard)
    if episode is not None and lesson.heard.role == "user":
        yield episode.own.strip()
    for statement in lesson.statements:
        if statement.channel == Channel.USER:
            yield statement.evidence


def is_typed(text: str, typed: Sequence[str]) -> bool:
    """True if a person typed it, white space and what is left out aside."""
    pieces = [" ".join(piece.split()) for piece in text.split("[…]")]
    whole = [" ".join(human.split()) for human in typed]
    return all(any(piece in human for human in whole) for piece in pieces if piece)


def is_kept(lesson: Any, human: str) -> bool:
    from memory.learning.heard import compose_heard

    episode = compose_heard(lesson.heard) if lesson.heard.role == "user" else None
    return episode is not None and is_typed(episode.own, [human])


if __name__ == "__main__":
    main()
