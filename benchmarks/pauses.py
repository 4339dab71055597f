"""Measures how long running streams pause while the process does something else."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Final

import orjson

from benchmarks.client import BenchmarkBroken, Chunk, Connection, Stream, connected, run
from benchmarks.database import fresh
from benchmarks.figures import Figures, Rows
from benchmarks.plan import Plan
from benchmarks.prompts import CONCEPTS, naming, post
from benchmarks.servers import Server, festinger, model, teach

STREAMS: Final = 20
PACE_MS: Final = 20
ENDLESS: Final = 1_000_000  # chunks; nobody waits for the last one
BEGUN_WITHIN_S: Final = 30
SAMPLE_S: Final = 0.02
ROUNDS_MAX: Final = 5
REQUESTS_EACH: Final = 5  # one after the other
REST_S: Final = 0.1  # after each
TITLE: Final = f"{STREAMS} streams, a chunk every {PACE_MS} ms: pauses between two, less the model's own"
QUIET: Final = "nothing beside them"
AIM: Final = "longest <= 50 ms"


def chat(messages: bytes) -> bytes:
    return post("/api/chat", b'{"model":"mock","stream":false,"messages":[%s]}' % messages)


LAST: Final = b'{"role":"user","content":"hi"}'
LARGE: Final[dict[str, bytes]] = {
    "160,000 empty messages": chat(b"{}," * 160_000 + LAST),
    "5,000 messages": chat(b",".join(b'{"role":"user","content":"note %d"}' % number for number in range(5_000))),
    "4 MB of empty lists": chat(b"[]," * 1_300_000 + LAST),
    "8 MB of objects": chat(b'{"a":1},' * 1_000_000 + LAST),
    "8 MB of pictures": chat(b'{"role":"user","content":"hi","images":["%s"]},' % (b"abcd" * 2_000_000) + LAST),
    "4 MB of text": chat(b'{"role":"user","content":"%s"},' % (b'Kvasir is up, \\"again\\". ' * 150_000) + LAST),
}


@dataclass(slots=True)
class Observed:
    """In one state of the process, all times it was in it taken together."""

    pauses_ms: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    memory_mb: list[float] = field(default_factory=list)

    def row(self) -> dict[str, float]:
        ordered = sorted(self.pauses_ms)
        return {
            "longest ms": ordered[-1],
            "p99.9 ms": ordered[len(ordered) * 999 // 1000],
            "seconds": sum(self.seconds) / len(self.seconds),
            "peak MB": max(self.memory_mb),
        }

    async def watch(self, streams: Sequence[Stream], server: Server, work: Coroutine[Any, Any, None]) -> None:
        """Note what the streams do while the work is done."""
        gc.disable()  # a full collection here, 40 ms, would be taken for a pause of the server
        try:
            start = time.monotonic_ns()
            task = asyncio.ensure_future(work)
            while not task.done():
                self.memory_mb.append(server.rss_mb())
                await asyncio.wait([task], timeout=SAMPLE_S)
            await task
            end = time.monotonic_ns()
        finally:
            gc.enable()
        self.seconds.append((end - start) / 1e9)
        self.pauses_ms += find_pauses(streams, start, end)


def find_pauses(streams: Sequence[Stream], start_ns: int, end_ns: int) -> list[float]:
    """Return the milliseconds by which chunks came later after their predecessors than they were sent. Raises
    BenchmarkBroken where a stream has stopped."""
    found = []
    for stream in streams:
        heard = [chunk for chunk in stream.chunks if start_ns <= chunk.arrived_ns <= end_ns]
        if not heard:
            raise BenchmarkBroken("a stream has stopped")
        found += [later.delay_ms - earlier.delay_ms for earlier, later in pairwise(heard)]
    return found


@asynccontextmanager
async def streaming(proxy: Server, mock: Server) -> AsyncIterator[list[Stream]]:
    """Yield so many running streams. Raises BenchmarkBroken where their prompts recall nothing, TimeoutError where they
    do not begin."""
    streams = [await Stream.open(proxy.port) for _ in range(STREAMS)]
    requests = islice(naming(8, chunks=ENDLESS, pace_ms=PACE_MS), STREAMS)
    tasks = [asyncio.ensure_future(each.ask(request)) for each, request in zip(streams, requests, strict=True)]
    try:
        async with asyncio.timeout(BEGUN_WITHIN_S):
            await asyncio.gather(*(stream.begun.wait() for stream in streams))
        await check_recalled(mock, STREAMS)
        yield streams
    finally:
        for stream, task in zip(streams, tasks, strict=True):
            await stop(stream, task)


async def stop(stream: Stream, task: asyncio.Task[list[Chunk]]) -> None:
    stream.close()
    with suppress(BenchmarkBroken):
        await task


async def check_recalled(mock: Server, count: int) -> None:
    """Raises BenchmarkBroken unless of the prompts that came since the last look so many had a block, and the last one
    all five concepts."""
    async with connected(mock.port) as [connection]:
        seen = orjson.loads(await connection.ask(b"GET /seen HTTP/1.1\r\nHost: model\r\n\r\n"))
    if seen["recollections"] < count or not all(f"\n{concept}: " in seen["last_block"] for concept in CONCEPTS):
        raise BenchmarkBroken(f"{count} prompts with all concepts were due, not {seen}")


# --- beside large requests ---


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    with model(home) as mock, festinger(home, mock.url, fresh(home)) as proxy:
        teach(proxy)
        rows = run(sample(proxy, mock, min(plan.rounds, ROUNDS_MAX)))
    yield Figures("pauses", f"{TITLE}, beside large requests", rows, dict.fromkeys(LARGE, AIM))


async def sample(proxy: Server, mock: Server, rounds: int) -> Rows:
    observed = {name: Observed() for name in (QUIET, *LARGE)}
    async with connected(proxy.port) as [sender], streaming(proxy, mock) as streams:
        for _ in range(rounds):
            for name, own in observed.items():
                await own.watch(streams, proxy, send(sender, LARGE.get(name, b"")))
    return {name: own.row() for name, own in observed.items()}


async def send(sender: Connection, request: bytes) -> None:
    for _ in range(REQUESTS_EACH):
        if request:
            await sender.ask(request)
        await asyncio.sleep(REST_S)
