"""Byte for byte: what the client wrote is what the model server reads, and the other way round."""

import pytest

from festinger_site.serve.http_protocol import TARGET_MAX_BYTES
from tests.served.server import Served
from tests.served.wire import (
    LAST_CHUNK,
    OK,
    STREAM,
    RawUpstream,
    Wire,
    ask,
    chunked,
    post,
    says,
    says_and_closes,
)

PROMPT = b'{"model":"m","messages":[{"role":"user","content":"hi"}]}'
PROXYS_OWN = {b"host", b"content-length", b"accept-encoding", b"via"}


def get(target: bytes, *headers: bytes, method: bytes = b"GET") -> bytes:
    return b"\r\n".join([method + b" " + target + b" HTTP/1.1", b"Host: localhost", *headers, b"", b""])


# --- requests ---


@pytest.mark.parametrize(
    "target",
    [
        b"/api/%41%2Fb%2f/x",
        b"/v1/./models/../models/x",
        b"//api//tags/",
        b"/api/tags?",
        b"/api/tags?a=1&a=2&&b=%20+c&=%zz",
        b"/api/tags?q=[]{}|\\^'\"<>!$*();:@/?",
        b"/api/tags;v=1,2?x#y",
        b"/%C3%A9/%FF/%00",
        b"/" + b"a" * (TARGET_MAX_BYTES - 1),
    ],
)
def test_path_and_query_arrive_as_they_were_sent(port: int, model: RawUpstream, target: bytes) -> None:
    assert ask(port, get(target)).status == 200

    assert model.asked[-1].target == target


@pytest.mark.parametrize("target", [b"/api/chat?", b"/api/%63hat", b"/api/chat?a=%41&a=/./"])
def test_also_those_of_a_prompt(port: int, model: RawUpstream, target: bytes) -> None:
    assert ask(port, post(target.decode(), PROMPT)).status == 200

    assert (model.asked[-1].target, model.asked[-1].body) == (target, PROMPT)


@pytest.mark.parametrize("sent", [get(b"/api/tags", b"%s"), post("/api/chat", PROMPT, "%s"), post("/x", PROMPT, "%s")])
def test_headers_arrive_in_order_and_number_and_with_their_bytes(port: int, model: RawUpstream, sent: bytes) -> None:
    headers = [
        (b"x-twice", b"one"),
        (b"cookie", b"a=1; b=2"),
        (b"x-utf-8", "Größe €".encode()),
        (b"x-latin-1", "Größe".encode("latin-1")),
        (b"x-twice", b"two,  three"),
        (b"x-empty", b""),
        (b"x-odd", b'"\\ \t;=,:\xff'),
        (b"x_under", b"score"),
        (b"x-twice", b"one"),
        (b"content-encoding", b"x-unknown"),
        (b"origin", b"http://localhost:3000"),
        (b"user-agent", b"litellm/1.79"),
        (b"referer", b"http://r/%41?#"),
    ]

    ask(port, sent.replace(b"%s", b"\r\n".join(b"%s: %s" % header for header in headers)))

    arrived = [header for header in model.asked[-1].headers if header[0] not in PROXYS_OWN]
    assert arrived == headers


def test_what_the_proxy_says_itself_is_said_once(port: int, model: RawUpstream) -> None:
    ask(port, post("/api/chat", PROMPT, "Accept-Encoding: gzip, br", "Via: 1.0 fred"))

    asked = model.asked[-1]
    assert asked.all(b"host") == [f"127.0.0.1:{model.port}".encode()]
    assert asked.all(b"accept-encoding") == [b"identity"]
    assert asked.all(b"content-length") == [str(len(PROMPT)).encode()]
    assert asked.all(b"via")[0] == b"1.0 fred"


