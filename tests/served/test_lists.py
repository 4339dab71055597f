"""The lists of facts and agents: filters, pages, and who may see them."""

from typing import Any

import pytest

from tests.served.server import Served

pytestmark = pytest.mark.slow


def list_facts(server: Served, **query: Any) -> tuple[list[str], int]:
    page = server.client.get("/facts", params=query).json()
    return [f"{item['concept']} {item['parent']}" for item in page["items"]], page["count"]


def test_facts_are_listed_newest_first_and_filtered(server: Served, strict: Served, tokens: dict[str, str]) -> None:
    server.client.post("/projects", json={"slug": "wallaroo", "is_open": True})
    server.teach("wallaroo.mast -isa antenna")
    fact, agent = "wallaroo.mast runs on tyr-wallaroo", {"Authorization": f"Bearer {tokens['agent']}"}
    strict.client.post("/iknowthat", json={"fact": fact}, headers=agent)
    server.teach("euro -isa wallaroo-kin")
    server.teach("kowari -isa marsupial")
    everything = ["euro wallaroo-kin", "wallaroo.mast tyr-wallaroo", "wallaroo.mast antenna"]

    assert list_facts(server, q="wallaroo") == (everything, 3)
    assert list_facts(server, q="wallaroo", limit=1, offset=1) == (everything[1:2], 3)
    assert list_facts(server, concept="wallaroo.mast") == (everything[1:], 2)
    assert list_facts(server, concept="wallaroo.mast", dimension="runs-on") == (everything[1:2], 1)
    assert list_facts(server, agent="agent of served", q="wallaroo") == (everything[1:2], 1)
    assert list_facts(server, project="wallaroo") == (everything, 3)
    assert server.client.get("/facts", params={"project": "no-wallaroo"}).status_code in (403, 404)


def test_an_agent_is_listed_without_its_token(server: Served, strict: Served, tokens: dict[str, str]) -> None:
    headers = {"Authorization": f"Bearer {tokens['operator']}"}

    answer = strict.client.get("/agents", params={"limit": 500}, headers=headers)

    items = answer.json()["items"]
    assert answer.json()["count"] == len(items) >= 2
    assert [item["name"] for item in items] == sorted(item["name"] for item in items)
    assert {item["scope"] for item in items} == {"agent", "operator"}
    assert not any("token" in key for item in items for key in item)
