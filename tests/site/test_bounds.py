"""Every bound is documented; that of all large bodies together."""

import asyncio
import re
from contextlib import ExitStack
from pathlib import Path

import pytest
from django.conf import settings

from festinger_site import asgi
from festinger_site.serve import http_protocol
from festinger_site.serve.prompt_handler import LARGE_BYTES, LargeBodyBudget
from memory import bounds
from memory.learning import learner
from proxy.errors import TooMuchAtOnce
from proxy.upstream.asgi_types import Event, Receive

DEFINED_BY = (asgi, http_protocol, learner)  # a server and a worker, and what they import


def test_operating_lists_every_bound() -> None:
    page = (Path(settings.ROOT) / "docs" / "operating.md").read_text()
    table = page.partition("\n## Bounds\n")[2].partition("\n## ")[0]

    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(bounds.count_bites())


def test_large_bodies_find_room_beside_each_other_or_are_refused() -> None:
    chunk = {"type": "http.request", "body": b"x" * (LARGE_BYTES // 2), "more_body": True}
    budget = LargeBodyBudget()

    async def receive() -> Event:
        return chunk

    async def read(counted: Receive, chunks: int) -> None:
        for _ in range(chunks):
            await counted()

    before = bounds.count_bites()["bodies_at_once_bytes"]
    with ExitStack() as requests:
        large, other, *small = [requests.enter_context(budget.count(receive, 3 * LARGE_BYTES)) for _ in range(22)]
        asyncio.run(read(large, 4))
        for counted in small:  # they take none of it
            asyncio.run(read(counted, 2))
        with pytest.raises(TooMuchAtOnce):
            asyncio.run(read(other, 3))
        assert bounds.count_bites()["bodies_at_once_bytes"] == before + 1
    assert budget.taken == 0
