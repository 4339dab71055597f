"""What is known of models is forgotten before a client hears that they changed."""

import asyncio
from typing import Any, cast

import pytest

from proxy.upstream.asgi_types import Event, body, start
from proxy.upstream.client import Upstream
from proxy.upstream.modelfiles import KnownSystem, Modelfiles, forgetting


def known_at_each(*messages: Event) -> list[bool]:
    """Whether the model is still known when each message goes out; it is asked about again before each."""
    modelfiles = Modelfiles(cast(Upstream, None))
    found = []

    async def send(message: Event) -> None:
        found.append(bool(modelfiles._known))

    async def tell() -> None:
        for message in messages:
            modelfiles._known["m"] = KnownSystem("S", float("inf"))
            await forgetting(modelfiles, send)(message)

    asyncio.run(tell())
    return found


SUCCESS = b'{"status":"success"}\n'


@pytest.mark.parametrize(
    ("messages", "known"),
    [
        ([start(200, []), body(b'{"status":"pulling"}\n', more=True)], [False, True]),
        ([body(SUCCESS, more=True), body(b"", more=False)], [False, False]),
        ([body(b'{"status":"verifying"}\n' + SUCCESS, more=True)], [False]),
    ],
)
def test_the_change_is_told_by_the_head_by_success_and_by_the_end(messages: Any, known: list[bool]) -> None:
    assert known_at_each(*messages) == known
