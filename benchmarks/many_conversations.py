"""Measures what it takes to remember many conversations: memory, and the time to find one among them.

``python -m benchmarks.many_conversations COUNT KIND`` measures one kind in a process of its own and prints JSON.
"""

import gc
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import median

import orjson
import psutil

from benchmarks import long_prompts
from benchmarks.agent import FACTS
from benchmarks.client import BenchmarkBroken
from benchmarks.figures import Figures
from benchmarks.plan import Plan
from festinger_site import home as homes
from memory.cache.state import Cache
from memory.learning.reader import Reading, digest_message
from memory.recall.block import NOTHING, Block, ShownFact, render_block, render_facts
from memory.types import Message
from proxy.formats.base import Part, Prompt, Role
from proxy.formats.prefixes import PrefixDigests
from proxy.prompts.beginnings import Beginnings
from proxy.prompts.blocks import Blocks, Version

MESSAGES = (20, 60)
NAMES = 5  # that a message names and none before it
SYSTEM_CHARACTERS = 18_000
NEWS_EVERY = 4  # turns; then one concept more is recalled
FOUND = 1_000  # conversations that are looked for, of those used last
MEGABYTE = 1_000_000

KINDS = {"chat": "blocks stay", "tail": "tail rebuilt"}
TITLE = "{count:,} of {} to {} messages in the memory of one process, and how long it takes to find one"
AIM = "RSS MB <= 300"


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    rows = {words: in_own_process(kind, plan.conversations) for kind, words in KINDS.items()}
    title = TITLE.format(*MESSAGES, count=plan.conversations)
    yield Figures("conversations", title, rows, dict.fromkeys(rows, AIM))


def in_own_process(kind: str, count: int) -> dict[str, float]:
    command = [sys.executable, "-m", "benchmarks.many_conversations", str(count), kind]
    done = subprocess.run(command, cwd=homes.PROJECT, capture_output=True, check=False)
    if done.returncode:
        raise BenchmarkBroken(f"{command[1:]}: {done.stderr.decode(errors='replace')}")
    row: dict[str, float] = orjson.loads(done.stdout)
    return row


def remembered(count: int, kind: str) -> dict[str, float]:
    """A row: what so many conversations take, by how much longer all streams wait when Python looks through all objects
    for garbage, and microseconds to find all blocks of one of them, and to find out that one is new."""
    blocks, beginnings, threads = Blocks(), Beginnings(), Threads(SYSTEM_CHARACTERS)
    before, pause_ms = rss(), collection_ms()
    for number in range(count):
        hold(blocks, beginnings, threads.of(number), number, is_rebuilt=kind == "tail")
    taken, pause_ms = rss() - before, collection_ms() - pause_ms
    wanted = Random(5).choices(range(count)[-FOUND:], k=min(FOUND, count))  # those used longest ago may be gone
    return {
        "RSS MB": taken / MEGABYTE,
        "KB each": taken / count / 1000,
        "pause ms": pause_ms,
        **times("find", blocks, [threads.of(number) for number in wanted], is_there=True),
        **times("new", blocks, [threads.of(count + number) for number in wanted], is_there=False),
    }


def rss() -> int:
    gc.collect()
    return int(psutil.Process().memory_info().rss)


def collection_ms() -> float:
    started = time.thread_time()
    gc.collect()
    return (time.thread_time() - started) * 1000


class Threads:
    """Whole conversations, each by its number: no two begin alike."""

    def __init__(self, characters: int) -> None:
        self._rules = long_prompts.passage(Random(1), characters)

    def of(self, number: int) -> PrefixDigests:
        texts = [f"You are agent {number}.\n{self._rules}"]
        texts += [f"What is said as number {index} of {number}." for index in range(length(number) - len(texts))]
        parts = [Part(role_of(index), text, index, index % 2 == 1) for index, text in enumerate(texts)]
        digests = [digest_message(Message(part.role, part.text)) for part in parts]
        return PrefixDigests.of(Prompt("mock", parts, takes_top=True, is_stream=True), digests)


def length(number: int) -> int:
    """In messages."""
    return Random(number).randint(*MESSAGES)


def role_of(index: int) -> Role:
    return "system" if index == 0 else "user" if index % 2 else "assistant"


def hold(blocks: Blocks, beginnings: Beginnings, thread: PrefixDigests, number: int, *, is_rebuilt: bool) -> None:
    """The conversation as it is remembered after its last turn."""
    beginnings.find_mentions(Cache(), thread.links, [reading(number, index) for index in range(len(thread.links))])
    for turn, index in enumerate(range(1, len(thread.links), 2)):
        lines = 1 + turn // NEWS_EVERY if is_rebuilt else turn % NEWS_EVERY == 0
        version = Version.of(recollection(lines) if lines else NOTHING, turn)
        blocks.begin(thread.links[index], version)
        blocks.note_answer(thread.links[index], version.at, thread.digest_answer(index))


def recollection(lines: int) -> Block:
    stated = [fact.split() for fact in FACTS[:lines]]
    facts = tuple(ShownFact(concept, dimension, parent, False) for concept, _, parent, *_, dimension in stated)
    return Block(render_block([render_facts([fact], "compact") for fact in facts]), facts)


def reading(number: int, index: int) -> Reading:
    names = frozenset(f"name{number}-{index}-{name}" for name in range(NAMES))
    return Reading(b"", b"", role_of(index), "", edition=0, names=names)


def times(name: str, blocks: Blocks, threads: Sequence[PrefixDigests], *, is_there: bool) -> dict[str, float]:
    """In microseconds."""
    taken = []
    for thread in threads:
        started = time.perf_counter()
        found = [blocks.find(thread, index) for index in range(1, len(thread.links), 2)]
        taken.append((time.perf_counter() - started) * 1_000_000)
        if any((each is not None) != is_there for each in found):
            raise BenchmarkBroken(f"{name}: found {found}")
    return {f"{name} µs": median(taken)}


def main() -> None:
    count, kind = sys.argv[1:]
    print(orjson.dumps(remembered(int(count), kind)).decode())


if __name__ == "__main__":
    main()
