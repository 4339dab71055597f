"""A long list of facts that change: is the newest one recalled for each, and none that was replaced?

Each slot, a concept in one dimension, gets two to four values, each in a prompt of its own; those of all slots are
mixed. They go to a world that supersedes, where the newest value must be recalled and one that was replaced never
again, not even while the prompts still come; and to a world that queues, where each slot must show its mark. Both are
asked twice: the process that was told, and one that starts afterwards and knows only what is in the database.
"""

import asyncio
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice
from math import floor
from pathlib import Path
from random import Random
from typing import NamedTuple

import orjson

from benchmarks.busy import SEEN
from benchmarks.client import Connection
from benchmarks.figures import Figures, Rows
from benchmarks.learning import recollect
from benchmarks.loop import run
from benchmarks.plan import ROUNDS, Plan
from benchmarks.prompts import CONCEPTS
from benchmarks.servers import Server, festinger, teach
from benchmarks.statements import DIMENSIONS, Statement, prompt
from benchmarks.throughput import drain
from benchmarks.write_path import WritePath, write_path

SLOTS = 3_000
VALUES = (2, 3, 3, 4, 4, 4)  # of each slot, in turn
POOL = 400  # values in all
CONNECTIONS = 4
AT_ONCE = 8  # concepts: more are not recalled for one prompt
LOOK_AGAIN_S = 0.02

TITLE = "prompts that state facts, each slot with 2 to 4 values; shares are rounded down, 100 % are all slots"
SUPERSEDE, QUEUE, LATER = "supersede", "queue", ", a process started later"
AIMS = {SUPERSEDE: "newest = 100 %, replaced = 0", QUEUE: "marked = 100 %, wrongly = 0"}

SHOWN = re.compile(r"\[([^\]?]+)(\??)\] (\S+)")  # dimension, mark, parent

Slot = tuple[str, str]  # concept, dimension
Values = Mapping[Slot, Sequence[str]]


class Shown(NamedTuple):
    parent: str
    is_marked: bool


