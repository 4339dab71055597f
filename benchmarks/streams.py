"""What each target adds to a streamed answer: to its first byte, and to every chunk."""

import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles

from benchmarks import prompts
from benchmarks.client import BenchmarkBroken, Chunk, Connection, Stream
from benchmarks.figures import Figures, Rows
from benchmarks.loop import run
from benchmarks.plan import Plan
from benchmarks.servers import Servers, servers
from benchmarks.targets import DIRECT, FORWARDER, OFF, WARM_UP, Target, Witness, targets_of

CHUNKS = 500
PACE_MS = 2
TITLE = f"one at a time, a new prompt of 2 KB, {CHUNKS} chunks, one every {PACE_MS} ms"
SHORT = 3  # chunks of a stream that is only there for its first byte
SHORT_STREAMS = 20  # per target and round


@dataclass(slots=True)
class Samples:
    """Of one target, by round, in milliseconds: the median time to the first byte of the body, and how long chunks
    were under way."""

    first_byte: list[float] = field(default_factory=list)
    p50: list[float] = field(default_factory=list)
    p99: list[float] = field(default_factory=list)

    def note(self, chunks: Sequence[Chunk]) -> None:
        delays = [chunk.delay_ms for chunk in chunks]
        self.p50.append(median(delays))
        self.p99.append(quantiles(delays, n=100, method="inclusive")[-1])


@dataclass(frozen=True, slots=True)
class Line:
    """A connection to a target, as which it gets short streams, and as which long ones."""

    stream: Stream
    short: Target
    long: Target


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    with servers(home) as running:
        samples, seen = run(sample(running, plan.part(2)))
    yield Figures("streams", TITLE, rows(samples), {}, seen)


async def sample(running: Servers, rounds: int) -> tuple[dict[str, Samples], dict[str, str]]:
    """By target, what was measured, and the last block seen."""
    samples: defaultdict[str, Samples] = defaultdict(Samples)
    async with AsyncExitStack() as stack:
        witness = Witness(await Connection.open(running.model.port))
        lines = [await line(stack, short, long) for short, long in targets(running)]
        for each in lines:
            await first_bytes(each, witness, WARM_UP)
        for _ in range(rounds):
            for each in lines:
                samples[each.long.name].first_byte.append(await first_bytes(each, witness, SHORT_STREAMS))
                samples[each.long.name].note(await chunks(each, witness))
    return samples, witness.last_blocks


def targets(running: Servers) -> Iterator[tuple[Target, Target]]:
    """Each for short and for long streams."""
    short = targets_of(running, lambda headers: prompts.fresh(headers=headers, seed=6, chunks=SHORT))
    long = targets_of(running, lambda headers: prompts.fresh(headers=headers, seed=7, chunks=CHUNKS))
    return ((one, other) for one, other in zip(short, long, strict=True) if one.name != OFF)


async def line(stack: AsyncExitStack, short: Target, long: Target) -> Line:
    stream = await Stream.open(short.server.port)
    stack.callback(stream.close)
    return Line(stream, short, long)


async def first_bytes(line: Line, witness: Witness, count: int) -> float:
    """The median of so many short streams."""
    times = []
    for request in line.short.take(count):
        started = time.monotonic_ns()
        heard = await line.stream.ask(request)
        times.append((heard[0].arrived_ns - started) / 1e6)
    await witness.check(line.short, count)
    return median(times)


async def chunks(line: Line, witness: Witness) -> list[Chunk]:
    """Those of one long stream. Raises BenchmarkBroken where one is missing."""
    heard = await line.stream.ask(line.long.take(1)[0])
    await witness.check(line.long, 1)
    if len(heard) != CHUNKS:
        raise BenchmarkBroken(f"{line.long.name}: {len(heard)} chunks of {CHUNKS}")
    return heard


def rows(samples: dict[str, Samples]) -> Rows:
    """What is added is of each round, as is the ratio to what the bare forwarder adds."""
    direct, bare = samples[DIRECT], samples[FORWARDER]
    found: Rows = {}
    for name, own in samples.items():
        found[name] = {
            "first byte ms": median(own.first_byte),
            "chunk p50 ms": median(own.p50),
            "chunk p99 ms": median(own.p99),
        }
        if own is not direct:
            first, chunk = added(own.first_byte, direct.first_byte), added(own.p50, direct.p50)
            found[name] |= {
                "added first ms": first,
                "ratio": first / added(bare.first_byte, direct.first_byte),
                "added chunk ms": chunk,
                "chunk ratio": chunk / added(bare.p50, direct.p50),
            }
    return found


def added(mine: Sequence[float], direct: Sequence[float]) -> float:
    return median(one - other for one, other in zip(mine, direct, strict=True))
