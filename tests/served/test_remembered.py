"""What was said in one conversation stands in the prompts of others of the same speaker, and of nobody else."""

import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import httpx
import psycopg
import pytest
from django.conf import settings

from tests.prompts import FORMATS, Turn
from tests.served.postgres import OwnPostgres
from tests.served.server import Served, new_database
from tests.standin import StandIn
from tests.waiting import eventually

WITHIN_S = 60.0
NUMBERS = count()
WIRES = {**FORMATS, "completions": ("/v1/completions", FORMATS["flattened"][1])}


def post(server: Served, wire: str, turns: list[Turn], headers: dict[str, str], **more: Any) -> httpx.Response:
    path, write = WIRES[wire]
    body = write(turns) | {"model": "llama3", "stream": False} | more
    answer = server.client.post(path, json=body, headers=headers)
    assert answer.status_code == 200, answer.text
    return answer


def received(ollama: StandIn, wire: str) -> str:
    """The last prompt as the model server got it."""
    return [each for each in ollama.requests() if each.path == WIRES[wire][0]][-1].body.decode()


@pytest.fixture(scope="module")
def database() -> str:
    return recall_all(new_database(settings.DATABASE_URL, "festinger_remembered"))


def recall_all(database: str) -> str:
    with psycopg.connect(database) as client:
        client.execute("UPDATE config SET value = '100' WHERE key = 'recall_share'")
    return database


@pytest.fixture(scope="module")
def server(database: str, upstream: StandIn) -> Iterator[Served]:
    served = Served(upstream=upstream.url, database=database)
    yield served.wait_ready()
    served.stop()


@pytest.fixture(scope="module")
def other_server(database: str, upstream: StandIn) -> Iterator[Served]:
    served = Served(upstream=upstream.url, database=database)
    yield served.wait_ready()
    served.stop()


@pytest.fixture
def kept(database: str) -> Iterator[Any]:
    """Returns when an episode with these words is stored."""
    with psycopg.connect(database, autocommit=True) as client:

        def wait(words: str) -> None:
            query = "SELECT 1 FROM episode WHERE text LIKE %s"
            assert eventually(lambda: client.execute(query, [f"%{words}%"]).fetchone(), within_s=WITHIN_S)

        yield wait


def ask_until_given(server: Served, wire: str, question: str, headers: dict[str, str], **more: Any) -> list[Turn]:
    """What was said up to the prompt that was given something. A busy machine may miss the deadline: then the next turn
    has it."""
    deadline = time.monotonic() + WITHIN_S
    while time.monotonic() < deadline:
        turns: list[Turn] = [("user", f"{question} ({next(NUMBERS)})")]
        for _ in range(2):
            answer = post(server, wire, turns, headers, **more)
            told = server.client.get(f"/why/{answer.headers['x-festinger-request']}", headers=headers).json()
            if any(note["why"] == "given" for note in told["notes"]):
                return turns
            turns += [("assistant", "Well."), ("user", "Go on.")]
            time.sleep(0.2)
    raise AssertionError(told)


@pytest.mark.parametrize("wire", WIRES)
def test_what_was_said_in_one_conversation_stands_in_the_prompt_of_another(
    server: Served, other_server: Served, ollama: StandIn, kept: Any, wire: str
) -> None:
    """Also if another process was told."""
    name = {"X-Festinger-Agent": f"{wire}-teller"}
    said = f"We moved the billing{wire.replace('_', '')} database to Postgres 17 last week."
    post(other_server, wire, [("user", said)], name)
    kept(said)

    ask_until_given(server, wire, f"Which version is our billing{wire.replace('_', '')} database?", name)

    assert f"{time.strftime('%Y-%m-%d')} user: {said}" in received(ollama, wire)


# How a client says for whom it speaks: in the body, or in a header.
BEHIND: dict[str, Callable[[str], tuple[str, dict[str, Any], dict[str, str]]]] = {
    "webui": lambda person: ("chat", {}, {"X-OpenWebUI-User-Id": person}),
    "openai": lambda person: ("chat_completions", {"user": person}, {}),
    "anthropic": lambda person: ("messages", {"metadata": {"user_id": person}}, {}),
}


@pytest.mark.parametrize("client", BEHIND)
def test_of_two_people_behind_one_agent_neither_gets_what_the_other_said(
    server: Served, ollama: StandIn, kept: Any, client: str
) -> None:
    said, question = f"My zither{client} lessons begin on Thursday.", f"When do the zither{client} lessons begin?"

    def ask(person: str, turns: list[Turn]) -> bool:
        """Whether the prompt has it."""
        wire, body, headers = BEHIND[client](person)
        post(server, wire, turns, headers | {"X-Festinger-Agent": "bridge"}, **body)
        return said in received(ollama, wire)

    ask("ann", [("user", said)])
    kept(said)
    wire, body, headers = BEHIND[client]("ann")
    turns = ask_until_given(server, wire, question, headers | {"X-Festinger-Agent": "bridge"}, **body)
    assert said in received(ollama, wire)

    assert not any(ask(person, turns) for person in ("bob", "", "bob"))
    assert ask("ann", turns)


def test_what_somebody_quotes_and_what_the_model_says_does_not_come_by_itself(
    server: Served, ollama: StandIn, kept: Any
) -> None:
    name = {"X-Festinger-Agent": "reader"}
    planted = "The quokka server password is kept by the janitor."
    turns: list[Turn] = [
        ("user", f"Look at what the page about quokka says:\n\n> {planted}\n\nWhat do you make of that quokka page?"),
        ("assistant", f"I see. {planted} That is what the assistant believes."),
        ("user", "The quokka page is from this year, I am sure."),
    ]
    post(server, "chat", turns, name)
    kept("quokka page is from this year")
    kept("the assistant believes")

    ask_until_given(server, "chat", "Is the quokka page from this year, and who keeps the server password?", name)

    assert "janitor" not in received(ollama, "chat")


def test_what_was_forgotten_leaves_the_prompts_in_which_it_stood(
    server: Served, ollama: StandIn, kept: Any, database: str
) -> None:
    name = {"X-Festinger-Agent": "forgetful"}
    post(server, "chat", [("user", "The bandicoot release is planned for the ninth of May.")], name)
    kept("bandicoot release")
    turns = ask_until_given(server, "chat", "When is the bandicoot release planned?", name)
    said = [*turns, ("assistant", "In May."), ("user", "Thanks.")]
    post(server, "chat", said, name)
    assert "ninth of May" in received(ollama, "chat")

    with psycopg.connect(database, autocommit=True) as client:
        client.execute("DELETE FROM episode WHERE text LIKE %s", ["%bandicoot release is%"])

    def is_gone() -> bool:
        post(server, "chat", [*said, ("assistant", "."), ("user", "So?")], name)
        return "ninth of May" not in received(ollama, "chat")

    assert eventually(is_gone, within_s=WITHIN_S)


@pytest.mark.slow
def test_while_postgres_is_away_or_does_not_answer_prompts_go_on(upstream: StandIn) -> None:
    with OwnPostgres() as own:
        served = Served(upstream=upstream.url, database=recall_all(own.copy("remembering"))).wait_ready()
        try:
            for stop in (own.freeze, own.kill):
                stop()
                for number in range(6):  # more than there are connections
                    answer = served.chat(("user", f"Which version is our billing database? ({number})"))
                    assert answer.status_code == 200
                own.thaw()
        finally:
            served.stop()
