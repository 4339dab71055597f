"""What is added to the later turns of a long conversation, against the earlier ones: a turn is to cost by its new
text, not by the length of what is sent again.

Each turn of a conversation is sent once, as an agent does; at some turns the same body follows or goes before with
``X-Festinger: off``: the way of the larger body through the proxy is in both.
"""

import asyncio
import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import orjson

from benchmarks import agent
from benchmarks.client import BenchmarkBroken, Connection
from benchmarks.database import fresh
from benchmarks.figures import Figures, Rows
from benchmarks.latency import timed
from benchmarks.loop import run
from benchmarks.plan import TURNS, Plan
from benchmarks.prefix import CHARACTERS
from benchmarks.servers import Server, festinger, model, teach
from benchmarks.targets import OFF_HEADER

CONVERSATIONS = 2  # per round
EARLY = agent.FIRST_NEWS  # as in the last turn, a concept is named that was not named before
QUIET_S = 0.03  # before what is timed: what was heard last is learned meanwhile
PARSINGS = 5  # of a body; the fastest counts

TITLE = "one connection, a conversation that grows to {kilobytes} KB, new text of {new} KB in each turn"
AIM = f"of turn {EARLY} <= 1.5"
REQUEST_ID = re.compile(rb"\r\nx-festinger-request: *(\w+)", re.IGNORECASE)
WHY = "GET /why/{} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@dataclass(slots=True)
class Samples:
    """Of one turn, by conversation, in milliseconds. ``parsing``: to read and write JSON of that size, which only an
    enriched prompt needs; ``enriching`` is what ``/why`` says, and has it in it."""

    on: list[float] = field(default_factory=list)
    off: list[float] = field(default_factory=list)
    enriching: list[float] = field(default_factory=list)
    parsing: list[float] = field(default_factory=list)

    @property
    def added(self) -> float:
        return median(on - off for on, off in zip(self.on, self.off, strict=True))

    def row(self, early: "Samples") -> dict[str, float]:
        parsing, enriching = median(self.parsing), median(self.enriching)
        return {
            "p50 ms": median(self.on),
            "off p50 ms": median(self.off),
            "added p50 ms": self.added,
            "parsing ms": parsing,
            f"of turn {EARLY}": (self.added - parsing) / (early.added - median(early.parsing)),
            "enrich ms": enriching,
            f"enrich of {EARLY}": (enriching - parsing) / (median(early.enriching) - median(early.parsing)),
        }


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    with model(home) as mock, festinger(home, mock.url, fresh(home)) as proxy:
        teach(proxy, agent.FACTS)
        samples = run(sample(proxy, plan))
    rows: Rows = {f"turn {turn}": own.row(samples[EARLY]) for turn, own in samples.items()}
    kilobytes = CHARACTERS * plan.turns // TURNS // 1000
    new = kilobytes * (agent.SYSTEM_PART - 1) / agent.SYSTEM_PART / plan.turns
    yield Figures("turns", TITLE.format(kilobytes=kilobytes, new=f"{new:.1f}"), rows, {f"turn {plan.turns}": AIM})


async def sample(proxy: Server, plan: Plan) -> Mapping[int, Samples]:
    """By turn: an early one, the last one, and some between them."""
    wanted = sorted({EARLY, plan.turns // 3, plan.turns * 2 // 3, plan.turns} - set(range(EARLY)))
    samples: defaultdict[int, Samples] = defaultdict(Samples)
    with closing(await Connection.open(proxy.port)) as line, closing(await Connection.open(proxy.port)) as other:
        for number in range(plan.rounds * CONVERSATIONS):
            talk = agent.dialogue(1000 + number, plan.turns, CHARACTERS * plan.turns // TURNS)
            for turn in range(1, plan.turns + 1):
                payload = agent.chat(talk, turn, "mock")
                if turn in wanted:
                    await observe(line, other, payload, samples[turn], is_off_first=number % 2 == 1)
                else:
                    await line.ask(agent.request("/api/chat", payload))
    return samples


async def observe(
    line: Connection, other: Connection, payload: dict[str, object], into: Samples, *, is_off_first: bool
) -> None:
    on = agent.request("/api/chat", payload)
    off = agent.request("/api/chat", payload, OFF_HEADER)
    for request in (off, on) if is_off_first else (on, off):
        await asyncio.sleep(QUIET_S)
        (into.off if request is off else into.on).extend(await timed(line, [request]))
        if request is on:
            into.enriching.append(await enrich_ms(line.head, other))
    into.parsing.append(parsing_ms(payload))


async def enrich_ms(head: bytes, other: Connection) -> float:
    """As Festinger itself measured it. Raises BenchmarkBroken for an answer to a prompt that it did not touch."""
    told = REQUEST_ID.search(head)
    if told is None:
        raise BenchmarkBroken(f"an answer says not which request it is of: {head!r}")
    why = orjson.loads(await other.ask(WHY.format(told[1].decode()).encode()))
    return float(why["enrich_ms"])


def parsing_ms(payload: dict[str, object]) -> float:
    body, taken = orjson.dumps(payload), []
    for _ in range(PARSINGS):
        started = time.perf_counter()
        orjson.dumps(orjson.loads(body))
        taken.append((time.perf_counter() - started) * 1000)
    return min(taken)
