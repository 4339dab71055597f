"""The time that recalling takes on the way of a prompt, whatever is known about the concepts that it names."""

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from benchmarks.figures import Figures, Rows
from benchmarks.misuse import flood
from benchmarks.plan import Plan
from benchmarks.reading import microseconds
from memory.cache.state import Cache
from memory.learning.reader import Reader
from memory.recall.mentions import Mentions
from memory.recall.recollect import recollect
from memory.recall.speakers_graph import SpeakersGraph
from memory.types import Message

TITLE = "time to recall what is known about the concepts of a prompt"
FEW, MANY = 2, 10_000  # facts about one concept
PROMPTS = {
    "one concept": "Please restart kvasir.",
    f"three concepts, one with {FEW} facts": "Do dobby and kvasir need gnommoweb?",
    "no concept": "Please restart it.",
}
FLOODED = f"one concept with {MANY:,} facts"
CALLS = 50  # per round; their median is the round's figure


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    """Needs no database."""
    now = time.time()
    few, many = flood(FEW, now), flood(MANY, now)
    rows: Rows = {name: {"µs": of_calls(few, text, now, plan.rounds)} for name, text in PROMPTS.items()}
    rows[FLOODED] = {"µs": of_calls(many, "Please restart gnommoweb.", now, plan.rounds)}
    yield Figures("recalling", TITLE, rows, {FLOODED: "<= 1,000 µs"})


def of_calls(cache: Cache, text: str, now: float, rounds: int) -> float:
    mentions = Mentions.of([Reader(cache).read(Message("user", text))])

    def recall(_: str) -> object:
        return recollect(SpeakersGraph(cache), mentions, now)

    return median(median(microseconds(recall, text) for _ in range(CALLS)) for _ in range(rounds))
