"""Measures how much of what a client's prompts share from turn to turn is still shared by what the model gets: a model
evaluates again all that comes after the first difference.

The same conversation in three formats, on one server process, on three that take turns, of which one is restarted in
the middle, with the other placements of blocks that stay, and, to compare, with all recollections in one block at the
top.
"""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median

import orjson
import psycopg

from benchmarks import agent
from benchmarks.client import BenchmarkBroken, Connection
from benchmarks.database import fresh
from benchmarks.figures import Figures, Rows
from benchmarks.loop import run
from benchmarks.plan import TURNS, Plan
from benchmarks.servers import Server, festinger, model, teach
from memory.recall.block import CLOSING, OPENING
from proxy.formats.base import GAP

CHARACTERS = 120_000
PROCESSES = 3
# Between two turns that different processes get: a model takes longer for its answer, and what one process put into a
# prompt is to be known to the others after 100 ms.
PAUSE_S = 0.3
SEED = 20

Formats = Mapping[str, tuple[str, agent.Write]]  # by name, path and writer
FORMATS: Formats = {"chat": agent.CHAT, "rebuilt tail": agent.FLATTENED, "messages": agent.MESSAGES}
ONE, SEVERAL, SYSTEM = "one process", f"{PROCESSES} processes", "system"
TITLE = (
    "{turns} turns growing to {kilobytes} KB, 8 facts: the part of what the client's prompts share that stays shared"
)
AIM = "least >= 100 %"
PLACED = "UPDATE config SET value = '{}' WHERE key = 'recollection_placement'"
LAST = b"GET /last HTTP/1.1\r\nHost: model\r\n\r\n"
# Also one that breaks off.
BLOCK = re.compile(f"{OPENING}.*?(?:{CLOSING}|\\Z)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Turn:
    """One prompt as the client wrote it, and as the model got it."""

    client: str
    model: str


@dataclass(slots=True)
class Course:
    """A conversation as it went, in one format. Each has a ``model`` of its own, or the texts that they have in common
    would be one conversation."""

    model: str
    path: str
    write: agent.Write
    turns: list[Turn] = field(default_factory=list)

    async def take_turn(self, talk: agent.Dialogue, port: int, witness: Connection) -> None:
        """Raises BenchmarkBroken where the prompt does not recall all that was named."""
        number = len(self.turns) + 1
        payload = self.write(talk, number, self.model)
        client = agent.rendered(payload)
        with closing(await Connection.open(port)) as connection:
            await connection.ask(agent.request(self.path, payload))
        got = agent.rendered(orjson.loads(await witness.ask(LAST)))
        blocks = "\n".join(BLOCK.findall(got))
        if missing := [concept for concept in talk.named[number - 1] if f"\n{concept}: " not in blocks]:
            raise BenchmarkBroken(f"{self.path}, turn {number}: {missing} are not in {blocks!r}")
        self.turns.append(Turn(client, got))


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    talk = agent.dialogue(SEED, plan.turns, CHARACTERS * plan.turns // TURNS)
    rows: Rows = {}
    seen: dict[str, str] = {}
    with model(home) as mock:
        for way, courses in (
            (ONE, on_one(home, mock, talk)),
            (SEVERAL, on_several(home, mock, talk)),
            (SYSTEM, on_one(home, mock, talk, settings=PLACED.format(SYSTEM))),
        ):
            for name, course in courses.items():
                rows[f"{name}, {way}"] = row(course.turns)
                seen[f"{name}, {way}"] = "\n".join(BLOCK.findall(course.turns[-1].model))
    aims = {name: AIM for name in rows if not name.endswith(SYSTEM)}
    title = TITLE.format(turns=plan.turns, kilobytes=len(rendered_last(talk)) // 1000)
    yield Figures("prefix", title, rows, aims, seen)


def rendered_last(talk: agent.Dialogue) -> str:
    return agent.rendered(agent.chat(talk, len(talk.heard), model=""))


def on_one(
    home: Path, mock: Server, talk: agent.Dialogue, formats: Formats = FORMATS, settings: str = ""
) -> dict[str, Course]:
    """``settings``: SQL that is run before the process starts."""
    database = fresh(home)
    if settings:
        with psycopg.connect(database) as connection:
            connection.execute(settings.encode())
    courses = begun(formats)
    with festinger(home, mock.url, database) as proxy:
        teach(proxy, agent.FACTS)
        run(take_turns(courses, talk, len(talk.heard), [proxy], mock, pause_s=0))
    return courses


def on_several(home: Path, mock: Server, talk: agent.Dialogue) -> dict[str, Course]:
    """The process that had the turn before is restarted in the middle."""
    database, turns = fresh(home), len(talk.heard)
    courses = begun(FORMATS)
    with ExitStack() as stack:
        kept = [stack.enter_context(festinger(home, mock.url, database)) for _ in range(PROCESSES - 1)]
        with festinger(home, mock.url, database) as restarted:
            teach(restarted, agent.FACTS)
            # Its turn is that before the restart.
            run(take_turns(courses, talk, middle(turns), [*kept, restarted], mock, pause_s=PAUSE_S))
        kept.append(stack.enter_context(festinger(home, mock.url, database)))
        run(take_turns(courses, talk, turns, kept, mock, pause_s=PAUSE_S))
    return courses


def middle(turns: int) -> int:
    """A turn of the last process, about half way."""
    return max(1, turns // 2 // PROCESSES) * PROCESSES


def begun(formats: Formats) -> dict[str, Course]:
    return {name: Course(f"mock-{name}", path, write) for name, (path, write) in formats.items()}


async def take_turns(
    courses: dict[str, Course],
    talk: agent.Dialogue,
    until: int,
    processes: Sequence[Server],
    mock: Server,
    *,
    pause_s: float,
) -> None:
    """Each course goes on to this turn; the processes take turns."""
    with closing(await Connection.open(mock.port)) as witness:
        while (done := min(len(course.turns) for course in courses.values())) < until:
            await asyncio.sleep(pause_s)
            for course in courses.values():
                await course.take_turn(talk, processes[done % len(processes)].port, witness)


# --- what is shared ---


def row(turns: Sequence[Turn]) -> dict[str, float]:
    """``evaluated KB``: what a model that remembers the prompt before has to read over all turns; ``direct KB``: the
    same of the client's own prompts."""
    pairs = list(pairwise(turns))
    parts = [part_kept(before, turn) for before, turn in pairs]
    direct = len(turns[0].client) + sum(len(turn.client) - shared(before.client, turn.client) for before, turn in pairs)
    through = len(turns[0].model) + sum(len(turn.model) - shared(before.model, turn.model) for before, turn in pairs)
    return {
        "least %": 100 * min(parts),
        "median %": 100 * median(parts),
        "turns below": sum(part < 1 for part in parts),
        "direct KB": direct / 1000,
        "evaluated KB": through / 1000,
        "of direct": through / direct,
    }


def part_kept(before: Turn, turn: Turn) -> float:
    """Return the share, of what two prompts have in common as they left the client, that they still have in common
    upstream; our own blocks do not count."""
    return reached(turn.model[: shared(before.model, turn.model)], turn.client) / shared(before.client, turn.client)


def shared(one: str, other: str) -> int:
    """Characters. Halved again and again: that takes a hundredth of the time of looking at each."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least


def reached(beginning: str, client: str) -> int:
    """Count the characters of the client's prompt in this beginning of what was made of it. Raises BenchmarkBroken
    where anything but blocks was added, or something is missing."""
    *texts, last = BLOCK.split(beginning)
    ends = {0}  # of what was found so far: a gap may be ours or the client's
    for number, text in enumerate(texts):
        kept = without_gaps(text, has_block_before=number > 0)
        found = {at + len(own) for at in ends for own in kept if client.startswith(own, at)}
        if not found:
            place = max(ends)
            raise BenchmarkBroken(f"a prompt goes on with {client[place : place + 99]!r}, but got {text[:99]!r}")
        ends = found
    kept = without_gaps(last, has_block_before=bool(texts))
    return max(at + shared(own, client[at:]) for at in ends for own in kept)


def without_gaps(text: str, *, has_block_before: bool) -> list[str]:
    """Return what may be the client's of this text between two blocks."""
    found = [text, text.removesuffix(GAP)]
    return [*found, *(own.removeprefix(GAP) for own in found)] if has_block_before else found
