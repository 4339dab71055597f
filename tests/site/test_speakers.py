"""The pages of agents and of the persons behind them, used like an operator."""

import re
from html import unescape
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from memory.access import agent_tokens
from memory.attribution.client_names import Supporter
from memory.channels import Channel
from memory.db.connections import run_together
from memory.graph import store
from memory.memories.scope import Scope, Speaker
from memory.models import Agent, Edge, EdgeHistory, Episode, Evidence, Memory, Observation, Support
from memory.running import bootstrap
from proxy.models import LoopEvent, RecollectionEvent
from resolution.models import Candidate
from tests.arrange import dispute, teach
from tests.memory.memories.said import remembered, said
from tests.worlds import Login

pytestmark = pytest.mark.django_db

QUERIES = 15  # the page of an agent offers projects, too
AGENT = "/admin/memory/agent/"
ANN, BOB = Scope(Speaker("webui", "ann")), Scope(Speaker("webui", "bob"))
ALONE, SHARED = "Kvasir runs on tyr.", "Skadi runs on tyr."


@pytest.fixture(scope="module", autouse=True)
def world(module_db: None) -> None:
    bootstrap.load_dimensions()
    agent_tokens.create("webui", "agent")
    for fact, words, people in (("kvasir", ALONE, ["ann"]), ("skadi", SHARED, ["ann", "bob"])):
        teach(f"{fact} ispart tyr runs-on")
        edge = Edge.objects.get(concept__token=fact)
        store.select_support([edge]).delete()
        now = timezone.now()
        own = [(edge, store.build_support(Supporter("webui", name), Channel.USER, now)) for name in people]
        run_together(store.supported(own))
        Edge.objects.filter(pk=edge.pk).update(agent="webui")
        Evidence.objects.create(concept=edge.concept, sentence=words, role="user", agent="webui", person=people[-1])
        EdgeHistory.objects.create(
            concept=edge.concept, dim=edge.dim, action="confirm", actor="webui", source="inferred", reason=words
        )
    Observation.objects.create(
        kind="triple", digest=b"1" * 32, concept="kvasir", parent="tyr", dimension="runs-on", role="user",
        agent="webui", for_speaker="webui", for_person="ann", said_at=timezone.now(), evidence=ALONE, state="done",
        outcome="inserted",
    )  # fmt: skip
    for scope in (ANN, BOB):
        opening = said(f"{scope.speaker.person} has moved.", scope, said_at=timezone.now())
        remembered(f"{scope.speaker.person} lives in Bergen.", scope)
        Candidate.objects.create(
            concept="skadi", parent="virus", dimension="type", is_isa=True, channel="unsure", confidence=0.4,
            for_speaker="webui", for_person=scope.speaker.person, voices=[["webui", "unsure"]],
        )  # fmt: skip
        number = opening.pk * 16
        RecollectionEvent.objects.create(
            request=f"{number:016x}", agent="webui", person=scope.speaker.person, model="m", wire="chat", enrich_ms=1,
            block="kvasir",
        )  # fmt: skip
        LoopEvent.objects.create(
            request=f"{number:016x}", agent="webui", model="m", wire="chat", kind="same", count=3, steps=["note"],
            repeated=["look()"],
        )  # fmt: skip


@pytest.fixture(scope="module")
def operator_login(world: None) -> Login:
    return Login(User.objects.create_superuser("operator"))


def see(client: Client, path: str) -> str:
    answer = client.get(path, follow=True)
    assert answer.status_code == 200
    return " ".join(unescape(answer.content.decode()).split())


def numbers(shown: str) -> dict[str, int]:
    """What the page counts, by its label."""
    found = re.findall(r"<dt>([^<]+)</dt><dd>(?:<a[^>]*>)?([\d,]+)(?:</a>)?</dd>", shown)
    return {label: int(count.replace(",", "")) for label, count in found}


def rows_behind(client: Client, shown: str) -> dict[str, int]:
    """How many rows each list has that the page links a count to."""
    links = re.findall(r'<dt>([^<]+)</dt><dd><a class="fst-link" href="([^"]+)">', shown)
    return {label: len(client.get(href).context["cl"].result_list) for label, href in links}


