"""Clients that can set nothing but a base URL say in it who they are, and what is not to be done for them."""

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from tests.served.server import Served, manage
from tests.served.speakers import anthropic_client, ollama_client, openai_client
from tests.served.test_access import bearer
from tests.served.test_why import WITHIN_S, why
from tests.standin import StandIn
from tests.waiting import eventually

STATED = "SELECT agent FROM observation WHERE concept = %s"
OUR_AGENT = "/agent/agent%20of%20served"


def say_to_openai(url: str, text: str) -> None:
    with openai_client(url) as client:
        client.chat.completions.create(model="llama3", messages=[{"role": "user", "content": text}])


def say_to_ollama(url: str, text: str) -> None:
    with ollama_client(url) as client:
        client.chat("llama3", [{"role": "user", "content": text}])


def say_to_anthropic(url: str, text: str) -> None:
    with anthropic_client(url) as client:
        client.messages.create(model="llama3", max_tokens=9, messages=[{"role": "user", "content": text}])


@pytest.fixture(scope="module")
def rows(database: str) -> Iterator[Callable[[str, str], Any]]:
    with psycopg.connect(database, autocommit=True) as client:
        yield lambda query, value: client.execute(query, [value]).fetchall()


def chat_at(server: Served, address: str, text: str, **headers: str) -> Any:
    """What ``/why`` tells of the prompt."""
    said = {"model": "llama3", "messages": [{"role": "user", "content": text}], "stream": False}
    answer = server.client.post(f"{address}/api/chat", json=said, headers=headers)
    assert answer.status_code == 200, answer.text
    return why(server, answer.headers["x-festinger-request"])


@pytest.mark.parametrize("say", [say_to_openai, say_to_ollama, say_to_anthropic])
def test_one_client_speaks_as_two_agents(
    say: Callable[[str, str], None], server: Served, ollama: StandIn, rows: Callable[[str, str], Any]
) -> None:
    for agent in ("zero", "winky"):
        concept = f"bander{say.__name__.replace('_', '')}{agent}"
        say(f"{server.url}/agent/{agent}", f"{concept} is a repo.")

        assert eventually(lambda: rows(STATED, concept), within_s=WITHIN_S) == [(f"{agent}@127.0.0.1",)]  # noqa: B023
    assert "agent/" not in "".join(request.path for request in ollama.requests())


def test_what_is_no_prompt_passes_through_under_its_plain_path(server: Served, ollama: StandIn) -> None:
    ollama.clear()

    assert server.client.get("/agent/zero/api/tags?x=1").json()["models"]
    assert (ollama.last().path, ollama.last().query) == ("/api/tags", "x=1")
    assert server.client.get("/agent/zero").text == server.client.get("/").text
    assert server.client.get("/agent/zero/health").json()["ready"]


def test_switches_in_the_address_restrict(server: Served, ollama: StandIn, rows: Callable[[str, str], Any]) -> None:
    server.teach("snark -isa repo")

    told = chat_at(server, "/agent/zero,recall=off", "restart snark")
    assert (told["block"], told["restrictions"]) == ("", {"recall": "off in the address"})
    assert ollama.last().json()["messages"] == [{"role": "user", "content": "restart snark"}]
    assert "snark: [type] repo" in chat_at(server, "/agent/zero", "restart snark")["block"]

    asked = chat_at(server, "/agent/zero,ask=off", "restart snark")
    assert asked["restrictions"] == {"ask": "off in the address"}

    told = chat_at(server, "/agent/zero,learn=off", "snark and boojum1. boojum1 is a repo.")
    chat_at(server, "/agent/zero", "snark and boojum2. boojum2 is a repo.")
    assert "snark: [type] repo" in told["block"]
    assert eventually(lambda: rows(STATED, "boojum2"), within_s=WITHIN_S)
    assert rows(STATED, "boojum1") == []


def test_the_name_of_a_registered_agent_is_for_its_token(
    server: Served, tokens: dict[str, str], rows: Callable[[str, str], Any]
) -> None:
    fact = {"fact": "jubjub -isa bird"}
    for headers in ({}, bearer(tokens["operator"])):
        answer = server.client.post(f"{OUR_AGENT}/iknowthat", json=fact, headers=headers)
        assert (answer.status_code, "agent of served has a token" in answer.json()["error"]) == (401, True)
    assert server.client.get(f"{OUR_AGENT}/health").status_code == 401
    own = server.client.post(f"{OUR_AGENT}/iknowthat", json=fact, headers=bearer(tokens["agent"]))
    assert own.status_code == 201

    assert chat_at(server, OUR_AGENT, "hello")["agent"] == "anonymous@127.0.0.1"
    assert chat_at(server, OUR_AGENT, "hello", **bearer(tokens["agent"]))["agent"] == "agent of served"
    assert chat_at(server, "/agent/zero", "hello", **bearer(tokens["agent"]))["agent"] == "agent of served"
    assert chat_at(server, "/agent/zero", "hello", **{"X-Festinger-Agent": "winky"})["agent"] == "zero@127.0.0.1"


def test_what_is_switched_off_for_an_agent_is_off_in_every_process(
    server: Served, raw_server: Served, database: str
) -> None:
    made = manage("create_agent", "kreacher", "--off", "learn", "ask", "remember", DATABASE_URL=database)
    told = dict.fromkeys(("learn", "ask", "remember"), "off in the settings of the agent")

    def are_restricted(restrictions: dict[str, str], *processes: Served) -> bool:
        found = [chat_at(one, "", "hello", **bearer(made.stdout.strip()))["restrictions"] for one in processes]
        return found == [restrictions] * len(processes)

    assert eventually(lambda: are_restricted(told, server, raw_server), within_s=WITHIN_S)
    told["recall"] = "off in the address"
    under = chat_at(server, "/agent/kreacher,recall=off,ask=off", "hello", **bearer(made.stdout.strip()))
    assert under["restrictions"] == told
    with psycopg.connect(database, autocommit=True) as client:
        client.execute("UPDATE agent SET learn = true, ask = true, episodes = 'on' WHERE name = 'kreacher'")
        assert eventually(lambda: are_restricted({}, server, raw_server), within_s=WITHIN_S)
        client.execute("DELETE FROM agent WHERE name = 'kreacher'")


def test_a_bad_address_is_told_why_in_the_shape_of_its_path(server: Served, ollama: StandIn) -> None:
    ollama.clear()

    answer = server.client.post("/agent/zero,teach=off/v1/chat/completions", json={"model": "llama3", "messages": []})

    assert answer.status_code == 400
    assert "teach=off is no switch" in answer.json()["error"]["message"]
    assert ollama.requests() == []
