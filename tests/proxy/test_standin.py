"""The stand-in Ollama over bare HTTP: its faults, its records, its protocol."""

import hashlib
import json
import socket
from collections.abc import Iterator

import httpx
import pytest

from tests.standin import StandIn

HELLO = [{"role": "user", "content": "hello"}]


def stream_of(http: httpx.Client, model: str, *, stream: bool = True, timeout_s: float = 5):
    asked = {"model": model, "messages": HELLO, "stream": stream}
    return http.stream("POST", "/api/chat", json=asked, timeout=timeout_s)


class TestFaults:
    @pytest.mark.parametrize("stream", [True, False])
    def test_cut_ends_in_the_middle_of_a_line(self, http, stream):
        parts: list[bytes] = []
        with stream_of(http, "cut", stream=stream) as response, pytest.raises(httpx.RemoteProtocolError):
            parts.extend(response.iter_raw())

        assert response.status_code == 200
        assert b"".join(parts).count(b"{") > b"".join(parts).count(b"}")

    def test_no_done_ends_well_but_without_done(self, http):
        with stream_of(http, "no-done") as response:
            lines = [json.loads(line) for line in response.iter_lines()]

        assert not any(line["done"] for line in lines)

    @pytest.mark.parametrize(("model", "received"), [("hang", 1), ("hang-headers", 0)])
    def test_hang_stops_after_its_part(self, http, model, received):
        lines: list[str] = []
        with stream_of(http, model, timeout_s=0.2) as response, pytest.raises(httpx.ReadTimeout):
            lines.extend(response.iter_lines())

        assert (response.status_code, len(lines)) == (200, received)

    def test_hang_before_gives_not_even_a_status(self, http):
        with pytest.raises(httpx.ReadTimeout):
            http.post("/api/chat", json={"model": "hang-before", "messages": HELLO}, timeout=0.2)

    def test_slow_waits_before_each_chunk(self, http):
        with stream_of(http, "slow-30ms") as response:
            chunks = list(response.iter_lines())

        assert response.elapsed.total_seconds() >= 0.03 * (len(chunks) - 1)

    def test_long_lines_arrive_in_pieces(self, http):
        with http.stream("POST", "/api/generate", json={"model": "long-lines", "prompt": "x"}) as response:
            parts = list(response.iter_raw())

        lines = b"".join(parts).splitlines()
        assert len(parts) > 10 * len(lines)
        assert len(json.loads(lines[-1])["context"]) == 50_000


class TestLoops:
    TOOL = {"type": "function", "function": {"name": "look", "parameters": {"required": ["path"]}}}
    NOTE = {"role": "user", "content": "<loop_warning>\nYou are in a loop.\n</loop_warning>"}

    def say(self, http, model, **more):
        asked = {"model": model, "messages": HELLO, "stream": False} | more
        return http.post("/api/chat", json=asked).json()["message"]

    @pytest.mark.parametrize("model", ["stubborn", "stuck"])
    def test_a_looping_model_calls_the_same_tool_again_and_again(self, http, model):
        said = [self.say(http, model, messages=HELLO * times) for times in (1, 2, 9)]
        called = [self.say(http, model, messages=HELLO * times, tools=[self.TOOL]) for times in (1, 2, 9)]

        assert said[0] == said[1] == said[2]
        assert json.loads(said[0]["content"])["tool_name"] == "look"
        assert called[0] == called[1] == called[2]
        assert called[0]["tool_calls"][0]["function"]["name"] == "look"

    @pytest.mark.parametrize("told", [{"messages": [*HELLO, NOTE]}, {"options": {"temperature": 1.1}}])
    def test_a_stubborn_one_gives_way_to_the_note_and_to_warmth(self, http, told):
        said = self.say(http, "stubborn", **told)
        called = self.say(http, "stubborn", tools=[self.TOOL], **told)

        assert json.loads(said["content"])["tool_name"] == "response"
        assert "tool_calls" not in called
        assert self.say(http, "stubborn-text", **told) != self.say(http, "stubborn-text")

    @pytest.mark.parametrize("told", [{"messages": [*HELLO, NOTE]}, {"options": {"temperature": 1.1}}])
    def test_a_stuck_one_does_not(self, http, told):
        assert self.say(http, "stuck", **told) == self.say(http, "stuck")
        assert self.say(http, "stuck-text", **told) == self.say(http, "stuck-text")

    @pytest.mark.parametrize("temperature", [0.8, 0, None, "hot"])
    def test_a_temperature_that_is_not_raised_changes_nothing(self, http, temperature):
        assert self.say(http, "stubborn", options={"temperature": temperature}) == self.say(http, "stubborn")

    @pytest.mark.parametrize(
        ("path", "asked"),
        [
            ("/api/generate", {"prompt": "hello", "options": {"temperature": 0.9}}),
            ("/v1/chat/completions", {"messages": HELLO, "temperature": 0.9}),
            ("/v1/completions", {"prompt": "hello", "temperature": 0.9}),
            ("/v1/responses", {"input": "hello", "temperature": 0.9}),
            ("/v1/messages", {"messages": HELLO, "max_tokens": 9, "temperature": 0.9}),
        ],
    )
    def test_it_gets_warm_in_every_format(self, http, path, asked):
        warm = http.post(path, json={"model": "stubborn", "stream": False, **asked}).text
        asked.pop("temperature", None)
        asked.pop("options", None)
        cool = http.post(path, json={"model": "stubborn", "stream": False, **asked}).text

        assert "blue" in warm
        assert "nowhere" in cool


