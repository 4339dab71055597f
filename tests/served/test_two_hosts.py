"""Two hosts, played by two homes, with one database behind a load balancer (ops/haproxy/festinger.cfg)."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import httpx
import psycopg
import pytest
from django.conf import settings

from tests import waiting
from tests.arrange import learning
from tests.served.server import PROJECT, Served, free_port, manage, new_database
from tests.standin import StandIn

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("haproxy") is None, reason="haproxy is not installed"),
]

eventually = partial(waiting.eventually, within_s=30.0)
TURNS = 12
SYSTEM = {"role": "system", "content": "You are a helpful agent."}


class Balanced:
    """Two servers and what stands before them."""

    def __init__(self, servers: list[Served], token: str) -> None:
        self.servers = servers
        self._port = free_port()
        addresses = {name: f"127.0.0.1:{server.port}" for name, server in zip("AB", servers, strict=True)}
        self._process = subprocess.Popen(
            ["haproxy", "-f", str(PROJECT / "ops" / "haproxy" / "festinger.cfg")],
            env=os.environ
            | {"LISTEN": f"127.0.0.1:{self._port}"}
            | {f"FESTINGER_{name}": address for name, address in addresses.items()},
        )
        self.headers = {"Authorization": f"Bearer {token}"}

    def post(self, path: str, body: object) -> httpx.Response:
        """Over a connection of its own, so that another server may take it."""
        url = f"http://127.0.0.1:{self._port}{path}"
        return httpx.post(url, json=body, headers=self.headers, timeout=30, trust_env=False)

    def is_up(self) -> bool:
        try:
            return self.post("/recollect", {"text": "x"}).is_success
        except httpx.TransportError:
            return False

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(10)


@pytest.fixture(scope="module")
def database() -> str:
    return new_database(settings.DATABASE_URL, "festinger_two_hosts")


@pytest.fixture(scope="module")
def balanced(database: str, upstream: StandIn, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Balanced]:
    token = manage("create_agent", "zero", DATABASE_URL=database).stdout.strip()
    # Behind a balancer each request comes from its address: only tokens tell who speaks.
    environment = {"FESTINGER_TRUST_LOOPBACK": "0", "FESTINGER_REQUIRE_TOKEN": "1"}
    environment |= {"FESTINGER_SECRET_KEY": "the same on both hosts, and long enough"}
    servers = [
        Served(
            upstream=upstream.url, database=database, **environment, FESTINGER_HOME=str(tmp_path_factory.mktemp(name))
        )
        for name in "ab"
    ]
    with learning(database):
        for server in servers:
            server.wait_ready()
        balanced = Balanced(servers, token)
        assert eventually(balanced.is_up)
        yield balanced
        balanced.stop()
        for server in servers:
            server.stop()


def count_injections(database: str) -> int:
    with psycopg.connect(database) as connection:
        row = connection.execute("SELECT count(*) FROM injection").fetchone()
    return row[0] if row else 0


def test_a_conversation_moves_between_them_and_keeps_its_prefix(
    balanced: Balanced, database: str, ollama: StandIn
) -> None:
    concepts = [f"quoll{number}" for number in range(TURNS)]
    for concept in concepts:
        assert balanced.post("/iknowthat", {"fact": f"{concept} -isa worker"}).status_code == 201
    messages, received = [SYSTEM], []

    for concept in concepts:
        messages.append({"role": "user", "content": f"Now ask {concept}."})
        before = count_injections(database)
        answer = balanced.post("/api/chat", {"model": "llama3", "stream": False, "messages": messages})
        assert answer.status_code == 200
        received.append(ollama.last().json()["messages"])
        messages.append(answer.json()["message"])
        # A model takes longer to answer than a block to be written, which both hosts then know of.
        assert eventually(lambda before=before: count_injections(database) > before)  # type: ignore[misc]
        for server in balanced.servers:
            server.client.post("/iknowthat", json={"fact": f"{concept} -isa worker"}, headers=balanced.headers)

    assert all(
        f"{concept}" in sent[-1]["content"].partition("<recollection>")[2]
        for concept, sent in zip(concepts, received, strict=True)
    )
    assert all(later[: len(earlier)] == earlier for earlier, later in pairwise(received))
    served = [server.client.get("/health", headers=balanced.headers).json()["requests"] for server in balanced.servers]
    assert min(served) >= TURNS // 4


def test_each_message_is_heard_once(balanced: Balanced, database: str) -> None:
    told = [f"Wombat number {number} sleeps in burrow {number}." for number in range(10)]
    messages = [SYSTEM]
    for sentence in told:
        messages += [{"role": "user", "content": sentence}]
        balanced.post("/api/chat", {"model": "llama3", "stream": False, "messages": messages})
        messages += [{"role": "assistant", "content": "Yes."}]

    def count() -> int:
        with psycopg.connect(database) as connection:
            row = connection.execute("SELECT count(*) FROM episode WHERE text LIKE 'Wombat number%'").fetchone()
        return row[0] if row else 0

    assert eventually(lambda: count() == len(told))
    time.sleep(1)
    assert count() == len(told)


def test_one_that_dies_costs_no_later_prompt(balanced: Balanced) -> None:
    long = {"role": "user", "content": "x" * 200_000}  # more than the balancer holds unless told to
    balanced.servers[0].process.kill()

    statuses = [
        balanced.post("/api/chat", {"model": "llama3", "stream": False, "messages": messages}).status_code
        for messages in ([SYSTEM], [SYSTEM, long]) * 10
    ]

    assert statuses == [200] * 20