def test_hop_by_hop_headers_end_here_also_those_that_connection_names(port: int, model: RawUpstream) -> None:
    hops = [
        "Connection: keep-alive, X-Hop, Upgrade",
        "X-Hop: 1",
        "Keep-Alive: timeout=5",
        "TE: trailers",
        "Upgrade: h2c",
    ]

    assert (
        ask(port, post("/api/chat", PROMPT, *hops, "Proxy-Connection: x", "Expect: nothing", "X-End: 1")).status == 200
    )

    asked = model.asked[-1]
    assert {name for name, _ in asked.headers} == PROXYS_OWN | {b"x-end"}
    assert asked.body == PROMPT


@pytest.mark.parametrize("path", ["/api/chat", "/v1/chat/completions"])
def test_a_java_client_that_offers_http2_loses_nothing(port: int, model: RawUpstream, path: str) -> None:
    offer = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAEAAEAAAAIAAAAB"]
    with Wire(port) as wire:
        for _ in range(3):
            wire.send(post(path, PROMPT, *offer))
            assert wire.answer().status == 200

    assert [asked.body for asked in model.asked] == [PROMPT] * 3


@pytest.mark.parametrize("method", [b"GET", b"DELETE", b"PUT", b"PATCH", b"OPTIONS", b"PROPFIND", b"POST"])
def test_every_method_arrives_without_a_body_where_none_was_sent(port: int, model: RawUpstream, method: bytes) -> None:
    assert ask(port, get(b"/api/x", method=method)).status == 200

    asked = model.asked[-1]
    assert asked.line == method + b" /api/x HTTP/1.1"
    assert asked.all(b"content-length") + asked.all(b"transfer-encoding") == []


def test_delete_and_get_arrive_with_their_bodies(port: int, model: RawUpstream) -> None:
    for method in (b"DELETE", b"GET"):
        ask(port, post("/api/delete", b'{"model": "m"}').replace(b"POST", method))

    assert [(asked.line[:6], asked.body) for asked in model.asked] == [
        (b"DELETE", b'{"model": "m"}'),
        (b"GET /a", b'{"model": "m"}'),
    ]


def test_the_question_of_a_browser_is_answered_by_the_model_server(port: int, model: RawUpstream) -> None:
    allowed = b"HTTP/1.1 204 No Content\r\naccess-control-allow-origin: http://localhost:3000\r\nvary: Origin\r\n\r\n"
    model.script = says(allowed)

    answer = ask(port, get(b"/api/chat", b"Origin: http://localhost:3000", method=b"OPTIONS"))

    assert (answer.status, answer.get(b"access-control-allow-origin")) == (204, b"http://localhost:3000")
    assert model.asked[-1].get(b"origin") == b"http://localhost:3000"


def test_festingers_own_pages_answer_head(port: int) -> None:
    with Wire(port) as wire:
        for path in (b"/health", b"/gutask", b"/docs", b"/openapi.json", b"/admin/login/"):
            wire.send(get(path, method=b"HEAD"))
            answer = wire.answer(has_body=False)
            assert (path, answer.status) == (path, 200)
            assert int(answer.get(b"content-length") or 0) > 10


# --- answers ---


@pytest.mark.parametrize(
    "status", [200, 201, 202, 206, 226, 299, 300, 302, 307, 400, 404, 418, 429, 451, 500, 503, 599]
)
@pytest.mark.parametrize("sent", [get(b"/api/tags"), post("/api/chat", PROMPT)])
def test_the_status_is_the_model_servers(port: int, model: RawUpstream, sent: bytes, status: int) -> None:
    model.script = says(b"HTTP/1.1 %d whatever\r\nlocation: /x\r\ncontent-length: 3\r\n\r\nabc" % status)

    answer = ask(port, sent)

    assert (answer.status, answer.body, answer.get(b"location")) == (status, b"abc", b"/x")


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_without_a_body_has_no_framing(port: int, model: RawUpstream, status: int) -> None:
    model.script = says(b'HTTP/1.1 %d -\r\netag: "1"\r\ncontent-length: 5\r\n\r\n' % status)
    with Wire(port) as wire:
        for _ in range(2):
            wire.send(get(b"/api/tags"))
            answer = wire.answer()
            assert (answer.status, answer.get(b"etag")) == (status, b'"1"')
            assert answer.all(b"content-length") + answer.all(b"transfer-encoding") == []


