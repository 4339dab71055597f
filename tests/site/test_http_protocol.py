"""What a connection takes before anybody knows who sends it, over real sockets."""

import asyncio
import re

import pytest
import uvicorn
from uvicorn.server import ServerState

from festinger_site.serve import http_protocol
from festinger_site.serve.http_protocol import FIELDS_MAX, HEADERS_MAX_BYTES, PIPELINED_MAX, TARGET_MAX_BYTES
from memory import bounds
from proxy.upstream.asgi_types import AsgiScope, Receive, Send, body, start

BOUND_NAMES = ("request_target", "request_headers", "request_head_seconds", "pipelined_requests")
PATIENCE_S = 30
SLOW_S = 0.1


async def application(scope: AsgiScope, receive: Receive, send: Send) -> None:
    """Answers with the request's body, which it reads unless the path is /early; /slow takes a while."""
    content = b""
    is_more = scope["path"] != "/early"
    while is_more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        content += message["body"]
        is_more = message["more_body"]
    if scope["path"] == "/slow":
        await asyncio.sleep(SLOW_S)
    await send(start(200, [(b"content-length", b"%d" % len(content))]))
    await send(body(content, more=False))


def statuses_of(*sent: bytes) -> list[int]:
    """What comes back on one connection until the server closes it, or until as many answers came as were asked for."""

    async def talk() -> list[int]:
        configuration = uvicorn.Config(application, http=http_protocol.ExactProtocol, ws="none", log_config=None)
        configuration.load()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: http_protocol.ExactProtocol(configuration, ServerState(), {}), "127.0.0.1", 0
        )
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        for data in sent:
            writer.write(data)
            await asyncio.sleep(0)
        async with asyncio.timeout(PATIENCE_S):
            seen = await reader.read()
        writer.close()
        server.close()
        return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+)", seen)]

    return asyncio.run(talk())


def head(*fields: str, target: str = "/", is_last: bool = True) -> bytes:
    ending = ["Connection: close"] if is_last else []
    return "\r\n".join([f"GET {target} HTTP/1.1", "Host: localhost", *fields, *ending, "", ""]).encode()


def fields(count: int, length: int = 1) -> list[str]:
    return [f"X-{number}: {'x' * length}" for number in range(count)]


UPGRADE = "Upgrade: h2c\r\nConnection: Upgrade"
LONGEST = "/" + "x" * (TARGET_MAX_BYTES - 1)
SENT: dict[str, tuple[list[bytes], list[int], str]] = {
    "a long target": ([head(target=LONGEST)], [200], ""),
    "too long a target": ([head(target=LONGEST + "x")], [414], "request_target"),
    "a target without end": ([b"GET /", *[b"x" * 10_000] * 100], [414], "request_target"),
    "many fields": ([head(*fields(FIELDS_MAX - 2))], [200], ""),
    "too many fields": ([head(*fields(FIELDS_MAX - 1))], [431], "request_headers"),
    "large headers": ([head(*fields(60, 1_000))], [200], ""),
    "too large headers": ([head(*fields(66, 1_000))], [431], "request_headers"),
    "one too large": ([head(*fields(1, HEADERS_MAX_BYTES))], [431], "request_headers"),
    "a header without end": ([b"GET / HTTP/1.1\r\nX: ", *[b"x" * 10_000] * 200], [431], "request_headers"),
    "headers without end": ([b"GET / HTTP/1.1\r\n", *[b"X: y\r\n" * 50] * 10], [431], "request_headers"),
    "an upgrade with many fields": ([head(UPGRADE, *fields(150), is_last=False), head()], [200, 200], ""),
    "many upgrades at once": ([head(UPGRADE, is_last=False) * 600 + head()], [200] * 601, ""),
    "too many requests at once": ([head(is_last=False) * 2_000], [200] * (PIPELINED_MAX + 1), "pipelined_requests"),
    "a good request, then a bad head": ([head(is_last=False) + head(target=LONGEST + "x")], [200], "request_target"),
    "no HTTP": ([b"hello\r\n\r\n"], [400], ""),
    "CONNECT": ([b"CONNECT x:1 HTTP/1.1\r\n\r\n"], [400], ""),
    "a bad chunk": ([b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", b"zz\r\n"], [400], ""),
    "a bad chunk after the answer": (
        [b"POST /early HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n", *[b"1\r\na\r\n"] * 20, b"zz\r\n"],
        [200],
        "",
    ),
}


@pytest.mark.parametrize("name", SENT)
def test_what_is_sent_before_a_body_is_bounded(name: str) -> None:
    sent, statuses, bound = SENT[name]
    before = bounds.count_bites()

    assert statuses_of(*sent) == statuses

    after = bounds.count_bites()
    assert [name for name in BOUND_NAMES if after[name] != before[name]] == [bound] * bool(bound)


SLOWLY: dict[str, tuple[bytes, list[int], int]] = {
    "nothing": (b"", [], 1),
    "half a head": (head()[:-2], [408], 1),
    "blank lines": (b"\r\n\r\n", [], 1),
    "half a head after an answer": (head(is_last=False) + head()[:-2], [200, 408], 1),
    "half a head beside an answer that takes long": (head(target="/slow", is_last=False) + head()[:-2], [200, 408], 1),
    "an answer that takes long": (head(target="/slow"), [200], 0),
}


@pytest.mark.parametrize("name", SLOWLY)
def test_a_head_that_does_not_come_ends_the_connection(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_protocol, "HEAD_S", SLOW_S / 5)
    sent, statuses, bites = SLOWLY[name]
    before = bounds.count_bites()["request_head_seconds"]

    assert statuses_of(sent) == statuses
    assert bounds.count_bites()["request_head_seconds"] == before + bites