class TestRecords:
    def test_a_client_that_leaves_is_noticed(self, standin, http):
        with stream_of(http, "slow-50ms") as response:
            next(response.iter_raw())
        client_stayed = http.get("/api/version")

        assert client_stayed.status_code == 200
        assert [request.disconnected for request in standin.settled()] == [True, False]

    def test_a_client_that_leaves_before_the_answer_is_noticed(self, standin, http):
        with pytest.raises(httpx.ReadTimeout):
            http.post("/api/chat", json={"model": "slow", "messages": HELLO, "stream": False}, timeout=0.1)

        assert standin.settled()[-1].disconnected

    def test_a_request_is_kept_as_it_came(self, standin, http):
        http.post("/api/chat?x=%20", content=b'{"model": "nobody"} ', headers={"X-Mark": "1"})

        recorded = standin.last()
        assert (recorded.method, recorded.path, recorded.query) == ("POST", "/api/chat", "x=%20")
        assert (recorded.body, recorded.headers["x-mark"]) == (b'{"model": "nobody"} ', "1")

    def test_an_upload_shows_while_it_grows(self, standin, http):
        seen = []

        def body() -> Iterator[bytes]:
            yield b"x" * 3_000_000
            while not seen or seen[-1] < 3_000_000:
                seen.extend(request.body_bytes for request in standin.requests()[-1:])  # none has arrived at first
            yield b"x" * 3_000_000

        digest = hashlib.sha256(b"x" * 6_000_000).hexdigest()
        assert http.post(f"/api/blobs/sha256:{digest}", content=body()).status_code == 201
        assert (standin.last().body_bytes, len(standin.last().body)) == (6_000_000, 1024 * 1024)


class TestProtocol:
    @pytest.mark.parametrize(
        ("method", "path", "body", "status", "text"),
        [
            ("GET", "/", b"", 200, "Ollama is running"),
            ("GET", "/nowhere", b"", 404, "404 page not found"),
            ("GET", "/v1/nowhere", b"", 404, "404 page not found"),
            ("GET", "/api/chat", b"", 405, "405 method not allowed"),
            ("POST", "/api/chat", b"", 400, '{"error":"missing request body"}'),
            ("POST", "/api/chat", b'{"model"', 400, '{"error":"unexpected EOF"}'),
            ("POST", "/api/chat", b"{}", 400, '{"error":"model is required"}'),
            ("POST", "/api/generate", b"{}", 404, '{"error":"model \'\' not found"}'),
            ("POST", "/api/show", b"{}", 400, '{"error":"model is required"}'),
            ("DELETE", "/api/delete", b'{"model":"nobody"}', 404, '{"error":"model \'nobody\' not found"}'),
            ("POST", "/api/tags/", b"", 404, "404 page not found"),
            ("GET", "/api/tags/", b"", 301, ""),
        ],
    )
    def test_odd_requests_get_the_answers_of_ollama(self, http, method, path, body, status, text):
        response = http.request(method, path, content=body)

        assert (response.status_code, response.text) == (status, text)

    def test_raw_refuses_a_system_text(self, http):
        asked = {"model": "llama3", "prompt": "x", "raw": True, "system": "s"}

        assert http.post("/api/generate", json=asked).status_code == 400

    @pytest.mark.parametrize("asked", [{"messages": []}, {}, {"messages": [], "keep_alive": "0s"}])
    def test_no_messages_load_or_unload_with_one_object(self, http, asked):
        response = http.post("/api/chat", json={"model": "llama3", **asked})

        assert response.headers["content-type"] == "application/json; charset=utf-8"
        assert response.json()["done_reason"] == ("unload" if "keep_alive" in asked else "load")

    def test_html_characters_are_escaped_as_go_does(self, http):
        asked = {"model": "echo", "messages": [{"role": "user", "content": "<a&b>"}], "stream": False}

        assert rb"\u003ca\u0026b\u003e" in http.post("/api/chat", json=asked).content

    def test_two_answers_to_one_request_are_equal_to_the_byte(self, http):
        asked = {"model": "llama3", "prompt": "x"}

        assert http.post("/api/generate", json=asked).content == http.post("/api/generate", json=asked).content

    @pytest.mark.parametrize(
        ("header", "value", "status"),
        [
            ("Host", "localhost", 200),
            ("Host", "[::1]:11434", 200),
            ("Host", "box.internal:80", 200),
            ("Host", "evil.example", 403),
            ("Host", "203.0.113.5", 403),
            ("Origin", "http://localhost:3000", 200),
            ("Origin", "app://obsidian.md", 200),
            ("Origin", "https://evil.example", 403),
        ],
    )
    def test_foreign_hosts_and_origins_are_turned_away(self, http, header, value, status):
        response = http.get("/api/version", headers={header: value})

        assert response.status_code == status
        assert bool(response.content) == (status == 200)

    def test_echo_makes_every_model_an_echo(self):
        asked = {"model": "llama3", "prompt": "x", "stream": False}

        with StandIn(echo=True) as standin:
            answer = httpx.post(f"{standin.url}/api/generate", json=asked, trust_env=False).json()

        assert json.loads(answer["response"]) == {"system": None, "prompt": "x"}

    def test_a_killed_one_refuses_connections_and_can_come_back(self):
        with StandIn() as first:
            first.kill()
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", first.port))

            with StandIn(port=first.port) as second:
                assert second.requests() == []
