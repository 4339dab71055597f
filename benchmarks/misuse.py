"""Requests that go wrong, each in its way: a client that leaves, a model that breaks off, bytes that are no HTTP, a
message full of junk. And the graph that such messages leave behind.

The models are those of the stand-in for Ollama."""

import asyncio
import socket
import struct
from contextlib import suppress
from dataclasses import dataclass

import orjson

from benchmarks.client import HOST
from memory.cache.state import Cache
from memory.settings.registry import Tuning
from memory.types import EdgeRow, SoasRow
from proxy.formats.base import PARTS_MAX
from proxy.formats.bounded_requests import JSON_MAX_BYTES

BODY_MAX_BYTES = 4_100_000  # the server's FESTINGER_MAX_BODY_BYTES has to be this
AT_ONCE = 16
PATIENCE_S = 20
LEAVE_AFTER_S = 0.01  # time for the server to take in what it got
END = b""
RESET = struct.pack("ii", 1, 0)  # SO_LINGER: on, for 0 s


@dataclass(frozen=True, slots=True)
class Misuse:
    """``sent`` goes out; the client leaves when it has seen ``awaits`` in what comes back (END: with the end of it;
    None: at once). ``bites``: the bound that each of them reaches."""

    sent: bytes
    awaits: bytes | None = END
    resets: bool = False
    bites: str = ""

    async def once(self, port: int) -> None:
        reader, writer = await asyncio.open_connection(HOST, port)
        with suppress(ConnectionError):
            writer.write(self.sent)
            await (asyncio.sleep(LEAVE_AFTER_S) if self.awaits is None else until(reader, self.awaits))
        if self.resets:
            tcp: socket.socket = writer.get_extra_info("socket")
            tcp.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def until(reader: asyncio.StreamReader, awaited: bytes) -> None:
    """Raises TimeoutError."""
    async with asyncio.timeout(PATIENCE_S):
        seen = b""
        while chunk := await reader.read(65536):
            seen = seen[-len(awaited) :] + chunk
            if awaited and awaited in seen:
                return


async def drive(port: int, misuse: Misuse, count: int) -> None:
    """``count`` times, AT_ONCE at a time."""
    left = iter(range(count))

    async def client() -> None:
        for _ in left:
            await misuse.once(port)

    await asyncio.gather(*[client() for _ in range(AT_ONCE)])


