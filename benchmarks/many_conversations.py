"""What it takes to remember many conversations: memory, and the time it takes to find one among them.

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
from memory.domain.recall.rendering import Block, ShownFact, render_block, render_facts
from memory.domain.types import Message
from memory.learning.reader import Reading, digest_message
from proxy.domain.formats.base import Part, Prompt, Role
from proxy.domain.prefixes import Thread
from proxy.enrichment.conversations import Conversations

MESSAGES = (20, 60)
NAMES = 5  # that a message names and none before it
SYSTEM_CHARACTERS = 18_000  # with this and OPENING_LINES a conversation is known by as many beginnings as it can be
OPENING_LINES = 20
NEWS_EVERY = 4  # turns; then one concept more is recalled
FOUND = 1_000  # conversations that are looked for, of each sort
SAMPLED = 5
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
    for garbage, and microseconds to find one of them, to find with which of them a fork shares its beginning, and to
    find out that one is new."""
    conversations, threads = Conversations(), Threads(SYSTEM_CHARACTERS)
    conversations.conversations_max = 2 * count
    keys = [len(threads.of(number).all_keys) for number in range(SAMPLED)]
    before, pause_ms = rss(), collection_ms()
    for number in range(count):
        hold(conversations, threads.of(number), number, is_rebuilt=kind == "tail")
    taken, pause_ms = rss() - before, collection_ms() - pause_ms
    if len(conversations) != count:
        raise BenchmarkBroken(f"{count} conversations were to be remembered, not {len(conversations)}")
    wanted = Random(5).choices(range(count), k=min(FOUND, count))
    return {
        "RSS MB": taken / MEGABYTE,
        "KB each": taken / count / 1000,
        "beginnings": max(keys),
        "pause ms": pause_ms,
        **times("find", conversations, [threads.of(number) for number in wanted], is_there=True),
        **times("new", conversations, [threads.of(count + number) for number in wanted], is_there=False),
        **times("fork", conversations, [threads.of(number, fork=number + 1) for number in wanted], is_there=True),
    }


def rss() -> int:
    gc.collect()
    return int(psutil.Process().memory_info().rss)


def collection_ms() -> float:
    started = time.thread_time()
    gc.collect()
    return (time.thread_time() - started) * 1000


class Threads:
    """Whole conversations, each by its number: no two begin alike, but for forks of the same."""

    def __init__(self, characters: int) -> None:
        self._rules = long_prompts.passage(Random(1), characters)

    def of(self, number: int, fork: int = 0) -> Thread:
        """``fork`` tells those apart that go on differently from the last line of the opening on."""
        lines = "\n".join(
            f"{line}. This is to be done before number {number} and after that." for line in range(OPENING_LINES)
        )
        texts = [f"You are agent {number}.\n{self._rules}", f"{lines}\nTake care of {fork}."]
        texts += [f"What is said as number {index} of {number}.{fork}." for index in range(length(number) - len(texts))]
        parts = [Part(role_of(index), text, index, index % 2 == 1) for index, text in enumerate(texts)]
        digests = [digest_message(Message(part.role, part.text)) for part in parts]
        return Thread.of(Prompt("mock", parts, has_system=True, is_stream=True), digests)


def length(number: int) -> int:
    """In messages."""
    return Random(number).randint(*MESSAGES)


def role_of(index: int) -> Role:
    return "system" if index == 0 else "user" if index % 2 else "assistant"


def hold(conversations: Conversations, thread: Thread, number: int, *, is_rebuilt: bool) -> None:
    """The conversation as it is remembered after its last turn."""
    if conversations.resume(thread, now=0) is not None:
        raise BenchmarkBroken(f"conversation {number} was known before it began")
    conversations.mentions(Cache(), thread, [reading(number, index) for index in range(len(thread.links))])
    conversation = conversations.begin(thread, recollection(1), "", now=0)
    for turn, place in enumerate(thread.links[1::2]):
        lines = 1 + turn // NEWS_EVERY if is_rebuilt else turn % NEWS_EVERY == 0
        if lines:
            conversations.put(conversation, place, recollection(lines), now=turn)


def recollection(lines: int) -> Block:
    stated = [fact.split() for fact in FACTS[:lines]]
    facts = tuple(ShownFact(concept, dimension, parent, False) for concept, _, parent, *_, dimension in stated)
    return Block(render_block([render_facts([fact], "compact") for fact in facts]), facts)


def reading(number: int, index: int) -> Reading:
    names = frozenset(f"name{number}-{index}-{name}" for name in range(NAMES))
    return Reading(b"", b"", role_of(index), "", edition=0, names=names)


def times(name: str, conversations: Conversations, threads: Sequence[Thread], *, is_there: bool) -> dict[str, float]:
    """In microseconds. The threads must not have been looked for before: they remember their beginnings."""
    taken = []
    for thread in threads:
        started = time.perf_counter()
        found = conversations.resume(thread, now=0)
        taken.append((time.perf_counter() - started) * 1_000_000)
        if (found is not None) != is_there:
            raise BenchmarkBroken(f"{name}: found {found}")
    return {f"{name} µs": median(taken)}


def main() -> None:
    count, kind = sys.argv[1:]
    print(orjson.dumps(remembered(int(count), kind)).decode())


if __name__ == "__main__":
    main()
