"""The client to the model server: where it connects, what it says of a server that does not answer."""

import asyncio
import gc
import socket
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Self

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from proxy.config.schema import base_address
from proxy.errors import UpstreamUnreachable
from proxy.upstream.client import Upstream
from proxy.upstream.keepalive import OPTIONS, notice_vanished
from proxy.upstream.transport import Answer
from tests.waiting import eventually_here


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


def unreachable(address: str, *, connect_timeout_s: float = 10) -> str:
    async def ask() -> str:
        upstream = Upstream(address, connect_timeout_s)
        with pytest.raises(UpstreamUnreachable) as caught:
            await upstream.open("GET", "/", [], None)
        await upstream.aclose()
        return str(caught.value)

    return asyncio.run(ask())


def test_a_server_that_does_not_take_the_connection_is_told_after_a_while() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        address = full.getsockname()
        filling = [socket.socket() for _ in range(4)]
        for client in filling:
            client.setblocking(False)
            client.connect_ex(address)

        told = unreachable(f"http://127.0.0.1:{address[1]}", connect_timeout_s=0.3)

        assert told.endswith(f"http://127.0.0.1:{address[1]}: no connection within 0.3 s")
        for client in filling:
            client.close()


def test_a_refused_connection_and_an_unknown_name_are_told_at_once() -> None:
    assert unreachable("http://127.0.0.1:9").endswith("at http://127.0.0.1:9: Connection refused")
    assert "cannot reach the model server at http://nowhere.invalid: " in unreachable("http://nowhere.invalid")


# --- moving to another address ---

HEAD = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
FIRST, LAST = b"5\r\nfirst\r\n", b"4\r\nlast\r\n0\r\n\r\n"


class Server:
    """Answers the first chunk at once, the last once ``go_on`` is true; counts its connections."""

    def __init__(self) -> None:
        self.go_on = False
        self.asked = 0
        self.connected = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        assert await eventually_here(lambda: self.connected == 0, within_s=5)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connected += 1
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while await reader.readuntil(b"\r\n\r\n"):
                self.asked += 1
                writer.write(HEAD + FIRST)
                await eventually_here(lambda: self.go_on or reader.at_eof(), within_s=10)
                writer.write(LAST)
        self.connected -= 1
        writer.close()


async def get(upstream: Upstream) -> Answer:
    return await upstream.open("GET", "/", [], None)


async def read(answer: Answer) -> bytes:
    try:
        return await answer.read()
    finally:
        await answer.aclose()


def test_after_a_move_new_requests_go_there_and_running_answers_end_as_they_would() -> None:
    async def move() -> list[bytes]:
        async with Server() as here, Server() as there:
            upstream = Upstream(here.url)
            running = [await get(upstream) for _ in range(3)]

            upstream.move(there.url, 10)
            there.go_on = True
            new = await read(await get(upstream))
            here.go_on = True
            old = [await read(answer) for answer in running]

            assert upstream.base_url == there.url
            assert (here.asked, there.asked) == (3, 1)
            # Nothing is left to wait for: its connections are closed, those to the new address are kept.
            assert await eventually_here(lambda: here.connected == 0, within_s=5)
            assert there.connected == 1
            await upstream.aclose()
            return [*old, new]

    assert asyncio.run(move()) == [b"firstlast"] * 4


def test_the_old_connections_are_closed_not_before_the_last_of_their_answers_is_given_up() -> None:
    async def move() -> None:
        async with Server() as here, Server() as there:
            upstream = Upstream(here.url)
            first, second = await get(upstream), await get(upstream)
            upstream.move(there.url, 10)

            await first.aclose()
            await asyncio.sleep(0.05)
            assert here.connected == 1
            await second.aclose()

            assert await eventually_here(lambda: here.connected == 0, within_s=5)
            await upstream.aclose()

    asyncio.run(move())


def test_a_request_on_its_way_when_the_upstream_moves_is_answered() -> None:
    async def move() -> list[bytes]:
        async with Server() as here, Server() as there:
            here.go_on = True
            there.go_on = True
            upstream = Upstream(here.url)
            asked = [asyncio.create_task(get(upstream)) for _ in range(20)]
            await asyncio.sleep(0)
            for _ in range(5):
                upstream.move(there.url, 10)
                asked += [asyncio.create_task(get(upstream)) for _ in range(20)]
                await asyncio.sleep(0)
                upstream.move(here.url, 10)
            found = [await read(await answer) for answer in asked]
            await upstream.aclose()
            return found

    assert asyncio.run(move()) == [b"firstlast"] * 120


def test_at_the_end_all_is_closed_whatever_is_under_way() -> None:
    async def move() -> None:
        async with Server() as here, Server() as there:
            upstream = Upstream(here.url)
            answers = [await get(upstream)]
            upstream.move(there.url, 10)
            answers.append(await get(upstream))

            await upstream.aclose()

            assert await eventually_here(lambda: here.connected + there.connected == 0, within_s=5)
            for answer in answers:
                await answer.aclose()

    asyncio.run(move())


def test_another_timeout_is_no_other_address_and_the_same_changes_nothing() -> None:
    async def move() -> None:
        async with Server() as here:
            here.go_on = True
            upstream = Upstream(here.url, 10)
            await read(await get(upstream))

            assert not upstream.move(here.url, 10)
            await read(await get(upstream))
            assert here.connected == 1
            assert not upstream.move(here.url, 0.5)
            assert await eventually_here(lambda: here.connected == 0, within_s=5)
            await upstream.aclose()

    asyncio.run(move())


# --- what is let go ---


class Chunks:
    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield b""


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


PIECES = ["http://", "https://", "host", "ä", "٣", "💥", "127.0.0.1", "256", "8", "[::1]", "u:p@", "%3A", "%zz"]
PIECES += [*"[].:@/\\|^{<'~+,;=&$!*(-_%?# \x00"]


@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join))
@example("@")
@example("u%3A@host")
@example("80127.0.0.1")
@example("[::1")
@example("[::1]@")
def test_an_address_that_is_taken_can_be_used(text: str) -> None:
    """It may come from config.yaml, while the server runs."""
    try:
        address = base_address(text)
    except ValueError:
        return

    assert Upstream(address).base_url.startswith("http")


def test_a_password_is_not_shown() -> None:
    assert "sesame" not in unreachable("http://Aladdin:sesame@127.0.0.1:9")


@pytest.mark.skipif(not hasattr(socket, "TCP_USER_TIMEOUT"), reason="only Linux has all options")
def test_a_listening_socket_hands_its_options_to_what_it_accepts() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        notice_vanished(listener)
        with socket.create_connection(listener.getsockname()), listener.accept()[0] as accepted:
            found = {name: accepted.getsockopt(level, getattr(socket, name)) for name, (level, _) in OPTIONS.items()}

    assert found == {name: value for name, (_, value) in OPTIONS.items()}
