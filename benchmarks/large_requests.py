"""How long streams pause while somebody sends large requests: many messages, dense JSON, many bytes."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks import prompts
from benchmarks.client import Connection
from benchmarks.figures import Figures, Rows
from benchmarks.loop import run
from benchmarks.plan import Plan
from benchmarks.reloading import ENDLESS, PACE_MS, STREAMS, Observed, begun, observe, pauses
from benchmarks.servers import Server, servers
from benchmarks.targets import FESTINGER, Target, Witness

ROUNDS_MAX = 5
REQUESTS_EACH = 5  # one after the other
REST_S = 0.1  # after each
TITLE = (
    f"{STREAMS} streams, a chunk every {PACE_MS} ms: pauses between two, less the model's own, beside large requests"
)
QUIET = "nothing beside them"
AIM = "longest <= 50 ms"


def chat(messages: bytes) -> bytes:
    return prompts.post("/api/chat", b'{"model":"mock","stream":false,"messages":[%s]}' % messages)


LAST = b'{"role":"user","content":"hi"}'
LARGE: dict[str, bytes] = {
    "160,000 empty messages": chat(b"{}," * 160_000 + LAST),
    "5,000 messages": chat(b",".join(b'{"role":"user","content":"note %d"}' % number for number in range(5_000))),
    "4 MB of empty lists": chat(b"[]," * 1_300_000 + LAST),
    "8 MB of objects": chat(b'{"a":1},' * 1_000_000 + LAST),
    "8 MB of pictures": chat(b'{"role":"user","content":"hi","images":["%s"]},' % (b"abcd" * 2_000_000) + LAST),
    "4 MB of text": chat(b'{"role":"user","content":"%s"},' % (b'Kvasir is up, \\"again\\". ' * 150_000) + LAST),
}


def measure(home: Path, plan: Plan) -> Iterator[Figures]:
    with servers(home) as running:
        rows = run(sample(running.festinger, running.model, min(plan.rounds, ROUNDS_MAX)))
    yield Figures("large requests", TITLE, rows, dict.fromkeys(LARGE, AIM))


async def sample(proxy: Server, model: Server, rounds: int) -> Rows:
    observed = {name: Observed() for name in (QUIET, *LARGE)}
    async with AsyncExitStack() as stack:
        witness, sender = Witness(await Connection.open(model.port)), await Connection.open(proxy.port)
        stack.callback(sender.close)
        asking = prompts.fresh(seed=12, chunks=ENDLESS, pace_ms=PACE_MS)
        streams = await begun(stack, Target(FESTINGER, proxy, asking, recalls=True), STREAMS, witness)
        for _ in range(rounds):
            for name, own in observed.items():
                start, end = await observe(send(sender, LARGE.get(name, b"")), proxy, own)
                own.pauses_ms += pauses(streams, start, end)
    return {name: own.row() for name, own in observed.items()}


async def send(sender: Connection, request: bytes) -> None:
    for _ in range(REQUESTS_EACH):
        if request:
            await sender.ask(request)
        await asyncio.sleep(REST_S)
