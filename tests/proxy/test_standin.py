"""The stand-in's faults and records, on which other tests rely. Real clients ask it in tests/conformance."""

import hashlib
import json
import socket
from collections.abc import Iterator

import httpx
import pytest

from tests.standin import StandIn

HELLO = [{"role": "user", "content": "hello"}]
NOTE = {"role": "user", "content": "<loop_warning>\nYou are in a loop.\n</loop_warning>"}


def stream_of(http: httpx.Client, model: str, *, stream: bool = True, timeout_s: float = 5):
    asked = {"model": model, "messages": HELLO, "stream": stream}
    return http.stream("POST", "/api/chat", json=asked, timeout=timeout_s)


@pytest.mark.parametrize("stream", [True, False])
def test_cut_ends_in_the_middle_of_a_line(http, stream):
    parts: list[bytes] = []
    with stream_of(http, "cut", stream=stream) as response, pytest.raises(httpx.RemoteProtocolError):
        parts.extend(response.iter_raw())

    assert response.status_code == 200
    assert b"".join(parts).count(b"{") > b"".join(parts).count(b"}")


def test_no_done_ends_well_but_without_done(http):
    with stream_of(http, "no-done") as response:
        lines = [json.loads(line) for line in response.iter_lines()]

    assert not any(line["done"] for line in lines)


@pytest.mark.parametrize(("model", "received"), [("hang", 1), ("hang-headers", 0)])
def test_hang_stops_after_its_part(http, model, received):
    lines: list[str] = []
    with stream_of(http, model, timeout_s=0.2) as response, pytest.raises(httpx.ReadTimeout):
        lines.extend(response.iter_lines())

    assert (response.status_code, len(lines)) == (200, received)


def test_hang_before_gives_not_even_a_status(http):
    with pytest.raises(httpx.ReadTimeout):
        http.post("/api/chat", json={"model": "hang-before", "messages": HELLO}, timeout=0.2)


def test_long_lines_arrive_in_pieces(http):
    with http.stream("POST", "/api/generate", json={"model": "long-lines", "prompt": "x"}) as response:
        parts = list(response.iter_raw())

    assert len(parts) > 10 * len(b"".join(parts).splitlines())


@pytest.mark.parametrize("told", [{"messages": [*HELLO, NOTE]}, {"options": {"temperature": 1.1}}])
def test_a_stubborn_model_gives_way_to_the_note_and_to_warmth_and_a_stuck_one_does_not(http, told):
    def say(model, **more):
        asked = {"model": model, "messages": HELLO, "stream": False} | more
        return http.post("/api/chat", json=asked).json()["message"]["content"]

    assert json.loads(say("stubborn"))["tool_name"] == "look"
    assert json.loads(say("stubborn", **told))["tool_name"] == "response"
    assert say("stuck", **told) == say("stuck")


def test_a_client_that_leaves_is_noticed(standin, http):
    with stream_of(http, "slow-50ms") as response:
        next(response.iter_raw())
    client_stayed = http.get("/api/version")

    assert client_stayed.status_code == 200
    assert [request.disconnected for request in standin.settled()] == [True, False]


def test_a_request_is_kept_as_it_came(standin, http):
    http.post("/api/chat?x=%20", content=b'{"model": "nobody"} ', headers={"X-Mark": "1"})

    recorded = standin.last()
    assert (recorded.method, recorded.path, recorded.query) == ("POST", "/api/chat", "x=%20")
    assert (recorded.body, recorded.headers["x-mark"]) == (b'{"model": "nobody"} ', "1")


def test_an_upload_shows_while_it_grows(standin, http):
    seen = []

    def body() -> Iterator[bytes]:
        yield b"x" * 3_000_000
        while not seen or seen[-1] < 3_000_000:
            seen.extend(request.body_bytes for request in standin.requests()[-1:])  # none has arrived at first
        yield b"x" * 3_000_000

    digest = hashlib.sha256(b"x" * 6_000_000).hexdigest()
    assert http.post(f"/api/blobs/sha256:{digest}", content=body()).status_code == 201
    assert (standin.last().body_bytes, len(standin.last().body)) == (6_000_000, 1024 * 1024)


@pytest.mark.parametrize("body", [b"", b"{'model': 1}", b"[]", b'{"model": "llama3", "messages": 7}'])
def test_a_malformed_request_is_refused(http, body):
    assert http.post("/v1/messages", content=body).json()["type"] == "error"
    assert "error" in http.post("/api/copy", content=body).json()


def test_a_killed_one_refuses_connections_and_can_come_back():
    with StandIn(echo=True) as first:
        asked = {"model": "llama3", "prompt": "x", "stream": False}
        answer = httpx.post(f"{first.url}/api/generate", json=asked, trust_env=False).json()
        assert json.loads(answer["response"]) == {"system": None, "prompt": "x"}

        first.kill()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", first.port))

        with StandIn(port=first.port) as second:
            assert second.requests() == []
