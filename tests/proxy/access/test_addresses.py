"""What an address says about who speaks, and how it is taken off the path."""

import asyncio
import json
from typing import Any, get_args
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.access.agent_tokens import NAME_MAX
from memory.access.switches import Switch
from memory.attribution.client_names import is_reserved
from proxy.access.addresses import AddressMistake, AgentAddresses, read_address, split_address
from proxy.upstream.asgi_types import AsgiScope, Event


@pytest.mark.parametrize(
    ("raw_path", "name", "off", "rest"),
    [
        (b"/agent/zero/v1/models", "zero", [], b"/v1/models"),
        (b"/agent/zero", "zero", [], b"/"),
        (b"/agent/zero/", "zero", [], b"/"),
        (b"//agent/zero/api/chat", "zero", [], b"/api/chat"),
        (b"/agent/zero//api/chat", "zero", [], b"//api/chat"),
        (b"/%61gent/zero/api/chat", "zero", [], b"/api/chat"),
        (b"/agent/zero,learn=off/api/chat", "zero", ["learn"], b"/api/chat"),
        (b"/agent/zero,ask=off,recall=off/api/chat", "zero", ["ask", "recall"], b"/api/chat"),
        (b"/agent/zero%2Clearn%3Doff/api/chat", "zero,learn=off", [], b"/api/chat"),
        (b"/agent/zero,learn%3Doff/api/chat", "zero", ["learn"], b"/api/chat"),
        (b"/agent/Dobby%20the%2FElf/api/%63hat", "Dobby the/Elf", [], b"/api/%63hat"),
        (b"/agent/g%C3%B6the/x", "göthe", [], b"/x"),
    ],
)
def test_an_address_has_a_name_and_switches(raw_path: bytes, name: str, off: list[str], rest: bytes) -> None:
    prefix, behind = split_address(raw_path)

    address = read_address(prefix)

    assert (address.name, address.off, behind) == (name, frozenset(off), rest)
    assert raw_path in (prefix + behind, prefix)


@given(
    st.text(min_size=1, max_size=NAME_MAX).filter(lambda name: name.isprintable() and name.strip() == name),
    st.sets(st.sampled_from(get_args(Switch))),
)
@example("a,b=c/d%2F?#", {"learn"})
def test_every_name_can_be_written_in_an_address(name: str, off: set[Switch]) -> None:
    segment = ",".join([quote(name, safe=""), *(f"{switch}=off" for switch in off)])
    prefix, rest = split_address(f"/agent/{segment}/api/chat".encode())

    assert rest == b"/api/chat"
    if not is_reserved(name):
        address = read_address(prefix)
        assert (address.name, address.off) == (name, off)


@pytest.mark.parametrize(
    ("segment", "mistake"),
    [
        (b",learn=off", "1 to 100 printable"),
        (b"%20", "1 to 100 printable"),
        (b"x" * (NAME_MAX + 1), "1 to 100 printable"),
        (b"a%0Ab", "1 to 100 printable"),
        (b"%ff", "UTF-8"),
        (b"\xff", "UTF-8"),
        (b"anonymous", "anonymous is what agents without a token are called"),
        (b"Loopback", "Loopback is what"),
        (b"dobby@10.0.0.7", "dobby@10.0.0.7 is what"),
        (b"zero,learn=on", "learn=on is no switch"),
        (b"zero,learn", "learn= is no switch"),
        (b"zero,teach=off", "teach=off is no switch of an address; there are recall=off, learn=off, ask=off"),
        (b"zero,", "= is no switch"),
    ],
)
def test_a_bad_address_is_refused_with_the_reason(segment: bytes, mistake: str) -> None:
    prefix, _ = split_address(b"/agent/" + segment + b"/api/chat")

    with pytest.raises(AddressMistake, match=mistake):
        read_address(prefix)


def call(
    path: str, raw_path: bytes = b"", *, target: bytes = b"", location: bytes = b"/"
) -> tuple[list[AsgiScope], list[Any]]:
    """Return the scope that the application behind got, if it was called, and what was sent to the client. The
    application redirects to ``location``."""
    seen: list[AsgiScope] = []
    sent: list[Any] = []

    async def app(scope: AsgiScope, _: object, send: Any) -> None:
        seen.append(scope)
        await send({"type": "http.response.start", "status": 307, "headers": [(b"location", location)]})

    async def receive() -> Event:
        return {"type": "http.request"}

    async def send(event: Event) -> None:
        sent.append(event)

    raw_path = raw_path or path.replace("chat", "%63hat").encode()
    scope = {"type": "http", "path": path, "raw_path": raw_path, "target": target or raw_path, "query_string": b""}
    asyncio.run(AgentAddresses(app, is_own=lambda path: path.startswith("/admin/"))(scope, receive, send))
    return seen, sent


@pytest.mark.parametrize(
    ("target", "plain"),
    [
        (b"/agent/zero/api/%63hat?x=1", b"/api/%63hat?x=1"),
        (b"/agent/zero/api/%63hat?", b"/api/%63hat?"),
        (b"http://localhost:11435/agent/zero/api/%63hat?x=/agent/zero", b"/api/%63hat?x=/agent/zero"),
    ],
)
def test_what_is_behind_sees_the_plain_path(target: bytes, plain: bytes) -> None:
    [scope], _ = call("/agent/zero/api/chat", target=target)

    assert (scope["path"], scope["raw_path"], scope["target"]) == ("/api/chat", b"/api/%63hat", plain)
    assert scope["agent_address"].name == "zero"


@pytest.mark.parametrize("path", ["/", "/api/chat", "/agents/zero", "/api/agent/zero"])
def test_other_paths_pass_as_they_came(path: str) -> None:
    [scope], _ = call(path)

    assert (scope["path"], "agent_address" in scope) == (path, False)


@pytest.mark.parametrize(
    ("path", "raw_path", "mistake"),
    [
        ("/agent", b"", "no agent"),
        ("/agent/", b"", "no agent"),
        ("/agent//api/chat", b"", "no agent"),
        ("//agent/zero", b"/%2Fagent/zero", "no agent"),
        ("/agent/zero/x", b"/agent%2Fzero/x", "no agent"),
        ("/agent/zero//agent/zero/api/chat", b"", "two agents"),
    ],
)
def test_a_bad_address_ends_here_with_400(path: str, raw_path: bytes, mistake: str) -> None:
    seen, [start, body] = call(path, raw_path)

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
    _, [start] = call(path, location=location)

    assert start["headers"] == [(b"location", expected)]
