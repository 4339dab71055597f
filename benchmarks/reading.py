"""How well and how fast a message is read: the cues found in labelled sentences, and the time for a prompt."""

import asyncio
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from random import Random
from statistics import median

import orjson
import psycopg

from benchmarks import prompts
from benchmarks.database import dsn
from benchmarks.figures import Figures
from festinger_site.home import PROJECT
from memory.cache import Cache
from memory.coherence import load
from memory.domain.cues import find_cues
from memory.domain.tokens import words
from memory.learn import Message, Reader

# One sentence a line with its [subject, parent, dimension, is_isa]: the project's own are a few of each kind.
DEVELOPMENT = PROJECT.parent / "shared" / "evals" / "cues.dev.jsonl"
OWN = Path(__file__).with_name("cues.jsonl")
ACCURACY_AIM = "precision >= 0.97, recall >= 0.90"
PROMPTS = 50  # per round; their median is the round's figure

Labelled = tuple[str, set[tuple[object, ...]]]


def measure(home: Path, rounds: int) -> Figures:
    file = DEVELOPMENT if DEVELOPMENT.exists() else OWN
    vocabulary = asyncio.run(loaded(home))
    rows = {file.name: accuracy(vocabulary, labelled(file))}
    rows |= {name: {"µs": value} for name, value in times(vocabulary, rounds).items()}
    return Figures("cues: what is read from a message", rows, {file.name: ACCURACY_AIM})


async def loaded(home: Path) -> Cache:
    """The vocabulary as a server process has it: the dictionary and the seed dimensions."""
    cache = Cache()
    async with await psycopg.AsyncConnection.connect(dsn(home), autocommit=True) as connection:
        await load(cache, connection)
    return cache


def labelled(file: Path) -> list[Labelled]:
    lines = [orjson.loads(line) for line in file.read_bytes().splitlines() if line.strip()]
    return [(line["text"], {tuple(triple) for triple in line["triples"]}) for line in lines]


def accuracy(vocabulary: Cache, sentences: Iterable[Labelled]) -> dict[str, float]:
    reader = Reader(vocabulary)
    right = found = due = count = 0
    for text, expected in sentences:
        triples = reader.read(Message("user", text)).triples
        stated = {(triple.subject, triple.parent, triple.dimension, triple.is_isa) for triple in triples}
        right += len(stated & expected)
        found += len(stated)
        due += len(expected)
        count += 1
    return {"sentences": count, "precision": right / max(found, 1), "recall": right / max(due, 1)}


def times(vocabulary: Cache, rounds: int) -> dict[str, float]:
    """Microseconds for a prompt that was not read before."""
    random = Random(3)
    reader = Reader(vocabulary)
    ways: dict[str, Callable[[str], object]] = {
        "words of 2 KB": words,
        "cues of 2 KB": lambda text: find_cues(text, vocabulary=vocabulary),
        "a message of 2 KB": lambda text: reader.read(Message("user", text)),
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            taken[name].append(median(microseconds(way, prompts.text(random)) for _ in range(PROMPTS)))
    return {name: median(of_rounds) for name, of_rounds in taken.items()}


def microseconds(way: Callable[[str], object], text: str) -> float:
    """Of processor time: what else the machine does counts little."""
    started = time.thread_time()
    way(text)
    return (time.thread_time() - started) * 1e6
