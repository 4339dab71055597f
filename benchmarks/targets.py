"""Where the prompts go: to the model server itself, through the bare forwarder, through Festinger."""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import islice

import orjson

from benchmarks import prompts
from benchmarks.client import BenchmarkBroken, Connection
from benchmarks.servers import Server, Servers

WARM_UP = 50  # requests per target: connections, memos and branch predictors
DIRECT, FORWARDER, FESTINGER = "direct", "bare forwarder", "Festinger"
RESENT, OFF = "Festinger, resent", "Festinger, off"
FACTS_ONLY = "Festinger, facts only"
OFF_HEADER = "X-Festinger: off\r\n"

Prompts = Callable[[str], Iterator[bytes]]  # requests with these headers, always the same ones


@dataclass(frozen=True, slots=True)
class Target:
    """``recalls``: its prompts must arrive with the five facts; those of the others, without any."""

    name: str
    server: Server
    requests: Iterator[bytes]
    recalls: bool = False

    def take(self, count: int) -> list[bytes]:
        return list(islice(self.requests, count))


def targets_of(running: Servers, asking: Prompts) -> list[Target]:
    """All of them get the same prompts."""
    return [
        Target(DIRECT, running.model, asking("")),
        Target(FORWARDER, running.forwarder, asking("")),
        Target(FESTINGER, running.festinger, asking(""), recalls=True),
        Target(OFF, running.festinger, asking(OFF_HEADER)),
    ]


@asynccontextmanager
async def connected(target: Target, count: int) -> AsyncIterator[Sequence[Connection]]:
    connections = [await Connection.open(target.server.port) for _ in range(count)]
    try:
        yield connections
    finally:
        for connection in connections:
            connection.close()


class Witness:
    """Asks the model server what it saw."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.last_blocks: dict[str, str] = {}

    async def check(self, target: Target, prompts_sent: int) -> None:
        """Raises BenchmarkBroken unless each prompt since the last check arrived as it should have."""
        seen = orjson.loads(await self._connection.ask(b"GET /seen HTTP/1.1\r\nHost: model\r\n\r\n"))
        expected = (prompts_sent, prompts_sent if target.recalls else 0)
        if (seen["prompts"], seen["recollections"]) != expected:
            due = f"{target.name}: {expected} prompts and recollections were due, not {seen}"
            raise BenchmarkBroken(f"{due}\n{target.server.complaints()}")
        block = self.last_blocks[target.name] = seen["last_block"]
        if target.recalls and not all(f"\n{concept}: " in block for concept in prompts.CONCEPTS):
            raise BenchmarkBroken(f"{target.name}: not all five concepts are in {block!r}")
