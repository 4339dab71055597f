"""What is known of models is forgotten before a client hears that they changed."""

import asyncio
from typing import Any, cast

import httpx
import orjson
import pytest

from memory import bounds
from proxy.upstream.asgi_types import Event, body, start
from proxy.upstream.client import Upstream
from proxy.upstream.modelfiles import NAME_MAX, QUESTIONS_MAX, KnownSystem, Modelfiles, forgetting


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


class Shows:
    """An upstream that knows every model, and answers when it may."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.may_answer = asyncio.Event()

    async def open(self, method: str, target: str, headers: object, content: bytes) -> httpx.Response:
        self.asked.append(orjson.loads(content)["model"])
        await self.may_answer.wait()
        return httpx.Response(200, json={"system": "S"})


@pytest.mark.parametrize("name", ["m" * (NAME_MAX + 1), "m\nforged", "\u202em", "m" * 1_000_000])
def test_what_cannot_be_a_name_is_neither_asked_about_nor_kept(name: str) -> None:
    async def ask() -> None:
        upstream = Shows()
        modelfiles = Modelfiles(cast(Upstream, upstream))

        assert modelfiles.system_of(name) is None
        await asyncio.sleep(0)
        assert (upstream.asked, modelfiles._known, modelfiles._asking) == ([], {}, {})

    asyncio.run(ask())


def test_the_upstream_is_asked_a_few_questions_at_once() -> None:
    async def ask() -> None:
        upstream = Shows()
        modelfiles = Modelfiles(cast(Upstream, upstream))
        names = [f"m{number}" for number in range(QUESTIONS_MAX + 2)]

        for _ in range(2):
            assert {modelfiles.system_of(name) for name in names} == {None}
            await asyncio.sleep(0)
        assert upstream.asked == names[:QUESTIONS_MAX]

        upstream.may_answer.set()
        while modelfiles._asking:
            await asyncio.sleep(0)
        assert [modelfiles.system_of(name) for name in names] == ["S"] * QUESTIONS_MAX + [None] * 2
        modelfiles.forget()

    before = bounds.count_bites()["modelfile_questions"]
    asyncio.run(ask())
    assert bounds.count_bites()["modelfile_questions"] == before + 4
