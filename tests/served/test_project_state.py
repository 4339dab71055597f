"""What operators settle for a project, over HTTP and by command: stored, given first, followed by every process."""

from functools import partial
from typing import Any

import httpx
import psycopg
import pytest

from tests import waiting
from tests.served.conftest import Command
from tests.served.server import Served
from tests.standin import StandIn

eventually = partial(waiting.eventually, within_s=10.0)
MATERIAL = {"project": "p05", "category": "decision", "key": "etalon_seat_alloy"}
BEARING = {"X-Festinger-Agent": "ada", "X-Festinger-Project": "p05"}


@pytest.fixture(autouse=True)
def project(database: str, server: Served, strict: Served, tokens: dict[str, str]) -> None:
    """Open to all, with nothing settled."""
    with psycopg.connect(database) as connection:
        connection.execute("DELETE FROM project_state")
        connection.execute(
            "INSERT INTO project (slug, name, is_open) VALUES ('p05', 'Interferometer', true), ('p04', 'Other', false)"
            " ON CONFLICT (slug) DO UPDATE SET is_open = excluded.is_open"
        )
    # Once each process has heard of the projects.
    assert eventually(lambda: server.client.get("/project/state", params={"project": "p05"}).status_code == 200)
    headers = {"Authorization": f"Bearer {tokens['operator']}"}
    assert eventually(
        lambda: strict.client.get("/project/state", params={"project": "p04"}, headers=headers).status_code == 200
    )


def settle(server: Served, **said: Any) -> httpx.Response:
    return server.client.post("/project/state", json=MATERIAL | said)


def prompt(server: Served, ollama: StandIn, *said: tuple[str, str], **headers: str) -> str:
    assert server.chat(*said, headers=BEARING | headers).status_code == 200
    return "\n".join(message["content"] for message in ollama.last().json()["messages"])


def test_a_value_is_settled_given_first_and_replaced_in_what_stands(
    server: Served, strict: Served, tokens: dict[str, str], ollama: StandIn
) -> None:
    server.teach("etalon -isa cavity")
    first = settle(server, value="GF-PTFE")
    opening = ("user", "Which alloy is the seat of the etalon?")
    given = prompt(server, ollama, opening)
    other = prompt(server, ollama, ("user", "And the etalon?"), **{"X-Festinger-Project": ""})
    second = settle(server, value="PEEK", reason="It creeps less.")
    after = prompt(
        server, ollama, opening, ("assistant", "On the support."), ("user", "Which alloy is its etalon seat now?")
    )

    assert (first.status_code, first.json()["result"], first.json()["superseded"]) == (201, "created", None)
    lines = given.splitlines()
    state = lines.index("state: decision.etalon_seat_alloy = GF-PTFE")
    assert lines[state - 1] == "<recollection>"
    assert lines[state + 1].startswith("etalon")
    assert "state:" not in other
    assert (second.status_code, second.json()["result"]) == (201, "replaced")
    assert second.json()["superseded"] == first.json()["id"]
    assert "GF-PTFE" not in after
    assert "state: decision.etalon_seat_alloy = PEEK" in after

    def recalled_elsewhere() -> bool:
        headers = {"Authorization": f"Bearer {tokens['operator']}", "X-Festinger-Project": "p05"}
        told = strict.client.post("/recollect", json={"text": "The etalon seat's alloy?"}, headers=headers).json()
        return "etalon_seat_alloy = PEEK" in told["block"]

    assert eventually(recalled_elsewhere)


def test_what_held_before_stays_in_the_history_and_what_is_taken_back_is_given_no_more(
    server: Served, ollama: StandIn
) -> None:
    for value in ("GF-PTFE", "PEEK", "PEEK"):
        last = settle(server, value=value)
    gone = settle(server, value=None, reason="Not decided after all.")

    assert (last.status_code, last.json()["result"]) == (200, "unchanged")
    assert (gone.status_code, gone.json()["result"]) == (200, "withdrawn")
    assert settle(server, value=None).status_code == 404
    assert "state:" not in prompt(server, ollama, ("user", "Hello there."))
    told = server.client.get("/project/state", params={"project": "p05", "status": "all"}).json()
    assert [(item["value"], item["status"]) for item in told["items"]] == [
        ("PEEK", "superseded"),
        ("GF-PTFE", "superseded"),
    ]
    assert told["items"][1]["superseded_by"] == told["items"][0]["id"]
    assert server.client.get("/project/state", params={"project": "p05"}).json() == {"items": [], "count": 0}


@pytest.mark.parametrize(
    ("said", "status", "says"),
    [
        ({"key": "naïve"}, 422, "small letters"),
        ({"value": "x" * 501}, 422, "500 characters"),
        ({"value": "  "}, 422, "says something"),
        ({"project": "p 06"}, 403, "small letters"),
        ({"project": ""}, 422, "Name the project"),
    ],
)
def test_what_cannot_be_settled_is_told(server: Served, said: dict[str, Any], status: int, says: str) -> None:
    answer = settle(server, **{"value": "PEEK"} | said)

    assert (answer.status_code, says in answer.json()["error"]) == (status, True)


def test_names_are_read_as_people_write_them_and_secrets_are_masked(server: Served) -> None:
    told = settle(server, category="Decision", key="Etalon Seat  alloy", value="PEEK,\nkey sk-" + "Ab1" * 16).json()

    assert (told["category"], told["key"]) == ("decision", "etalon_seat_alloy")
    assert told["value"].startswith("PEEK, key ")
    assert "Ab1Ab1" not in told["value"]


def test_operators_settle_and_agents_of_the_project_read(strict: Served, tokens: dict[str, str]) -> None:
    agent, operator = ({"Authorization": f"Bearer {tokens[scope]}"} for scope in ("agent", "operator"))
    settled = MATERIAL | {"value": "PEEK"}

    assert strict.client.post("/project/state", json=settled).status_code == 401
    assert strict.client.post("/project/state", json=settled, headers=agent).status_code == 403
    assert strict.client.post("/project/state", json=settled, headers=operator).status_code == 201
    read = [
        strict.client.get("/project/state", params={"project": slug}, headers=agent).status_code
        for slug in ("p05", "p04")
    ]
    assert read == [200, 403]


def test_a_command_settles_lists_and_removes(server: Served, command: Command, ollama: StandIn) -> None:
    told = command("set_state", "p05", "decision", "material", "PEEK")
    assert told == "decision.material = PEEK\n"
    assert eventually(lambda: "decision.material = PEEK" in prompt(server, ollama, ("user", "Which material?")))

    again = command("set_state", "p05", "decision", "material", "GF-PTFE")
    listed = command("set_state", "p05")
    removed = command("set_state", "p05", "decision", "material", "--remove")

    assert again == "decision.material = GF-PTFE (was: PEEK)\n"
    assert listed == "decision.material = GF-PTFE\n"
    assert removed == "decision.material = GF-PTFE holds no more\n"
