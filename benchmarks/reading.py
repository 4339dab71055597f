"""Measures how well and how fast a message is read: the cues in labelled sentences, and the time for new text."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from statistics import median

from benchmarks import cues, prompts
from benchmarks.figures import Figures, Rows
from benchmarks.plan import Plan
from memory.english.statements import find_cues
from memory.english.tokenizer import find_words

AIM = "precision >= 0.97, recall and retractions >= 0.90, hedged 1.0"
PROMPTS = 50  # per round; their median is the round's figure


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    """Needs no database."""
    files = (cues.STATEMENTS, *cues.OWN)
    rows: Rows = {file.name: accuracy(file) for file in files}
    rows |= {f"{name} of a new 2 KB": {"µs": value} for name, value in times(plan.rounds).items()}
    rows |= {f"{name} of 48 KB": {"µs": value * 1000} for name, value in cues.times().items()}
    yield Figures("cues", "what is read from a message", rows, {file.name: AIM for file in files})


def accuracy(file: Path) -> dict[str, float]:
    found = cues.measure(file)
    return {
        "sentences": found["sentences"],
        "precision": found["precision"],
        "recall": found["recall"],
        "retractions": found["retractions"],
        "hedged below the floor": found["hedged_below_floor"],
    }


def times(rounds: int) -> dict[str, float]:
    """Microseconds for a prompt that was not read before."""
    random = Random(3)
    dictionary = cues.Dictionary()
    ways: dict[str, Callable[[str], object]] = {
        "words": find_words,
        "find_cues": lambda text: find_cues(text, vocabulary=dictionary),
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            taken[name].append(median(microseconds(way, prompts.text(random)) for _ in range(PROMPTS)))
    return {name: median(of_rounds) for name, of_rounds in taken.items()}


def microseconds(way: Callable[[str], object], text: str) -> float:
    """Return processor time: what else the machine does counts little."""
    started = time.thread_time()
    way(text)
    return (time.thread_time() - started) * 1e6