@dataclass(slots=True)
class Watch:
    """The newest value that was shown for each slot so far. ``replaced``: slots that later showed an older one."""

    values: Values
    newest: dict[Slot, int] = field(default_factory=dict)
    replaced: set[Slot] = field(default_factory=set)

    def note(self, block: str) -> None:
        for slot, shown in read(block).items():
            if slot in self.values:
                number = self.values[slot].index(shown.parent)
                if number < self.newest.get(slot, 0):
                    self.replaced.add(slot)
                self.newest[slot] = max(number, self.newest.get(slot, 0))


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    statements = told(max(1, SLOTS * min(plan.rounds, ROUNDS) // ROUNDS))
    rows: Rows = {}
    for policy, judged in {SUPERSEDE: newest, QUEUE: marked}.items():
        with write_path(home, policy) as path:
            watch, seconds = run(load(path, statements))
            teach(path.proxy)  # which comes back when its cache is in step
            counts = {"statements": len(statements), "statements/s": len(statements) / seconds}
            rows[policy] = counts | judged(run(ask_all(path.proxy, path.model, watch.values)), watch)
            with festinger(home, path.model.url, path.database) as later:
                rows[policy + LATER] = judged(run(ask_all(later, path.model, watch.values)), watch)
    yield Figures("consolidation", TITLE, rows, AIMS)


def told(slots: int) -> list[Statement]:
    """In the order in which they are told."""
    order = [slot for slot in range(slots) for _ in range(VALUES[slot % len(VALUES)])]
    Random(13).shuffle(order)
    said: dict[int, int] = {}
    statements = []
    for slot in order:
        number = said[slot] = said.get(slot, -1) + 1
        concept, dimension = divmod(slot, len(DIMENSIONS))
        parent = f"wabe{(slot * 31 + number * 97) % POOL}"
        statements.append(Statement(f"gimble{concept}", parent, DIMENSIONS[dimension]))
    return statements


def values_of(statements: Sequence[Statement]) -> dict[Slot, list[str]]:
    """The oldest first."""
    values: dict[Slot, list[str]] = {}
    for concept, parent, dimension in statements:
        values.setdefault((concept, dimension), []).append(parent)
    return values


async def load(path: WritePath, statements: Sequence[Statement]) -> tuple[Watch, float]:
    """What was shown meanwhile, and the seconds until all was settled. The statements about one concept share a
    connection: so each is told when the one before has its answer."""
    watch = Watch(values_of(statements))
    stated = path.stated() + len(statements)
    numbers = {concept: number for number, concept in enumerate(dict.fromkeys(one.concept for one in statements))}
    parts: list[list[bytes]] = [[] for _ in range(CONNECTIONS)]
    for statement in statements:
        parts[numbers[statement.concept] % CONNECTIONS].append(prompt([statement.sentence]))
    with ExitStack() as stack:
        lines = [await Connection.open(path.proxy.port) for _ in range(CONNECTIONS + 1)]
        for line in lines:
            stack.callback(line.close)
        started = time.perf_counter()
        watching = asyncio.ensure_future(look_on(lines.pop(), watch))
        await asyncio.gather(*(drain(line, iter(part)) for line, part in zip(lines, parts, strict=True)))
        await asyncio.to_thread(path.wait_settled, stated)
        seconds = time.perf_counter() - started
        watching.cancel()
        await asyncio.wait([watching])
        if not watching.cancelled():
            watching.result()
    return watch, seconds


async def look_on(connection: Connection, watch: Watch) -> None:
    """Asks about all concepts over and over."""
    while True:
        for concepts in groups(watch.values):
            answer = orjson.loads(await connection.ask(recollect(f"Look at {', '.join(concepts)}.")))
            watch.note(answer["block"])
            await asyncio.sleep(LOOK_AGAIN_S)


async def ask_all(proxy: Server, model: Server, values: Values) -> dict[Slot, Shown]:
    """What the model server gets to see of each slot, and of the five facts that nobody disputes."""
    found: dict[Slot, Shown] = {}
    with ExitStack() as stack:
        line, seen = await Connection.open(proxy.port), await Connection.open(model.port)
        stack.callback(line.close)
        stack.callback(seen.close)
        for concepts in [*groups(values), CONCEPTS]:
            await line.ask(prompt([f"Look at {', '.join(concepts)}."]))
            found |= read(orjson.loads(await seen.ask(SEEN))["last_block"])
    return found


def groups(values: Values) -> Iterator[tuple[str, ...]]:
    """Their concepts, as many as one prompt may name."""
    concepts = iter(dict.fromkeys(concept for concept, _ in values))
    while group := tuple(islice(concepts, AT_ONCE)):
        yield group


def read(block: str) -> dict[Slot, Shown]:
    found: dict[Slot, Shown] = {}
    for line in block.splitlines()[1:-1]:
        concept, _, facts = line.partition(": ")
        for dimension, mark, parent in SHOWN.findall(facts):
            found[concept, dimension] = Shown(parent, bool(mark))
    return found


def newest(shown: Mapping[Slot, Shown], watch: Watch) -> dict[str, float]:
    """``replaced``: slots that show a value that is not their newest, or that have shown one after a newer one;
    ``wrongly``: marks, of which there should be none."""
    values = watch.values
    recalled = {slot for slot in values if slot in shown and shown[slot].parent == values[slot][-1]}
    older = {slot for slot in values if slot in shown} - recalled
    return {
        "slots": len(values),
        "newest %": share(len(recalled), len(values)),
        "replaced": len(older | watch.replaced),
        "wrongly": sum(found.is_marked for found in shown.values()),
    }


def marked(shown: Mapping[Slot, Shown], watch: Watch) -> dict[str, float]:
    """``wrongly``: marks where nothing is disputed."""
    disputed = [slot for slot in watch.values if slot in shown and shown[slot].is_marked]
    return {
        "slots": len(watch.values),
        "marked %": share(len(disputed), len(watch.values)),
        "wrongly": sum(found.is_marked for slot, found in shown.items() if slot not in watch.values),
    }


def share(part: int, whole: int) -> float:
    """Per cent, rounded down to a tenth."""
    return floor(1000 * part / whole) / 10
