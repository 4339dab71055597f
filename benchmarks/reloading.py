"""How long streams pause, and how much memory it takes, while a process reads its whole cache anew."""

import asyncio
import gc
import time
from collections.abc import Coroutine, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import orjson

from benchmarks import prompts
from benchmarks.client import BenchmarkBroken, Chunk, Connection, Stream
from benchmarks.figures import Figures
from benchmarks.servers import Server
from benchmarks.targets import DIRECT, FESTINGER, Target, Witness

STREAMS = 20
PACE_MS = 20
ENDLESS = 1_000_000  # chunks; nobody waits for the last one
BEGUN_S = 0.5  # by then every stream has its first chunk
LOOK_AGAIN_S = 0.5
SAMPLE_S = 0.02
LEAST_QUIET_S = 2.0  # so that two loads can be told apart

TITLE = f"{STREAMS} streams, a chunk every {PACE_MS} ms: pauses between two, less the model's own"
RELOADING, QUIET, UNDISTURBED = "while reloading", "as long without", "direct, while reloading"
AIMS = {RELOADING: "longest <= 50 ms, peak <= 1,500 MB"}

RELOAD = b"POST /reload HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n"
HEALTH = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


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
        } | ({"peak MB": max(self.memory_mb)} if self.memory_mb else {})


async def measured(proxy: Server, model: Server, reloads: int) -> Figures:
    reloading, quiet, undisturbed = Observed(), Observed(), Observed()
    async with AsyncExitStack() as stack:
        control, witness = await Connection.open(proxy.port), Witness(await Connection.open(model.port))
        asking = prompts.fresh(seed=8, chunks=ENDLESS, pace_ms=PACE_MS)
        through = await begun(stack, Target(FESTINGER, proxy, asking, recalls=True), STREAMS, witness)
        direct = await begun(stack, Target(DIRECT, model, asking), 1, witness)
        for _ in range(reloads):
            start, end = await observe(reload(control), proxy, reloading)
            reloading.pauses_ms += pauses(through, start, end)
            undisturbed.pauses_ms += pauses(direct, start, end)
            start, end = await observe(asyncio.sleep(max(LEAST_QUIET_S, (end - start) / 1e9)), proxy, quiet)
            quiet.pauses_ms += pauses(through, start, end)
    undisturbed.seconds = reloading.seconds
    rows = {RELOADING: reloading.row(), QUIET: quiet.row(), UNDISTURBED: undisturbed.row()}
    return Figures("reload", TITLE, rows, AIMS)


async def begun(stack: AsyncExitStack, target: Target, count: int, witness: Witness) -> list[Stream]:
    """So many running streams, closed with the stack."""
    streams = [await Stream.open(target.server.port) for _ in range(count)]
    for stream, request in zip(streams, target.take(count), strict=True):
        task = asyncio.ensure_future(stream.ask(request))
        stack.push_async_callback(stopped, stream, task)
    await asyncio.sleep(BEGUN_S)
    await witness.check(target, count)
    return streams


async def stopped(stream: Stream, task: asyncio.Task[list[Chunk]]) -> None:
    stream.close()
    with suppress(BenchmarkBroken):
        await task


async def observe(work: Coroutine[Any, Any, None], server: Server, observed: Observed) -> tuple[int, int]:
    """When the work began and ended, in nanoseconds."""
    gc.disable()  # a full collection here, 40 ms, would be taken for a pause of the server
    try:
        start = time.monotonic_ns()
        task = asyncio.ensure_future(work)
        while not task.done():
            observed.memory_mb.append(server.rss_mb())
            await asyncio.wait([task], timeout=SAMPLE_S)
        await task
        end = time.monotonic_ns()
    finally:
        gc.enable()
    observed.seconds.append((end - start) / 1e9)
    return start, end


async def reload(control: Connection) -> None:
    """Returns when the cache is younger than this call; ``/reload`` itself answers earlier where it takes long."""
    started = time.monotonic()
    await control.ask(RELOAD)
    while True:
        age_s = orjson.loads(await control.ask(HEALTH))["cache"]["age_s"]
        if age_s < time.monotonic() - started + LEAST_QUIET_S / 2:
            return
        await asyncio.sleep(LOOK_AGAIN_S)


def pauses(streams: Sequence[Stream], start_ns: int, end_ns: int) -> list[float]:
    """Milliseconds by which chunks came later after their predecessors than they were sent. Raises BenchmarkBroken
    where a stream has stopped."""
    found = []
    for stream in streams:
        heard = [chunk for chunk in stream.chunks if start_ns <= chunk.arrived_ns <= end_ns]
        if not heard:
            raise BenchmarkBroken("a stream has stopped")
        found += [later.delay_ms - earlier.delay_ms for earlier, later in pairwise(heard)]
    return found
