"""The typed Python client against a server."""

import importlib.util
from types import ModuleType

import pytest

from scripts.make_client import CLIENT
from tests.served.server import Served

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("festinger_client", CLIENT)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_it_writes_reads_and_raises(server: Served, strict: Served, tokens: dict[str, str], module: ModuleType) -> None:
    with module.Festinger(server.url, agent="bilby", user="ines") as client:
        first = client.post_memory(text="I prefer the bilby editor.", idempotency_key="bilby")
        assert client.post_memory(text="I prefer the bilby editor.", idempotency_key="bilby") == first
        assert client.get_memory(first["id"])["text"] == "I prefer the bilby editor."
        assert client.list_memories(text="bilby", limit=5)["count"] == 1
        assert client.search_memory(query="bilby editor")["items"][0]["id"] == first["id"]
        assert client.iknowthat(fact='"bilby den" -isa burrow')["status"] == "inserted"
        assert [fact["parent"] for fact in client.list_facts("bilby den")["items"]] == ["burrow"]
        assert client.list_all_facts(q="bilby")["count"] == 1
        assert client.get_health()["ready"] is True
        assert client.get_gutask().startswith("#!")
        with pytest.raises(module.FestingerError, match="-isa") as caught:
            client.iknowthat(fact="nonsense")
        assert (caught.value.status, caught.value.content.keys() >= {"error", "hint"}) == (422, True)
    with module.Festinger(strict.url, tokens["operator"]) as client:
        assert "operator" in {agent["scope"] for agent in client.list_agents()["items"]}
    with module.Festinger(strict.url) as client, pytest.raises(module.FestingerError) as caught:
        client.list_agents()
    assert caught.value.status == 401