@pytest.mark.parametrize(
    ("query", "counts"),
    [
        ("agent=webui", {"Prompts today": 2, "With a block": 2, "Facts": 2, "Memories": 2, "Candidates": 2,
                         "Statements": 1, "Sentences": 2, "Episodes": 2, "Loops": 2}),
        ("agent=webui&person=ann", {"Prompts today": 1, "With a block": 1, "Facts": 2, "Memories": 1, "Candidates": 1,
                                    "Statements": 1, "Sentences": 1, "Episodes": 1, "Loops": 1}),
    ],
)  # fmt: skip
def test_a_page_counts_what_a_speaker_taught_and_was_given_and_leads_to_it(
    operator: Client, query: str, counts: dict[str, int], django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    shown = see(operator, f"{AGENT}speaker/?{query}")

    told = numbers(shown)
    assert {label: told[label] for label in counts} == counts
    behind = rows_behind(operator, shown)
    assert behind == {label: told[label] for label in behind}
    assert len(behind) >= len(counts) - 1
    assert ('href="/admin/memory/agent/speaker/?agent=webui&person=bob"' in shown) == ("person" not in query)
    with django_assert_max_num_queries(QUERIES):
        operator.get(f"{AGENT}speaker/?{query}", follow=True)


def test_a_persons_prompts_are_counted_from_however_many_conversations(operator: Client) -> None:
    RecollectionEvent.objects.bulk_create(
        RecollectionEvent(
            request=f"{2**60 + n:016x}", agent="webui", person=person, model="m", wire="chat", enrich_ms=1,
            conversation=f"{n:032x}",
        )
        for n, person in enumerate(["carl"] * 60 + ["dora"])
    )  # fmt: skip

    shown = see(operator, f"{AGENT}speaker/?agent=webui&person=carl")

    assert numbers(shown)["Prompts in 7 days"] == 60


def test_a_page_says_what_the_open_conflicts_of_a_speaker_are_about(operator: Client) -> None:
    conflict = dispute("hrimfaxi ispart tyr runs-on", "hrimfaxi ispart odin runs-on", "winky").conflict

    shown = see(operator, f"{AGENT}speaker/?agent=winky")

    assert re.search(rf'href="{conflict.get_absolute_url()}"[^>]*>hrimfaxi[^<]*: tyr or odin</a> \(open\)', shown)


def test_rows_lead_to_the_pages_of_who_said_them(operator: Client) -> None:
    of_ann, of_webui = "speaker/?agent=webui&person=ann", "speaker/?agent=webui"
    edge = Edge.objects.get(concept__token="kvasir")
    assert of_webui in see(operator, f"/admin/memory/edge/{edge.pk}/change/")
    assert of_ann in see(operator, f"/admin/memory/edge/{edge.pk}/change/")
    for model, of in ((Memory, {}), (Episode, {}), (Evidence, {"person": "bob"}), (Observation, {}), (Candidate, {})):
        row = model.objects.filter(**of).order_by("pk")[0]
        link = of_ann.replace("ann", of.get("person", "ann"))
        assert link in see(operator, f"/admin/{model._meta.app_label}/{model._meta.model_name}/{row.pk}/change/")


def test_a_person_is_forgotten_as_the_dry_run_says_here_and_in_the_shell(
    operator: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    said("Forget this.", ANN), remembered("ann lives in Oslo.", ANN, status="invalid", archived_at=timezone.now())
    Episode.objects.filter(text="Forget this.").update(set_aside_at=timezone.now())
    kinds_of_rows = ("episode", "set-aside episode", "memory", "inactive memory", "fact", "sentence", "statement")
    what = f"{', '.join(f'1 {kind}' for kind in kinds_of_rows)}, 1 candidate and 1 request"
    stays = "1 fact stays"
    call_command("forget", "--agent", "webui", "--person", "ann", "--dry-run")
    told = capsys.readouterr().out
    asked = see(operator, f"{AGENT}forget/?agent=webui&person=ann")
    counted = numbers(see(operator, f"{AGENT}speaker/?agent=webui&person=ann"))
    assert "spoken to other agents" not in asked
    said("Who am I here?", Scope(Speaker("atlas", "ann")))
    elsewhere = re.findall(r'href="([^"]*agent=atlas[^"]*)"', see(operator, f"{AGENT}forget/?agent=webui&person=ann"))
    assert [unescape(each) for each in elsewhere] == [f"{AGENT}speaker/?agent=atlas&person=ann"]
    Episode.objects.filter(agent="atlas").delete()
    assert (counted["Episodes"], counted["Memories"]) == (1, 1)  # as many as are neither set aside nor inactive
    assert Episode.objects.filter(person="ann").exists()
    for shown in (told, asked):
        assert what in shown
        assert all(text in shown for text in ("ann has moved.", "ann lives in Bergen.", "kvasir", "others have stated"))

    done = operator.post(f"{AGENT}forget/", {"agent": "webui", "person": "ann"}, follow=True).content.decode()

    assert f"{what} forgotten for good." in unescape(done)
    assert stays in told
    kinds: list[Any] = [Episode, Memory, Evidence, RecollectionEvent]
    assert {row.person for kind in kinds for row in kind.objects.all()} == {"bob"}
    assert {str(row) for row in Support.objects.filter(agent="webui")} == {"webui (bob)"}
    assert set(Edge.objects.filter(parent__token="tyr").values_list("concept__token", flat=True)) == {"skadi"}
    assert not EdgeHistory.objects.filter(reason=ALONE).exists()
    assert EdgeHistory.objects.filter(reason=SHARED).exists()
    assert not Observation.objects.filter(for_person="ann").exists()
    assert "ann" not in LogEntry.objects.get().object_repr


def test_a_token_is_revoked_and_then_refused_until_there_is_a_new_one(operator: Client) -> None:
    Agent.objects.update(token_start="")  # as before version 0.3.0
    agent = Agent.objects.get()
    assert f"SHA-256 {agent.token_hash[:8]}…" in see(operator, f"{AGENT}{agent.pk}/change/")
    [seen] = re.findall(r'name="seen" value="(\w+)"', see(operator, f"{AGENT}{agent.pk}/revoke/"))
    sent = {"_form_submitted": "true", "seen": seen}

    told = operator.post(f"{AGENT}{agent.pk}/revoke/", sent, follow=True).content.decode()

    assert "The token of webui is refused from now on." in told
    assert ">revoked<" in told
    before, agent = agent.token_hash, Agent.objects.get()
    assert agent.token_hash != before
    [seen] = re.findall(r'name="seen" value="(\w+)"', see(operator, f"{AGENT}{agent.pk}/rotate/"))
    new = operator.post(
        f"{AGENT}{agent.pk}/rotate/", {**sent, "seen": seen}, headers={"HX-Request": "true"}
    )  # the dialog shows it in its own place
    [token] = re.findall(r"fst_[\w-]{43}", new.content.decode())
    assert Agent.objects.get().token_hash == agent_tokens.token_hash(token)
    assert f">{token[:8]}…<" in see(operator, f"{AGENT}{agent.pk}/change/")
    assert new.headers["HX-Retarget"] == "#dialog"
