"""Requests that no well-behaved client makes, but some do: odd paths, headers twice, unusual methods."""

from http.client import HTTPConnection
from typing import Any

import pytest

from tests.conformance.sides import OFF, Side, assert_nothing_differs

CHAT = b'{ "model":"llama3",  "stream":false, "x":1.50, "messages":[{"role":"user","content":"gn\\u006fmmoweb"}] }'
EMBED = b'{"model":"embedder","input":"gnommoweb"}'

REQUESTS: dict[str, tuple[str, str, bytes | None, list[tuple[str, str]]]] = {
    "root": ("GET", "/", None, []),
    "root-head": ("HEAD", "/", None, []),
    "version-head": ("HEAD", "/api/version", None, []),
    "status": ("GET", "/api/status", None, []),
    "query": ("GET", "/api/tags?a=1&a=2&b=%7e%2F+%20&c&d=", None, []),
    "query-empty": ("GET", "/api/tags?", None, []),
    "query-unescaped": ("GET", '/api/tags?q={x}|^`"<>', None, []),
    "path-escaped": ("GET", "/v1/models/llama3%3Alatest", None, []),
    "path-escaped-slash": ("GET", "/v1/models/library%2Fllama3", None, []),
    "path-escaped-letters": ("GET", "/%61pi/ta%67s", None, []),
    "path-of-bytes": ("GET", "/v1/models/%ff%00", None, []),
    "path-two-slashes": ("GET", "//api/tags", None, []),
    "path-inner-slashes": ("GET", "/api//tags", None, []),
    "path-dots": ("GET", "/api/./tags", None, []),
    "path-up": ("GET", "/v1/../api/tags", None, []),
    "path-last-slash": ("GET", "/api/tags/", None, []),
    "path-unknown": ("GET", "/api/nothing/here", None, []),
    "path-unknown-post": ("POST", "/api/experimental/web_search", b'{"query": "gnommoweb"}', []),
    "path-colon": ("GET", "/v1/models/a:b@c;d=e,f", None, []),
    "method-wrong": ("GET", "/api/chat", None, []),
    "method-put": ("PUT", "/api/tags", b"x", []),
    "method-patch": ("PATCH", "/v1/models/llama3", b"{}", []),
    "delete-with-body": ("DELETE", "/api/delete", b'{"model": "nobody"}', []),
    "delete-without-body": ("DELETE", "/api/delete", None, []),
    "headers-twice": (
        "GET",
        "/api/tags",
        None,
        [("X-Twice", "1"), ("X-Twice", "2"), ("Accept", "a/b"), ("Accept", "*/*")],
    ),
    "headers-odd": ("GET", "/api/tags", None, [("X-Empty", ""), ("X-Latin", "\xe9"), ("X-Under_score", "1")]),
    "header-connection": ("GET", "/api/tags", None, [("Connection", "keep-alive, X-Hop"), ("X-Hop", "1")]),
    "cookies": ("GET", "/api/tags", None, [("Cookie", "a=1; b=2"), ("Cookie", "c=3")]),
    "authorization": ("GET", "/api/tags", None, [("Authorization", "Bearer sk-none"), ("X-Api-Key", "none")]),
    "forwarded": ("GET", "/api/tags", None, [("X-Forwarded-For", "10.0.0.1"), ("Forwarded", "for=10.0.0.1")]),
    "no-user-agent": ("POST", "/api/chat", CHAT, []),
    "range": ("GET", "/api/tags", None, [("Range", "bytes=0-9"), ("If-None-Match", '"x"')]),
    "origin-here": ("GET", "/api/tags", None, [("Origin", "http://localhost:3000")]),
    "origin-preflight": (
        "OPTIONS",
        "/api/chat",
        None,
        [("Origin", "http://localhost:3000"), ("Access-Control-Request-Method", "POST")],
    ),
    "chat-bytes": ("POST", "/api/chat", CHAT, [("Content-Type", "application/octet-stream")]),
    "chat-query": ("POST", "/api/chat?a=%20b", CHAT, [("X-Twice", "1"), ("X-Twice", "2")]),
    "chat-no-body": ("POST", "/api/chat", b"", []),
    "chat-no-json": ("POST", "/api/chat", b"{'model': 1}", []),
    "chat-no-object": ("POST", "/api/chat", b"[]", []),
    "chat-no-model": ("POST", "/api/chat", b"{}", []),
    "chat-no-utf8": ("POST", "/api/chat", b'{"model":"llama3","messages":[{"role":"user","content":"\xff"}]}', []),
    "chat-last-slash": ("POST", "/api/chat/", CHAT, []),
    "chat-escaped": ("POST", "/api/ch%61t", CHAT, []),
    "generate-wrong-type": ("POST", "/api/generate", b'{"model":"llama3","prompt":7}', []),
    "generate-twice-a-key": ("POST", "/api/generate", b'{"model":"nobody","model":"llama3","prompt":"hi"}', []),
    "embed-bytes": ("POST", "/api/embed", EMBED, [("Content-Type", "text/plain")]),
    "blob-head": ("HEAD", "/api/blobs/sha256:00", None, []),
    "blob-wrong": ("POST", "/api/blobs/sha256:00", b"weights" * 50_000, []),
    "v1-completions": ("POST", "/v1/completions?x=1", b'{"model":"llama3","prompt":"gnommoweb"}', []),
    "v1-no-json": ("POST", "/v1/chat/completions", b"{", []),
}


@pytest.mark.parametrize(("method", "target", "body", "headers"), REQUESTS.values(), ids=REQUESTS.keys())
def test_a_request(
    direct: Side, festinger: Side, method: str, target: str, body: bytes | None, headers: list[tuple[str, str]]
) -> None:
    def ask(url: str) -> Any:
        connection = HTTPConnection(url.removeprefix("http://"), timeout=10)
        connection.putrequest(method, target, skip_accept_encoding=True)
        length = [] if body is None else [("Content-Length", str(len(body)))]
        for name, value in [*headers, *length, *OFF.items()]:
            connection.putheader(name, value)
        connection.endheaders(body)
        with connection.getresponse() as answer:
            answer.read()
        connection.close()
        return answer.status

    assert_nothing_differs(direct, festinger, ask)
