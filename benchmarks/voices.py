"""Replays recorded requests of applications, of which it is known what a person typed, and tells what would be kept or
learned of anything else.

``python -m benchmarks.voices FOLDER`` of JSONL files with ``path``, ``body``, ``human`` (what a person typed, word for
word) and ``helper`` (a prompt that a program sends for itself). Nothing is stored.
"""

import argparse
import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import orjson

from benchmarks.database import set_up_django

SHOWN: Final = 120  # characters of what is taken for a person's
# All that a process knows of words before anybody has taught it anything.
KNOWN: Final = ("repo", "service", "server", "type", "runs-on")


@dataclass(slots=True)
class Findings:
    """Texts of one application, each once. ``typed``: what a person typed; ``kept``: of that, what became an episode.
    ``strange``: what was kept of a user, or stated in a user's voice, that no person typed."""

    typed: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)
    strange: Counter[str] = field(default_factory=Counter)
    requests: int = 0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.voices", description=__doc__)
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    set_up_django()
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
    from memory.channels import Channel
    from memory.types import SoasRow
    from proxy.access.caller import Caller
    from proxy.config.schema import Loops
    from proxy.formats import FORMATS
    from proxy.prompts.dry_run import run_dry
    from proxy.speakers.relayed import RelayedAnswers

    cache = Cache(loaded_at=1.0)
    for number, word in enumerate(KNOWN, 1):
        cache.put_soas(word, SoasRow(number, is_common=True))
    caller = Caller("replayed", None, is_local=True)
    found = Findings(typed={human.strip() for request in requests for human in request["human"]} - {""})
    typed = sorted(found.typed)
    relayed = RelayedAnswers()
    for request in requests:  # what the model answered, as far as later requests have it
        prompt = FORMATS[request["path"]].read(request["body"]) if request["path"] in FORMATS else None
        for part in prompt.parts if prompt is not None else ():
            if part.role == "assistant":
                relayed.note_written(part.text)
                relayed.note_written(write_calls(part.calls))
    for request in requests:
        found.requests += 1
        run = await run_dry(
            cache, Loops, None,
            path=request["path"], body=orjson.dumps(request["body"]), caller=caller,
            relayed=relayed,
        )  # fmt: skip
        for lesson in run.lessons:
            episode = lesson.message.compose_episode() if lesson.message.role == "user" else None
            own = [episode.own.strip() or episode.text] if episode is not None else []
            stated = [one.evidence for one in lesson.statements if one.channel == Channel.USER]
            found.strange.update(what for what in (*own, *stated) if what and not is_typed(what, typed))
            found.kept.update(human for human in typed for what in own if is_typed(what, [human]))
    return found


def write_calls(calls: Sequence[Any]) -> str:
    """As they pass in an answer."""
    return "".join(
        call.arguments if isinstance(call.arguments, str) else orjson.dumps(call.arguments).decode() for call in calls
    )


def is_typed(text: str, typed: Sequence[str]) -> bool:
    """True if a person typed it, white space, quotation marks and what is left out aside."""
    pieces = [" ".join(piece.split()).strip("\"'") for piece in text.split("[…]")]
    whole = [" ".join(human.split()) for human in typed]
    return any(pieces) and all(any(piece in human for human in whole) for piece in pieces)


if __name__ == "__main__":
    main()
