"""The search over everything, which Ctrl K opens."""

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from memory.memories.scope import Scope, Speaker
from memory.models import Agent, Episode, Soas
from memory.running import bootstrap
from memory.search.vectors import queue, schema
from proxy.models import RecollectionEvent
from tests.arrange import OPERATOR, dismiss, dispute, remember, stand
from tests.memory.memories.said import said

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module", autouse=True)
def settings_of_festinger(module_db: None) -> None:
    bootstrap.load_config()


def search(client: Client, term: str) -> list[tuple[str, str]]:
    """The addresses and descriptions of the results."""
    shown = client.get("/admin/search/", {"s": term, "extended": "1"})
    return [(str(one.link), one.description) for one in shown.context_data["results"]] if shown.content else []


@pytest.fixture
def operator() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("hermione"))
    return client


def say(text: str) -> Episode:
    return said(text, Scope(Speaker("dobby", "harry")))


def test_one_term_finds_rows_of_all_kinds_with_their_speaker(operator: Client) -> None:
    stand("kvasir isa search-service type")
    claim = dispute("kvasir ispart tyr-1 runs-on", "kvasir ispart tyr-2 runs-on")
    conflict = claim.conflict
    memory = remember("Kvasir is restarted on Mondays.")
    episode = say("Is kvasir slow today?")
    agent = Agent.objects.create(name="kvasir-bot", token_hash="0" * 64)
    said("Good morning.", Scope(Speaker("dobby", "kvasir-fan")))
    RecollectionEvent.objects.create(request=f"{1:016x}", agent="kvasir@127.0.0.1", model="m", wire="chat", enrich_ms=1)
    found = dict(search(operator, "kvasir"))
    assert found[f"/admin/resolution/conflict/{conflict.pk}/change/"] == "conflict"
    assert found[f"/admin/memory/memory/{memory.pk}/change/"].startswith("memory")
    assert found[f"/admin/memory/episode/{episode.pk}/change/"] == "episode · dobby harry"
    assert found[f"/admin/memory/agent/{agent.pk}/change/"] == "agent"
    assert found["/admin/memory/agent/speaker/?agent=dobby&person=kvasir-fan"] == "person · dobby"
    assert found["/admin/memory/agent/speaker/?agent=kvasir%40127.0.0.1"] == "agent"
    assert {"concept", "fact · dobby"} <= set(found.values())
    assert "fact · dobby" in dict(search(operator, "kvasir is a search service")).values()
    dismiss(claim.pk, OPERATOR, "it moved")
    last, kind = search(operator, "kvasir")[-1]
    assert (last, kind) == (f"/admin/resolution/conflict/{conflict.pk}/change/", "conflict · dismissed")


@pytest.mark.parametrize(
    ("term", "address"),
    [
        ("zero hit", "/admin/memory/config/zero_hit_max/change/"),
        ("zero_hit_max", "/admin/memory/config/zero_hit_max/change/"),
        ("live", "/admin/proxy/recollectionevent/live/"),
        ("dimensions", "/admin/memory/dimension/"),
    ],
)
def test_settings_and_pages_are_found_by_their_name_once(operator: Client, term: str, address: str) -> None:
    assert [found for found, _ in search(operator, term)].count(address) == 1


def test_accounts_find_what_they_may_see(operator: Client) -> None:
    stand("kvasir isa search-service type")
    say("Is kvasir slow today?")
    viewer = User.objects.create_user("neville", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_edge"))
    client = Client()
    client.force_login(viewer)
    assert {kind for _, kind in search(client, "kvasir")} == {"fact · dobby"}
    assert search(client, "zero_hit_max") == []


def test_dictionary_words_without_facts_come_last(operator: Client) -> None:
    words = [Soas.objects.create(token=token, is_common=True) for token in ("crate", "crates")]
    stand("crate isa container type")
    episode = say("The crate is full.")
    found = [address for address, _ in search(operator, "crate")]
    known, bare = (f"/admin/memory/soas/{word.pk}/change/" for word in words)
    assert found.index(known) < found.index(f"/admin/memory/episode/{episode.pk}/change/") < found.index(bare)


def test_what_is_gone_is_not_found_a_second_time(operator: Client) -> None:
    episode = say("Is kvasir slow today?")
    assert search(operator, "kvasir")
    episode.delete()
    assert search(operator, "kvasir") == []


def test_messages_are_found_by_their_meaning(operator: Client) -> None:
    assert schema.make_tables() == ""
    wanted = say("My sister is a vegetarian and eats no meat.")
    for other in ("The printer is out of paper.", "We moved billing to Postgres 17.", "My bike has a flat tyre."):
        say(other)
    queue.fill()
    queue.embed_due()
    found = [address for address, _ in search(operator, "who does not eat animals")]
    assert found[:1] == [f"/admin/memory/episode/{wanted.pk}/change/"]


def test_a_term_without_results_is_repeated(operator: Client) -> None:
    shown = operator.get("/admin/search/", {"s": "Borogove <b>", "extended": "1"}).content.decode()

    assert "No results for “Borogove &lt;b&gt;”." in shown
    assert 'id="command-results-note"' in shown  # the part that is put into the page


def test_names_with_facts_come_first(operator: Client) -> None:
    Soas.objects.create(token="mirror-shop", saliency=3)
    stand("p05.mirror9 isa mount type")

    found = [address for address, kind in search(operator, "mirror") if kind == "concept"]

    known, unknown = (Soas.objects.get(token=token).pk for token in ("p05.mirror9", "mirror-shop"))
    assert found == [f"/admin/memory/soas/{key}/change/" for key in (known, unknown)]
