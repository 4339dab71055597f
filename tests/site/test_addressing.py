"""The address of an agent is taken off where a request is received."""

import asyncio
import json
from typing import Any

import pytest

from festinger_site.asgi import is_own
from festinger_site.server.addressing import AgentAddresses
from proxy.upstream.asgi_types import AsgiScope, Event


def call(path: str, raw_path: bytes, target: bytes, answer: Event) -> tuple[list[AsgiScope], list[Any]]:
    """The scope that the application behind got, if it was called, and what was sent to the client."""
    seen: list[AsgiScope] = []
    sent: list[Any] = []

    async def app(scope: AsgiScope, _: object, send: Any) -> None:
        seen.append(scope)
        await send(answer)

    async def receive() -> Event:
        return {"type": "http.request"}

    async def send(event: Event) -> None:
        sent.append(event)

    scope = {"type": "http", "path": path, "raw_path": raw_path, "target": target, "query_string": b""}
    asyncio.run(AgentAddresses(app, is_own=is_own)(scope, receive, send))
    return seen, sent


def answer(status: int, *headers: tuple[bytes, bytes]) -> Event:
    return {"type": "http.response.start", "status": status, "headers": list(headers)}


@pytest.mark.parametrize(
    ("target", "plain"),
    [
        (b"/agent/zero/api/%63hat?x=1", b"/api/%63hat?x=1"),
        (b"/agent/zero/api/%63hat?", b"/api/%63hat?"),
        (b"http://localhost:11435/agent/zero/api/%63hat?x=/agent/zero", b"/api/%63hat?x=/agent/zero"),
    ],
)
def test_what_is_behind_sees_the_plain_path(target: bytes, plain: bytes) -> None:
    [scope], _ = call("/agent/zero/api/chat", b"/agent/zero/api/%63hat", target, answer(200))

    assert (scope["path"], scope["raw_path"], scope["target"]) == ("/api/chat", b"/api/%63hat", plain)
    assert scope["agent_address"].name == "zero"


def test_other_paths_pass_as_they_came() -> None:
    [scope], _ = call("/api/chat", b"/api/chat", b"/api/chat", answer(200))

    assert (scope["path"], "agent_address" in scope) == ("/api/chat", False)


@pytest.mark.parametrize(
    ("path", "mistake"),
    [
        ("/agent", "no agent"),
        ("/agent/zero/agent/zero/api/chat", "two agents"),
        ("/agent/zero,teach=off/api/chat", "teach=off is no switch"),
    ],
)
def test_a_bad_address_ends_here_with_400(path: str, mistake: str) -> None:
    seen, [start, body] = call(path, path.encode(), path.encode(), answer(200))

    assert (seen, start["status"]) == ([], 400)
    assert mistake in json.loads(body["body"])["error"]


@pytest.mark.parametrize(
    ("path", "location", "expected"),
    [
        ("/agent/zero,learn=off/api/chat/", b"/api/chat", b"/agent/zero,learn=off/api/chat"),
        ("/agent/zero/api/chat/", b"https://ollama.com/", b"https://ollama.com/"),
        ("/agent/zero/admin/", b"/admin/login/", b"/admin/login/"),
    ],
)
def test_redirects_of_the_model_server_stay_under_the_address(path: str, location: bytes, expected: bytes) -> None:
    _, [start] = call(path, path.encode(), path.encode(), answer(307, (b"location", location)))

    assert start["headers"] == [(b"location", expected)]
