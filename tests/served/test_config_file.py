"""config.yaml is edited while a real server answers real requests."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.served.server import Served
from tests.served.wire import LAST_CHUNK, STREAM, Message, RawUpstream, chunked
from tests.standin import StandIn
from tests.waiting import eventually

STREAMS = 50
FOLLOWS_S = 60.0  # on a machine that has much else to do
BEGUN, ENDED = b'{"message":{"content":"It is"},"done":false}\n', b'{"message":{"content":" blue."},"done":true}\n'


@pytest.fixture
def other() -> Iterator[StandIn]:
    with StandIn() as standin:
        yield standin


class Configured:
    """A server whose file is ours to write."""

    def __init__(self, home: Path, database: str, **environment: str) -> None:
        self.file = home / "config.yaml"
        self._settings = {"upstream": "", "database": database, "FESTINGER_HOME": str(home)} | environment

    def start(self) -> None:
        self.served = Served(**self._settings).wait_ready()

    def write(self, text: str) -> None:
        new = self.file.with_name("new")
        new.write_text(text)
        new.replace(self.file)

    @property
    def config(self) -> Any:
        return self.served.client.get("/health").json()["config"]

    def follows(self, claim: Callable[[Any], bool]) -> bool:
        """True if /health comes to say so of its file."""
        return eventually(lambda: claim(self.config), within_s=FOLLOWS_S)

    def write_and_wait(self, text: str) -> None:
        """For a text that is good, also where it says the same as before."""
        before = self.config["loaded_at"]
        self.write(f"{text}\n# {time.monotonic()}\n")
        assert self.follows(lambda config: not config["error"] and config["loaded_at"] != before)

    def limit_bodies(self, to_bytes: int) -> None:
        self.write_and_wait(f"{self.file.read_text()}\nlimits: {{max_body_bytes: {to_bytes}}}")

    @property
    def upstream(self) -> str:
        return str(self.served.client.get("/health").json()["upstream"]["url"])


@pytest.fixture(scope="module")
def running(database: str, upstream: StandIn, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Configured]:
    made = Configured(tmp_path_factory.mktemp("home"), database)
    made.write(f"upstream: {{url: {upstream.url}}}")
    made.start()
    yield made
    made.served.stop()


@pytest.fixture
def configured(running: Configured, ollama: StandIn) -> Configured:
    """One server for all, its file as at the start."""
    running.write_and_wait(f"upstream: {{url: {ollama.url}}}")
    return running


async def stream(client: httpx.AsyncClient, begun: asyncio.Semaphore) -> bytes:
    payload = {"model": "m", "messages": [{"role": "user", "content": "Why is the sky blue?"}]}
    async with client.stream("POST", "/api/chat", json=payload) as answer:
        body = b""
        async for chunk in answer.aiter_raw():
            body += chunk
            begun.release()
        return body


async def streams_during(url: str, change: Callable[[], None]) -> list[bytes]:
    """Many answers at once; ``change`` comes when each has said something."""
    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=url, trust_env=False, timeout=FOLLOWS_S, limits=limits) as client:
        begun = asyncio.Semaphore(0)
        tasks = [asyncio.create_task(stream(client, begun)) for _ in range(STREAMS)]
        for _ in range(STREAMS):
            await begun.acquire()
        await asyncio.to_thread(change)
        return await asyncio.gather(*tasks)


def test_while_many_answers_stream_the_upstream_moves(
    configured: Configured, model: RawUpstream, other: StandIn
) -> None:
    may_end = threading.Event()

    def script(connection: socket.socket, _: Message) -> None:
        connection.sendall(STREAM + chunked(BEGUN))
        may_end.wait()
        connection.sendall(chunked(ENDED) + LAST_CHUNK)

    def move() -> None:
        configured.write(f"upstream: {{url: {other.url}}}\nlimits: {{max_body_bytes: 2000}}")
        assert configured.follows(lambda _: configured.upstream == other.url)
        assert configured.served.chat(("user", "hi")).status_code == 200
        assert configured.served.client.get("/api/tags").status_code == 200
        assert configured.served.chat(("user", "x" * 3000)).status_code == 413
        # And once more, to nowhere.
        configured.write("upstream: {url: 'http://127.0.0.1:9'}")
        assert configured.follows(lambda _: configured.upstream == "http://127.0.0.1:9")
        assert configured.served.chat(("user", "hi")).status_code == 502
        may_end.set()

    model.script = script
    configured.write_and_wait(f"upstream: {{url: {model.url}}}")
    try:
        answers = asyncio.run(streams_during(configured.served.url, move))
    finally:
        may_end.set()

    assert answers == [BEGUN + ENDED] * STREAMS
    assert len(model.asked) == STREAMS
    asked = [request.path for request in other.requests()]
    assert (asked.count("/api/chat"), asked.count("/api/tags")) == (1, 1)


def test_a_broken_file_changes_nothing_and_is_told_until_it_is_repaired(
    configured: Configured, ollama: StandIn
) -> None:
    before = configured.config

    configured.write("upstream: {url: 'http://127.0.0.1:9'}\nlimit: {}\nloop: {}")
    assert configured.follows(lambda config: bool(config["error"]))

    broken = configured.served.client.get("/health").json()
    mistakes = ["limit: there is no such key; did you mean limits?", "loop: there is no such key; did you mean loops?"]
    assert broken["config"] == before | {"error": "; ".join(mistakes)}
    assert broken["config_errors"] == [f"config.yaml: {mistake}" for mistake in mistakes]
    assert broken["upstream"]["url"] == ollama.url

    configured.write(f"upstream: {{url: {ollama.url}}}\nlimits: {{conversations: 500}}")
    assert configured.follows(lambda config: not config["error"])
    repaired = configured.served.client.get("/health").json()
    assert repaired["config_errors"] == []
    assert repaired["ignored_settings"][0].startswith("config.yaml: limits.conversations = '500': ")


def test_the_environment_wins_and_health_says_so(
    database: str, ollama: StandIn, other: StandIn, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    environment = {"FESTINGER_CONFIG": str(tmp_path / "other.yaml"), "FESTINGER_UPSTREAM": ollama.url}
    configured = Configured(home, database, **environment)
    configured.start()
    assert (configured.config["exists"], configured.config["path"]) == (False, str(tmp_path / "other.yaml"))

    (tmp_path / "other.yaml").write_text(f"upstream: {{url: {other.url}}}\nlimits: {{max_body_bytes: 2000}}")
    assert configured.follows(lambda config: config["overridden"] == ["upstream.url"])

    assert configured.upstream == ollama.url
    assert configured.served.chat(("user", "x" * 3000)).status_code == 413
    configured.served.stop()


def test_the_body_limit_follows_everywhere(configured: Configured) -> None:
    client = configured.served.client
    configured.limit_bodies(2000)

    for path in ("/api/chat", "/api/embed", "/v1/new", "/iknowthat"):
        refused = client.post(path, content=b"x" * 2001)
        assert (path, refused.status_code) == (path, 413)
        assert "the request body is larger than 2000 bytes (limits.max_body_bytes)" in refused.text
        assert client.post(path, content=b"x" * 2000).status_code != 413


def test_a_limit_over_the_default_is_one_too(configured: Configured) -> None:
    """Django has a limit of its own, which must not be in the way."""
    configured.limit_bodies(100_000_000)
    padding = "x" * 70_000_000

    answer = configured.served.chat(("user", "hi"), padding=padding)

    assert answer.status_code == 200
