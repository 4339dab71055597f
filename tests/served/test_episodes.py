"""What is said is kept, once, for who said it, and nothing else is."""

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import httpx
import psycopg
import pytest

from tests.arrange import learning
from tests.prompts import FORMATS, Turn
from tests.served.conftest import Command
from tests.served.postgres import OwnPostgres
from tests.served.server import Served, manage
from tests.standin import StandIn
from tests.waiting import eventually

WITHIN_S = 30.0
NUMBERS = count()
WIRES = {**FORMATS, "completions": ("/v1/completions", FORMATS["flattened"][1])}
ANSWER = "Then I will update the connection settings."
Look = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def kept(database: str) -> Iterator[Look]:
    """The episodes that have a text in them."""
    with psycopg.connect(database, autocommit=True) as client:

        def look(text: str) -> list[tuple[Any, ...]]:
            query = "SELECT agent, person, role, text FROM episode WHERE text LIKE %s ORDER BY id"
            return client.execute(query, [f"%{text}%"]).fetchall()

        yield look


def said_anew() -> str:
    return f"We moved database number {next(NUMBERS)} of billing to Postgres 17."


def flush(server: Served, kept: Look) -> None:
    """Returns when what was said before is stored: the writer keeps the order."""
    last = said_anew()
    server.chat(("user", last))
    assert eventually(lambda: kept(last), within_s=WITHIN_S)


def post(server: Served, wire: str, turns: list[Turn], more: dict[str, Any] | None = None, **headers: str) -> None:
    path, write = WIRES[wire]
    answer = server.client.post(
        path, json=write(turns) | {"model": "llama3", "stream": False} | (more or {}), headers=headers
    )
    assert answer.status_code == 200, answer.text


@pytest.mark.parametrize("wire", WIRES)
def test_a_users_message_becomes_one_episode_however_often_it_is_resent(
    server: Served, ollama: StandIn, kept: Look, wire: str
) -> None:
    said, system = said_anew(), said_anew()
    begun: list[Turn] = [("system", f"You are a helper. {system}"), ("user", said)]

    for turns in (begun, begun, [*begun, ("assistant", f"{said} {ANSWER}"), ("user", f"Thanks. {said}")]):
        post(server, wire, turns, **{"X-Festinger-Agent": wire})
    flush(server, kept)

    agent = f"{wire}@127.0.0.1"
    found = [(row[0], row[2], row[3]) for row in kept(said)]
    replies = [] if wire in ("flattened", "completions") else [(agent, "user", f"Thanks. {said}")]  # made up: see §9
    assert found == [(agent, "user", said), (agent, "assistant", f"{said} {ANSWER}"), *replies]
    assert kept(system) == []


OFF = [
    ("", {"X-Festinger-Remember": "no"}),
    ("", {"X-Festinger": "off"}),
    ("", {"X-Festinger-Project": "no such project"}),
    ("/agent/zero,remember=off", {}),
    ("/agent/zero,learn=off", {}),
    ("", {"X-Forwarded-For": "10.0.0.7"}),
]


@pytest.mark.parametrize(("prefix", "headers"), OFF)
def test_what_is_not_to_be_kept_is_not(
    server: Served, ollama: StandIn, kept: Look, prefix: str, headers: dict[str, str]
) -> None:
    said = said_anew()
    payload = {"model": "llama3", "stream": False, "messages": [{"role": "user", "content": said}]}

    answer = server.client.post(f"{prefix}/api/chat", json=payload, headers=headers)
    flush(server, kept)

    assert kept(said) == []
    if request := answer.headers.get("x-festinger-request"):
        assert server.client.get(f"/why/{request}").json()["restrictions"].keys() <= {"remember", "learn", "ask"}


def test_what_a_chat_program_asks_for_itself_is_not_kept(server: Served, ollama: StandIn, kept: Look) -> None:
    said = said_anew()
    task = "Provide a concise title for the conversation. Only return the title, 5 words or less."

    server.chat(("user", f"{task}\n<chat_history>\nUSER: {said}\n</chat_history>"))
    flush(server, kept)

    assert kept(said) == []


def test_what_was_said_in_a_request_that_is_not_kept_is_not_kept_as_its_history(
    server: Served, ollama: StandIn, kept: Look
) -> None:
    secret, later = said_anew(), said_anew()
    server.chat(("user", secret), headers={"X-Festinger-Remember": "no"})

    server.chat(("user", secret), ("assistant", "Very well, it is done."), ("user", later))
    flush(server, kept)

    assert (kept(secret), len(kept(later))) == ([], 1)


@pytest.mark.slow
def test_festinger_starts_and_recalls_after_something_was_forgotten(ollama: StandIn) -> None:
    with OwnPostgres() as own, learning(own.url):
        own.run("UPDATE config SET value = 'on' WHERE key = 'recall_current'")
        served = Served(upstream=ollama.url, database=own.url, DJANGO_SETTINGS_MODULE="tests.unhurried").wait_ready()
        served.chat(("user", said_anew()))
        assert eventually(lambda: own.run("SELECT FROM episode"), within_s=WITHIN_S)
        served.chat(("user", "Which Postgres does billing use?"))
        recalled = "SELECT FROM injection WHERE strpos(block, 'Postgres 17') > 0"
        assert eventually(lambda: own.run(recalled), within_s=WITHIN_S)
        served.teach("kvasir -isa service")
        served.stop()

        manage("forget", "--words", "Postgres", DATABASE_URL=own.url)
        again = Served(upstream=ollama.url, database=own.url).wait_ready()
        again.chat(("user", "Restart kvasir."))
        errors = again.stop()

    assert "kvasir: [type] service" in ollama.last().json()["messages"][-1]["content"]
    assert "Traceback" not in errors


def test_no_secret_gets_into_any_table(server: Served, command: Command, ollama: StandIn, kept: Look) -> None:
    secret, said = "ghp_9z8Y7x6W5v4U3t2S1r0Q9p8O7n6M5l4K3j2I", said_anew()

    server.chat(("user", f"{said} The token is {secret}"), ("assistant", f"Noted: {secret}"), ("user", "Go on please"))
    flush(server, kept)

    assert len(kept(said)) == 1
    told = command("redact", "--dry-run", secret)
    assert "Found 0 times" in told


def test_health_says_whether_what_is_said_is_kept(server: Served) -> None:
    health: httpx.Response = server.client.get("/health")

    assert (health.json()["episodes"], health.json()["dropped_messages"]) == ("on", 0)
