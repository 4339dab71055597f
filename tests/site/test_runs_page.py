"""The resolver's runs in the admin, read and used like a person: the list, a run and its progress, undoing it."""

import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.contrib.messages import get_messages
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from memory.db.locks import try_job_lock
from memory.graph.store import Attribution
from memory.memories.scope import Scope, Speaker
from memory.models import Alias, Edge, LanguageModel, Source
from memory.running import bootstrap
from resolution.actors import Actor
from resolution.admin import runs as page_of_runs
from resolution.models import Claim, Decision, Run
from resolution.naming.names import name_concept
from resolution.nightly.runs import LOCK, request_run
from tests.arrange import facts, forget, say, teach_both, update
from tests.memory.memories.said import remembered
from tests.worlds import Login

pytestmark = pytest.mark.django_db

QUERIES = 12
LIST = "/admin/resolution/run/"
SENT = {"_form_submitted": "true"}  # a dialog's form


@pytest.fixture(scope="module", autouse=True)
def world(module_db: None) -> None:
    bootstrap.load_config()
    bootstrap.load_dimensions()


@pytest.fixture(scope="module")
def operator_login(world: None) -> Login:
    return Login(User.objects.create_superuser("operator"))


@pytest.fixture(scope="module")
def viewer_login(world: None) -> Login:
    user = User.objects.create_user("viewer", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_run"))
    return Login(user)


def ended(**fields: Any) -> Run:
    return Run.objects.create(
        **{"trigger": "api", "mode": "auto", "status": "done", "ended_at": timezone.now()} | fields
    )


def deciding(run: Run, *concepts: str) -> list[Decision]:
    """The run took the newcomer in each of these disputes."""
    actor = Actor("resolver: judge", Source.FESTINGER, run)
    return [update(teach_both(concept).pk, actor, "it moved") for concept in concepts]


def of(run: Run, name: str = "change") -> str:
    return reverse(f"admin:resolution_run_{name}", args=[run.pk])


def page(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200
    return str(answer.content.decode())


def text(html: str) -> str:
    words = " ".join(unescape(re.sub(r"<[^>]*>", " ", html)).split())
    return re.sub(r" ([,.;:])", r"\1", words)


def told(answer: Any) -> list[str]:
    return [str(message) for message in get_messages(answer.wsgi_request)]


def parent_of(concept: str) -> str:
    return Edge.objects.get(concept__token=concept).parent.token


def test_the_list_says_what_became_of_each_run(operator: Client) -> None:
    ended(actor="dobby", conflicts_seen=4, conflicts_total=5, counts={"update": 3, "failed": 1}, input_tokens=2_000)
    ended(actor="winky", status="partial")

    shown = text(page(operator, LIST))

    assert "done over the API dobby 4 of 5 conflicts 3 updated, 1 failed 2,000 tokens" in shown
    assert "partial over the API winky" in shown


def test_a_run_shows_its_numbers_and_leads_to_its_decisions_conflicts_and_model(operator: Client) -> None:
    model = LanguageModel.objects.create(provider="ollama", model_name="judge")
    run = ended(model_name="judge", conflicts_seen=1, conflicts_total=1, counts={"update": 1})
    [decision] = deciding(run, "gnommoweb")

    html = page(operator, of(run))

    for name, key in (("resolution_decision", decision.pk), ("memory_languagemodel", model.pk)):
        assert f'href="{reverse(f"admin:{name}_change", args=[key])}"' in html
    assert decision.claim is not None
    assert f'href="{decision.claim.get_absolute_url()}"' in html
    assert "1 of 1 conflicts: 1 updated." in text(html)
    assert "by resolver: judge" in text(html)
    assert "it moved" in html


def test_what_a_run_could_not_decide_is_shown_with_the_reason(operator: Client) -> None:
    run, claim = ended(conflicts_seen=1, counts={"failed": 1}), teach_both("gnommoweb")
    Claim.objects.filter(pk=claim.pk).update(run=run, attempts=1, last_error="No answer <in> time.")

    html = page(operator, of(run))

    assert "pending gnommoweb [type]: repo or container No answer <in> time." in text(html)


def test_the_decisions_of_a_long_run_have_pages(
    operator: Client, django_assert_max_num_queries: DjangoAssertNumQueries, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_of_runs, "PAGE", 3)
    run = ended()
    deciding(run, *(f"thing{number}" for number in range(7)))

    with django_assert_max_num_queries(QUERIES):
        first = text(page(operator, of(run)))
    last = text(page(operator, f"{of(run)}?page=3"))

    assert "thing2" in first
    assert "thing3" not in first
    assert "Page 3 of 3" in last
    assert "thing6" in last
    assert "thing5" not in last


def test_a_run_under_way_is_followed_until_it_has_ended(viewer: Client) -> None:
    run = Run.objects.create(trigger="api", mode="auto", conflicts_seen=2, conflicts_total=9)

    with try_job_lock(LOCK):
        under_way = viewer.get(of(run, "progress"))
    Run.objects.filter(pk=run.pk).update(status="done", ended_at=timezone.now(), counts={"dismiss": 9})
    over = viewer.get(of(run, "progress"))

    assert f'hx-get="{of(run, "progress")}" hx-trigger="every 2s"' in under_way.content.decode()
    assert 'max="9" value="2"' in under_way.content.decode()
    assert "HX-Trigger" not in under_way.headers
    assert "hx-get" not in over.content.decode()
    assert "9 dismissed" in over.content.decode()
    assert over.headers["HX-Trigger"] == "run-ended"


def test_the_list_of_conflicts_follows_a_run_under_way(operator: Client) -> None:
    run = request_run(Run.Trigger.ADMIN, "operator")

    under_way = operator.get("/admin/resolution/conflict/").content.decode()
    Run.objects.filter(pk=run.pk).update(status="done", ended_at=timezone.now())
    over = operator.get("/admin/resolution/conflict/").content.decode()

    assert f'hx-get="{of(run, "progress")}" hx-trigger="every 2s"' in under_way
    assert of(run, "progress") not in over
    assert "Last run: done, just now" in over


def test_a_run_that_nobody_has_begun_and_one_that_died_say_so(viewer: Client) -> None:
    run = request_run(Run.Trigger.ADMIN, "operator")
    awaited = text(page(viewer, of(run, "progress")))

    Run.objects.filter(pk=run.pk).update(status="running")
    with try_job_lock(LOCK):
        alive = text(page(viewer, of(run, "progress")))
    dead = text(page(viewer, of(run, "progress")))

    assert "It waits for a worker" in awaited
    assert ["process is gone" in told for told in (awaited, alive, dead)] == [False, False, True]


@pytest.mark.parametrize(
    ("job", "name", "place", "lack"),
    [
        ("detect", "detective", "/admin/", " No language model"),
        ("consolidate", "consolidation", "/admin/", " No language model"),
        ("sweep", "sweep", "/admin/resolution/conflict/", ""),
    ],
)
def test_a_job_is_queued_for_a_worker_once_however_often_it_is_asked_for(
    operator: Client, job: str, name: str, place: str, lack: str
) -> None:
    assert f'action="/admin/resolution/run/{job}/"' in page(operator, place)

    first, again = (told(operator.post(f"/admin/resolution/run/{job}/", follow=True)) for _ in range(2))

    assert list(Run.objects.values_list("trigger", "status", "actor")) == [(job, "requested", "operator")]
    assert f"queued.{lack}" in first[0]
    assert f"The {name} is running already: " in again[0]


def test_a_whole_run_is_undone_with_a_reason(operator: Client) -> None:
    run = ended()
    deciding(run, "gnommoweb", "kvasir")
    assert "Undo this whole run: 2 decisions" in page(operator, of(run))

    answer = operator.post(of(run, "undo"), SENT | {"reason": "odd run"}, follow=True)

    assert answer.redirect_chain == [(of(run), 302)]
    assert told(answer) == [f"Run {run.pk}: 2 decisions were undone."]
    assert (parent_of("gnommoweb"), parent_of("kvasir")) == ("repo", "repo")
    undoings = Decision.objects.filter(kind="undo")
    assert {(one.actor, one.source, one.reason) for one in undoings} == {("operator", "operator", "odd run")}
    assert "Undo this whole run" not in answer.content.decode()


def test_what_cannot_be_undone_is_told_with_the_reason(operator: Client) -> None:
    run = ended()
    deciding(run, "gnommoweb", "kvasir")
    Edge.objects.filter(concept__token="kvasir").delete()

    answer = operator.post(of(run, "undo"), SENT, follow=True)

    done, refused = told(answer)
    assert done == f"Run {run.pk}: 1 decision was undone."
    assert refused.startswith("1 decision was not undone. update: kvasir [type]: repo or container: ")
    assert parent_of("gnommoweb") == "repo"


def test_a_run_without_decisions_has_nothing_to_be_undone(operator: Client) -> None:
    run = ended()

    assert "Undo this whole run" not in page(operator, of(run))
    assert told(operator.post(of(run, "undo"), SENT, follow=True)) == [f"Run {run.pk} has nothing left to undo."]


def test_where_the_time_is_over_the_rest_stays_and_is_told(operator: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_of_runs, "UNDOING_S", 0.0)
    run = ended()
    deciding(run, "gnommoweb", "kvasir")

    answer = operator.post(of(run, "undo"), SENT, follow=True)

    assert told(answer) == ["2 decisions were not reached in time: undo the rest in the same way."]
    assert parent_of("gnommoweb") == "container"


def test_a_run_under_way_is_not_undone(operator: Client) -> None:
    run = Run.objects.create(trigger="api", mode="auto")
    deciding(run, "gnommoweb")

    answer = operator.post(of(run, "undo"), SENT, follow=True)

    assert told(answer) == [f"Run {run.pk} is still in progress; undo it when it has finished."]
    assert parent_of("gnommoweb") == "container"
    assert "Undo this whole run" not in answer.content.decode()


def test_a_viewer_looks_and_undoes_nothing(viewer: Client) -> None:
    run = ended()
    deciding(run, "gnommoweb")

    assert "Undo this whole run" not in page(viewer, of(run))
    assert viewer.post(of(run, "undo"), {"reason": "x"}).status_code == 403
    assert parent_of("gnommoweb") == "container"


def test_a_link_undoes_nothing_and_a_page_of_another_site_neither(operator: Client) -> None:
    run = ended()
    deciding(run, "gnommoweb")
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.get(username="operator"))

    assert "What has changed since stays" in page(operator, of(run, "undo"))
    assert strict.post(of(run, "undo"), SENT).status_code == 403
    assert parent_of("gnommoweb") == "container"


def test_what_is_not_there_is_not_found(operator: Client) -> None:
    for name, ask in (("progress", operator.get), ("undo", operator.post)):
        assert ask(reverse(f"admin:resolution_run_{name}", args=[4711]), SENT).status_code == 404


def test_who_may_not_look_at_runs_follows_none(client: Client) -> None:
    client.force_login(User.objects.create_user("guest", is_staff=True))

    assert client.get(of(ended(), "progress")).status_code == 403


def test_the_page_of_a_quarantine_shows_first_and_does_then(operator: Client) -> None:
    say("gnommoweb isa repo type", "mallory")
    claim = say("heimdall isa server type", "dobby") and say("heimdall isa virus type", "mallory").claim

    page = operator.get("/admin/resolution/run/quarantine/", {"agent": "mallory"}).content.decode()
    assert "Quarantine: 1 fact, 1 conflict" in page
    assert "gnommoweb isa repo type" in facts()
    done = operator.post("/admin/resolution/run/quarantine/", {"agent": "mallory", "since": ""}, follow=True)

    assert "1 fact went to the candidates" in done.content.decode()
    assert "Quarantine of mallory" in done.content.decode()
    assert "gnommoweb isa repo type" not in facts()
    assert claim is not None
    decision = Decision.objects.filter(run__trigger="quarantine").order_by("pk")[0]
    shown = operator.get(f"/admin/resolution/decision/{decision.pk}/change/").content.decode()
    assert "to the candidates" in shown
    assert "to the candidates" in operator.get("/admin/resolution/decision/").content.decode()
    undone = operator.post(f"/admin/resolution/decision/{decision.pk}/undo/", SENT, follow=True)
    assert "Undone" in undone.content.decode()


def test_the_page_of_a_quarantine_shows_what_returns_and_the_names_that_end(operator: Client) -> None:
    say("gnommoweb isa repo type", "dobby")
    forget("gnommoweb isa repo type", "mallory", source=Source.GUTASK, role="")
    name_concept("gnw", "gnommoweb", Attribution("mallory", Source.GUTASK, 1.0, timezone.now()))
    memory = remembered("The cat of the office is called Momo.", Scope(Speaker("mallory"), None))

    page = operator.get("/admin/resolution/run/quarantine/", {"agent": "mallory"}).content.decode()
    assert "taken out: gnommoweb is a repo [type]" in page
    assert "gnw = gnommoweb" in page
    assert memory.text in page
    assert "0 facts, 1 memory, 0 conflicts, 1 to return, 1 name" in page
    done = operator.post("/admin/resolution/run/quarantine/", {"agent": "mallory", "since": ""}, follow=True)

    assert "0 facts and 1 memory went to the candidates" in done.content.decode()
    assert "1 facts that it had taken back, returned" in done.content.decode()
    assert f">memory {memory.pk}</a>" in done.content.decode()
    assert "gnommoweb isa repo type" in facts()
    assert not Alias.objects.exists()
    for decision in Decision.objects.all():
        assert operator.get(f"/admin/resolution/decision/{decision.pk}/change/").status_code == 200
    shown = operator.get("/admin/resolution/decision/").content.decode()
    assert f"Moved memory {memory.pk} to the candidates" in shown
