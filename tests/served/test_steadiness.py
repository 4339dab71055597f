"""The server keeps nothing of requests that go wrong. ``python -m benchmarks.soak`` does the same by the thousands."""

import asyncio
from collections.abc import Iterator

import psutil
import pytest

from benchmarks.misuse import AT_ONCE, AWAY, BODY_MAX_BYTES, KINDS, drive
from benchmarks.soak import ALLOCATOR, settled, state_of
from tests.served.server import Served
from tests.standin import StandIn
from tests.waiting import eventually

REQUESTS = 3 * AT_ONCE  # of each kind: were each of them to leave a file or a task behind, that is seen
WARM_UP = AT_ONCE
LOADED_S = 120  # where the encoder's file has to be made, on a busy machine


@pytest.fixture(scope="module")
def proxy(database: str, upstream: StandIn) -> Iterator[Served]:
    settings = ALLOCATOR | {"FESTINGER_MAX_BODY_BYTES": str(BODY_MAX_BYTES)}
    served = Served(upstream=upstream.url, database=database, **settings)
    yield wait_settled(served)
    served.stop()


@pytest.fixture(scope="module")
def alone(database: str) -> Iterator[Served]:
    served = Served(upstream="http://127.0.0.1:9", database=database, **ALLOCATOR)
    yield wait_settled(served)
    served.stop()


def wait_settled(served: Served) -> Served:
    """The encoder, which is loaded in the background, takes files and memory of its own."""
    served.wait_ready()
    assert eventually(lambda: served.client.get("/health").json()["process"]["has_encoder"], within_s=LOADED_S)
    return served


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_kept_of(proxy: Served, kind: str) -> None:
    process = psutil.Process(proxy.process.pid)
    asyncio.run(drive(proxy.port, KINDS[kind], WARM_UP))
    before, bites = state_of(process, proxy.port), count_bites(proxy, kind)

    asyncio.run(drive(proxy.port, KINDS[kind], REQUESTS))

    assert not settled(process, proxy.port, before).has_grown(before)
    assert count_bites(proxy, kind) == bites + (REQUESTS if KINDS[kind].bites else 0)


def count_bites(proxy: Served, kind: str) -> int:
    """Of the bound that this kind is about."""
    bites: dict[str, int] = proxy.client.get("/health").json()["bounds"]
    return bites[KINDS[kind].bites] if KINDS[kind].bites else 0


@pytest.mark.parametrize("kind", AWAY)
def test_nothing_is_kept_where_there_is(alone: Served, kind: str) -> None:
    process = psutil.Process(alone.process.pid)
    asyncio.run(drive(alone.port, AWAY[kind], WARM_UP))
    before = state_of(process, alone.port)

    asyncio.run(drive(alone.port, AWAY[kind], REQUESTS))

    assert not settled(process, alone.port, before).has_grown(before)