def request(line: str, body: bytes = b"", *headers: str) -> bytes:
    lines = [f"{line} HTTP/1.1", "Host: localhost", "Connection: close", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


def chat(model: str, text: str = "the gnommoweb", **more: object) -> bytes:
    said = {"model": model, "messages": [{"role": "user", "content": text}], **more}
    return request("POST /api/chat", orjson.dumps(said))


def repeat(message: bytes, count: int) -> bytes:
    """A prompt of that message so many times."""
    return request("POST /api/chat", b'{"model":"llama3","messages":[%s{}]}' % (message * count))


def passed(model: str) -> bytes:
    """To a route that passes through: the stand-in's /v1 has the same models."""
    said = {"model": model, "messages": [{"role": "user", "content": "hi"}], "stream": True}
    return request("POST /v1/chat/completions", orjson.dumps(said))


JUNK = " ".join(f"gnommoweb is a ajunk{n}q of Zz{n}q." for n in range(80))
UPLOAD = b"POST /api/blobs/sha256:0 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n\r\n" + b"x" * 200_000
LINE = b'"content"'

KINDS: dict[str, Misuse] = {
    "all is well": Misuse(chat("llama3")),
    "all is well, passing through": Misuse(passed("llama3")),
    "leaves before the status": Misuse(chat("hang-before"), None),
    "leaves before the status, passing through": Misuse(passed("hang-before"), None),
    "leaves before the status, no stream": Misuse(chat("hang-before", stream=False), None),
    "leaves after the headers": Misuse(chat("hang-headers"), b"HTTP/1.1 200"),
    "leaves in the stream": Misuse(chat("hang"), LINE),
    "leaves in the stream, passing through": Misuse(passed("hang"), LINE),
    "resets in the stream": Misuse(chat("hang"), LINE, resets=True),
    "leaves while much waits for it": Misuse(chat("long-lines"), b"HTTP/1.1 200"),
    "leaves while it sends": Misuse(UPLOAD, None),
    "resets while it sends": Misuse(UPLOAD, None, resets=True),
    "half a head": Misuse(chat("llama3")[:40], None),
    "half a body": Misuse(chat("llama3")[:-5], None),
    "half a body, passing through": Misuse(passed("llama3")[:-5], None),
    "says nothing": Misuse(b"", None),
    "an error before the answer": Misuse(chat("fail-before")),
    "a full queue": Misuse(chat("busy")),
    "an error in mid-stream": Misuse(chat("fail-mid")),
    "a stream that is cut": Misuse(chat("cut")),
    "a stream that is cut, passing through": Misuse(passed("cut")),
    "a stream without done": Misuse(chat("no-done")),
    "thousands of new words": Misuse(chat("llama3", " ".join(f"zorblat{number:x}" for number in range(8_000)))),
    "an unknown model": Misuse(chat("nobody")),
    "too long a model's name": Misuse(
        request(
            "POST /api/chat",
            orjson.dumps({"model": "x" * 201, "messages": [{"role": "assistant", "content": "hi"}], "stream": False}),
        ),
        bites="model_name",
    ),
    "too many messages": Misuse(repeat(b'{"role":"user","content":"hi"},', PARTS_MAX), bites="request_parts"),
    "too many values": Misuse(
        repeat(b'{"role":"user","content":[[],[],[],[],[],[]]},', PARTS_MAX - 1), bites="request_values"
    ),
    "too long a JSON": Misuse(chat("llama3", "the gnommoweb " * (JSON_MAX_BYTES // 14)), bites="request_bytes"),
    "too many sections": Misuse(
        request("POST /api/generate", orjson.dumps({"model": "llama3", "prompt": "### User:\n" * (PARTS_MAX + 1)})),
        bites="request_parts",
    ),
    "too large a body": Misuse(request("POST /api/chat", b"x" * (BODY_MAX_BYTES + 1)), bites="body_bytes"),
    "too large a body, passing through": Misuse(
        request("POST /api/embed", b"x" * (BODY_MAX_BYTES + 1)), bites="body_bytes"
    ),
    "too large a body, own page": Misuse(request("POST /iknowthat", b"x" * (1024 * 1024 + 1)), bites="own_body_bytes"),
    "too large a body, no login": Misuse(
        request("POST /admin/login/", b"x" * (1024 * 1024 + 1)), bites="stranger_body_bytes"
    ),
    "too many values, own page": Misuse(request("POST /iknowthat", b"[%s]" % (b"[]," * 50_000)), bites="own_values"),
    "too long a target": Misuse(request(f"GET /{'x' * 16_384}"), bites="request_target"),
    "too many headers": Misuse(
        request("GET /api/tags", b"", *[f"X-{n}: 1" for n in range(200)]), bites="request_headers"
    ),
    "too large headers": Misuse(request("GET /api/tags", b"", f"X: {'x' * 65_536}"), bites="request_headers"),
    "a header without end": Misuse(b"GET / HTTP/1.1\r\nX: " + b"x" * 1_000_000, bites="request_headers"),
    "too many requests at once": Misuse(
        request("GET /nowhere").replace(b"close", b"keep-alive") * 1_100, b"HTTP/1.1 404", bites="pipelined_requests"
    ),
    "many upgrades at once": Misuse(
        request("GET /nowhere").replace(b": close", b": Upgrade\r\nUpgrade: h2c") * 50 + request("GET /nowhere")
    ),
    "no HTTP": Misuse(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    "two lengths": Misuse(request("POST /api/chat", b"{}", "Content-Length: 5")),
    "broken JSON": Misuse(request("POST /api/chat", b'{"model": '), bites="request_unread"),
    "broken JSON, own page": Misuse(request("POST /iknowthat", b'{"fact": ', "Content-Type: application/json")),
    "no fact": Misuse(request("POST /iknowthat", b'{"fact": "x"}', "Content-Type: application/json")),
    "a wrong method": Misuse(request("DELETE /api/chat")),
    "a wrong method, own page": Misuse(request("DELETE /health")),
    "an unknown route": Misuse(request("GET /nowhere")),
    "a hidden route": Misuse(request("GET /debug/pprof")),
    "health, again and again": Misuse(request("GET /health")),
    "HEAD": Misuse(request("HEAD /api/tags")),
    "HEAD, own page": Misuse(request("HEAD /health")),
    "HTTP/1.0": Misuse(chat("llama3").replace(b"HTTP/1.1", b"HTTP/1.0")),
    "offers HTTP/2": Misuse(chat("llama3").replace(b": close", b": Upgrade, close\r\nUpgrade: h2c")),
    "a flood of statements": Misuse(chat("llama3", JUNK)),
    "a foreign host": Misuse(request("GET /api/tags").replace(b"localhost", b"evil.example")),
}
AWAY = {  # with no model server
    "no model server": Misuse(chat("llama3")),
    "no model server, passing through": Misuse(passed("llama3")),
    "no model server, an upload": Misuse(UPLOAD, b"502"),
}


GNOMMOWEB = 2
TAUGHT = "[type] repo"  # by an operator, the first of all facts about gnommoweb


def flood(facts: int, now: float) -> Cache:
    """A graph in which gnommoweb has so many facts, all but one of them junk that came later, each in a dimension of
    its own; kvasir and dobby have one each."""
    cache = Cache(tuning=Tuning(recollection_style="compact"))
    for number, word in enumerate(("type", "repo", "gnommoweb", "kvasir", "dobby")):
        cache.put_soas(word, SoasRow(number, novelty=float(number > 1), last_seen=now - number))
    taught = EdgeRow(GNOMMOWEB, 1, 0, True, 0.9, "operator", now - 1e6)
    junk = []
    for number in range(10, 10 + 2 * (facts - 1), 2):
        cache.put_soas(f"ajunk{number}q", SoasRow(number))
        cache.put_soas(f"zz{number}q", SoasRow(number + 1))
        junk.append(EdgeRow(GNOMMOWEB, number, number + 1, True, 0.8, "inferred", now - 1 / number))
    cache.put_edges(GNOMMOWEB, [taught, *junk])
    for concept in (3, 4):
        cache.put_edges(concept, [EdgeRow(concept, 1, 0, True, 0.8, "inferred", now)])
    return cache
