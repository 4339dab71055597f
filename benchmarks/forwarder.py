"""The yardstick: a forwarder on the same server and client as Festinger that does nothing else. It does not
even notice when its client leaves."""

import os
from collections.abc import Iterable

import aiohttp
import httpx
from httpx_aiohttp import AiohttpTransport

from proxy.upstream.asgi_types import AsgiScope, Receive, Send, body, start

UPSTREAM = os.environ["FESTINGER_UPSTREAM"]


def session() -> aiohttp.ClientSession:
    return aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar())


client = httpx.AsyncClient(transport=AiohttpTransport(client=session), timeout=None, trust_env=False)


async def application(scope: AsgiScope, receive: Receive, send: Send) -> None:
    if scope["type"] != "http":
        return
    content = await read(receive)
    headers = without(scope["headers"], b"host")
    request = client.build_request(scope["method"], UPSTREAM + scope["path"], headers=headers, content=content)
    answer = await client.send(request, stream=True)
    try:
        await send(start(answer.status_code, without(answer.headers.raw, b"transfer-encoding")))
        async for chunk in answer.aiter_raw():
            await send(body(chunk, more=True))
        await send(body(b"", more=False))
    finally:
        await answer.aclose()


async def read(receive: Receive) -> bytes:
    chunks = []
    is_complete = False
    while not is_complete:
        message = await receive()
        chunks.append(message.get("body", b""))
        is_complete = not message.get("more_body", False)
    return b"".join(chunks)


def without(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[tuple[bytes, bytes]]:
    return [header for header in headers if header[0].lower() != name]