def test_what_comes_before_the_answer_is_not_taken_for_it(port: int, model: RawUpstream) -> None:
    model.script = says(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n" + OK)

    assert [ask(port, sent).body for sent in (get(b"/api/tags"), post("/api/chat", PROMPT))] == [b"{}", b"{}"]


def test_headers_come_back_in_order_and_number_and_with_their_bytes(port: int, model: RawUpstream) -> None:
    headers = [
        (b"set-cookie", b"a=1; Path=/"),
        (b"x-utf-8", "Größe €".encode()),
        (b"set-cookie", b"b=2, c"),
        (b"x-latin-1", "Größe".encode("latin-1")),
        (b"x-empty", b""),
        (b"content-encoding", b"gzip"),
        (b"content-type", b"text/plain;charset=x"),
        (b"content-length", b"4"),
        (b"server", b"one"),
        (b"set-cookie", b"a=1; Path=/"),
        (b"x-long", b"y" * 100_000),
    ]
    model.script = says(b"HTTP/1.1 200 OK\r\n%s\r\n\r\nbody" % b"\r\n".join(b"%s: %s" % header for header in headers))

    for sent in (get(b"/api/tags"), post("/api/chat", PROMPT, "X-Festinger: off")):
        answer = ask(port, sent)
        assert [header for header in answer.headers if header[0] != b"date"] == headers
        assert answer.body == b"body"


def test_the_length_is_the_model_servers_or_there_are_chunks_never_both(port: int, model: RawUpstream) -> None:
    framings = {
        OK: (b"2", None),
        STREAM + chunked(b"{", b"}") + LAST_CHUNK: (None, b"chunked"),
        b"HTTP/1.0 200 OK\r\n\r\n{}": (None, b"chunked"),  # until it closes
        b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n": (b"0", None),
    }
    for said, (length, encoding) in framings.items():
        model.script = says_and_closes(said)
        answer = ask(port, post("/api/chat", PROMPT))
        assert (answer.all(b"content-length"), answer.all(b"transfer-encoding")) == (
            [length] if length else [],
            [encoding] if encoding else [],
        )
        assert answer.body == (b"" if length == b"0" else b"{}")


def test_head_has_the_length_and_no_body(port: int, model: RawUpstream) -> None:
    model.script = says(b"HTTP/1.1 200 OK\r\ncontent-length: 123456789\r\n\r\n")
    with Wire(port) as wire:
        for _ in range(3):
            wire.send(get(b"/api/blobs/sha256:1", method=b"HEAD"))
            answer = wire.answer(has_body=False)
            assert (answer.status, answer.get(b"content-length")) == (200, b"123456789")
    assert [asked.line for asked in model.asked] == [b"HEAD /api/blobs/sha256:1 HTTP/1.1"] * 3


@pytest.mark.parametrize(
    "answer",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 999 Denied\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nx-bell: \x07\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\nhello!",
        b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon here",
        b"",
    ],
)
def test_what_is_no_answer_in_http_is_told_as_502(port: int, model: RawUpstream, answer: bytes) -> None:
    model.script = says_and_closes(answer)

    for sent in (get(b"/api/tags"), post("/api/chat", PROMPT)):
        told = ask(port, sent)
        assert told.status == 502
        assert b"cannot reach the model server" in told.body


def test_the_root_is_the_upstreams_unless_a_person_opens_it_in_a_browser(server: Served) -> None:
    assert server.client.get("/").text == "Ollama is running"
    page = server.client.get("/", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert f"{server.url}/v1" in page.text
    assert 'href="/admin/"' in page.text
