"""Project state, facts and memories that contradict each other, over HTTP."""

from typing import Any

import httpx
import psycopg
import pytest

from tests.served.server import Served


@pytest.fixture(scope="module")
def slug(server: Served, database: str) -> str:
    with psycopg.connect(database) as connection:
        connection.execute(
            "INSERT INTO project (slug, name, is_open) VALUES ('p05', 'P05', true)"
            " ON CONFLICT (slug) DO UPDATE SET is_open = true"
        )
    server.client.post("/reload")
    return "p05"


class Writer:
    """Writes to one layer or the other, as an operator."""

    def __init__(self, strict: Served, tokens: dict[str, str], project: str) -> None:
        self._client, self._project = strict.client, project
        self._headers = {"Authorization": f"Bearer {tokens['operator']}"}

    def post(self, path: str, **body: Any) -> dict[str, Any]:
        answer = self._client.post(path, json=body, headers=self._headers)
        assert answer.status_code < 300, answer.text
        return dict(answer.json())

    def settle(self, category: str, key: str, value: str) -> dict[str, Any]:
        return self.post("/project/state", project=self._project, category=category, key=key, value=value)

    def teach(self, fact: str) -> dict[str, Any]:
        return self.post("/iknowthat", fact=fact)

    def get(self, path: str) -> httpx.Response:
        return self._client.get(path, headers=self._headers)


@pytest.fixture(scope="module")
def writer(strict: Served, tokens: dict[str, str], slug: str) -> Writer:
    return Writer(strict, tokens, slug)


def test_two_decisions_about_one_thing_are_a_conflict(writer: Writer) -> None:
    writer.teach("p05.axial-support -isa gf-ptfe in context of decision.material")

    told = writer.teach("p05.axial-support -isa peek in context of decision.material")

    assert told["status"] == "conflict"
    conflict = writer.get(f"/conflicts/{told['conflict_id']}").json()
    assert (conflict["kind"], conflict["status"]) == ("edge_slot", "open")
    assert {member["parent"] for member in conflict["members"]} == {"gf-ptfe", "peek"}
    (fact,) = writer.get("/facts/p05.axial-support").json()["items"]
    assert [one["id"] for one in fact["conflicts"]] == [told["conflict_id"]]
    again = writer.teach("p05.axial-support -isa gf-ptfe in context of decision.material")
    assert (again["status"], again["conflict_id"]) == ("confirmed", told["conflict_id"])


def test_project_state_against_a_fact_is_a_conflict_in_which_the_fact_is_flagged(writer: Writer) -> None:
    state = writer.settle("decision", "lateral_support_material", "GF-PTFE")
    assert state["conflict_id"] is None
    told = writer.teach("p05.lateral-support -isa peek in context of decision.material")

    assert told["status"] == "inserted"  # flagged, never blocked
    (fact,) = writer.get("/facts/p05.lateral-support").json()["items"]
    higher = {"kind": "project_state", "id": state["id"]}
    assert fact["conflicts"] == [{"id": told["conflict_id"], "kind": "cross_layer", "conflicts_with": higher}]
    given = writer.post("/recollect", text="Is p05.lateral-support done?")["block"]
    assert "(disputed)" in given or "?" in given

    agreed = writer.settle("decision", "lateral_support_material", "PEEK")
    assert "warning" in agreed
    assert agreed["conflict_id"] is None
    assert writer.get("/facts/p05.lateral-support").json()["items"][0]["conflicts"] == []


def test_what_is_no_conflict_of_layers(writer: Writer) -> None:
    """The same value, another field, what was replaced before."""
    writer.settle("requirement", "mirror_mass", "4.8 kg")
    facts = [
        "p05.mirror -isa 4.8_kg in context of requirement.mass",
        "p05.mirror -isa 2_kw in context of requirement.heat-flux",
        "p06.mirror -isa 5_kg in context of requirement.mass",
    ]

    assert [writer.teach(fact).get("conflict_id") for fact in facts] == [None] * 3
    other = writer.settle("requirement", "mirror_mass", "4.82 kg")
    assert other["conflict_id"] is not None
    back = writer.settle("requirement", "mirror_mass", "4.8 kg")
    assert back["conflict_id"] is None
