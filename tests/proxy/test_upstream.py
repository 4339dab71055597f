"""The client to the model server: where it connects, what it says of a server that does not answer."""

import asyncio
import gc
import socket
import time
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

import pytest

from proxy import transport
from proxy.errors import UpstreamUnreachable
from proxy.sockets import OPTIONS, notice_vanished
from proxy.upstream import Upstream


async def asked_of(address: str, use: Callable[[Upstream], Awaitable[object]]) -> bytes:
    """The request that arrives at a server under ``address``, in which ``{}`` is its port."""
    heads: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    upstream = Upstream(address.format(server.sockets[0].getsockname()[1]))
    await use(upstream)
    await upstream.aclose()
    server.close()
    return heads[0]


async def get_tags(upstream: Upstream) -> None:
    answer = await upstream.open("GET", "/api/tags?", [(b"x", b"1"), (b"authorization", b"Bearer client's")], None)
    await answer.aclose()


def test_an_address_may_have_a_path_in_front() -> None:
    head = asyncio.run(asked_of("http://127.0.0.1:{}/ollama", get_tags))

    assert head.startswith(b"GET /ollama/api/tags? HTTP/1.1\r\nhost: 127.0.0.1:")
    assert b"\r\nauthorization: Bearer client's\r\n" in head


def test_user_and_password_in_the_address_take_the_place_of_the_clients() -> None:
    head = asyncio.run(asked_of("http://Aladdin:open%20sesame@127.0.0.1:{}", get_tags))

    assert head.count(b"authorization") == 1
    assert b"\r\nauthorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==\r\n" in head


def unreachable(address: str) -> str:
    async def ask() -> str:
        upstream = Upstream(address)
        with pytest.raises(UpstreamUnreachable) as caught:
            await upstream.open("GET", "/", [], None)
        await upstream.aclose()
        return str(caught.value)

    return asyncio.run(ask())


def test_a_server_that_does_not_take_the_connection_is_told_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "CONNECT_S", 0.3)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        address = full.getsockname()
        filling = [socket.socket() for _ in range(4)]
        for client in filling:
            client.setblocking(False)
            client.connect_ex(address)
        started = time.monotonic()

        told = unreachable(f"http://127.0.0.1:{address[1]}")

        assert 0.2 < time.monotonic() - started < 3
        assert told.endswith(f"http://127.0.0.1:{address[1]}: no connection within 10 s")
        for client in filling:
            client.close()


def test_a_refused_connection_and_an_unknown_name_are_told_at_once() -> None:
    assert "Connect call failed" in unreachable("http://127.0.0.1:9")
    assert "cannot reach the model server at http://nowhere.invalid: " in unreachable("http://nowhere.invalid")


class Chunks(AsyncIterator[bytes]):
    async def __anext__(self) -> bytes:
        raise StopAsyncIteration


def test_a_body_that_could_not_be_sent_is_let_go_at_once() -> None:
    async def ask() -> weakref.ref[Chunks]:
        upstream = Upstream("http://127.0.0.1:9")
        body = Chunks()
        with suppress(UpstreamUnreachable):
            await upstream.open("POST", "/", [], body)
        await upstream.aclose()
        return weakref.ref(body)

    gc.disable()
    try:
        assert asyncio.run(ask())() is None
    finally:
        gc.enable()


def test_a_password_is_not_shown() -> None:
    assert "sesame" not in unreachable("http://Aladdin:sesame@127.0.0.1:9")


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux has all options")
def test_a_listening_socket_hands_its_options_to_what_it_accepts() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        notice_vanished(listener)
        with socket.create_connection(listener.getsockname()), listener.accept()[0] as accepted:
            found = {name: accepted.getsockopt(level, getattr(socket, name)) for name, (level, _) in OPTIONS.items()}

    assert found == {name: value for name, (_, value) in OPTIONS.items()}
