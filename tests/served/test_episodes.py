"""What is said is kept, once, for who said it, and nothing else is."""

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from tests.arrange import learning
from tests.prompts import FORMATS, Turn
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


@pytest.mark.parametrize(
    ("wire", "more", "headers"),
    [
        ("chat", {}, {"X-OpenWebUI-User-Id": "alice"}),
        ("chat_completions", {"user": "alice"}, {}),
        ("messages", {"metadata": {"user_id": "alice"}}, {}),
        ("responses", {"safety_identifier": "alice"}, {}),
    ],
)
def test_people_behind_one_agent_are_told_apart(
    server: Served, ollama: StandIn, kept: Look, wire: str, more: dict[str, Any], headers: dict[str, str]
) -> None:
    said = said_anew()

    post(server, wire, [("user", said)], more, **headers)
    post(server, wire, [("user", said)])
    flush(server, kept)

    assert [person for _, person, _, _ in kept(said)] == ["alice", ""]


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


def test_what_is_forgotten_does_not_come_back_with_the_history(
    server: Served, database: str, ollama: StandIn, kept: Look
) -> None:
    canary = said_anew()
    server.chat(("user", canary))
    assert eventually(lambda: kept(canary), within_s=WITHIN_S)

    manage("forget", "--words", canary, DATABASE_URL=database)
    server.chat(("user", canary))
    server.chat(("user", canary), ("assistant", "Very well, it is done."), ("user", said_anew()))
    flush(server, kept)

    assert kept(canary) == []


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

    assert "kvasir: [type] service" in ollama.requests()[-1].json()["messages"][-1]["content"]
    assert "Traceback" not in errors


def test_no_secret_gets_into_any_table(server: Served, database: str, ollama: StandIn, kept: Look) -> None:
    secret, said = "ghp_9z8Y7x6W5v4U3t2S1r0Q9p8O7n6M5l4K3j2I", said_anew()

    server.chat(("user", f"{said} The token is {secret}"), ("assistant", f"Noted: {secret}"), ("user", "Go on please"))
    flush(server, kept)

    assert len(kept(said)) == 1
    told = manage("redact", "--dry-run", secret, DATABASE_URL=database).stdout
    assert "Found 0 times" in told


@pytest.mark.slow
def test_what_is_said_while_postgres_is_away_is_kept_when_it_is_back(ollama: StandIn, tmp_path: Path) -> None:
    with OwnPostgres() as own:
        # With a home of its own: the other servers would replay its journal into their database.
        served = Served(upstream=ollama.url, database=own.url, FESTINGER_HOME=str(tmp_path)).wait_ready()
        own.stop()
        said = said_anew()
        served.chat(("user", said), headers={"X-OpenWebUI-User-Id": "alice"})

        def where() -> tuple[int, int, int]:
            """Count the messages in memory and in the journal, and those that are lost; up to a second old."""
            report = served.client.get("/health").json()
            return report["unwritten_messages"], report["journaled_messages"], report["dropped_messages"]

        assert eventually(lambda: where() == (0, 2, 0), within_s=WITHIN_S)  # with the answer

        own.start()

        def find() -> list[Any]:
            with psycopg.connect(own.url) as client:
                return client.execute("SELECT person FROM episode WHERE text = %s", [said]).fetchall()

        assert eventually(find, within_s=WITHIN_S) == [("alice",)]
        assert eventually(lambda: where() == (0, 0, 0), within_s=WITHIN_S)
        assert "Traceback" not in served.stop()


def test_when_something_was_said_is_known_of_conversations_that_were_seen(
    server: Served, database: str, ollama: StandIn, kept: Look
) -> None:
    old, answer, new, later = (said_anew() for _ in range(4))
    begun = [("user", old), ("assistant", answer), ("user", new)]
    server.chat(*begun)
    server.chat(*begun, ("assistant", later), ("user", "Thanks, go on."))
    flush(server, kept)

    with psycopg.connect(database) as client:
        query = "SELECT text FROM episode WHERE text = ANY(%s) AND said_at < now() - interval '1 day' ORDER BY id"
        found = client.execute(query, [[old, answer, new, later]]).fetchall()
    assert found == [(old,), (answer,)]


def test_health_says_whether_what_is_said_is_kept(server: Served) -> None:
    health: httpx.Response = server.client.get("/health")

    assert (health.json()["episodes"], health.json()["dropped_messages"]) == ("on", 0)
