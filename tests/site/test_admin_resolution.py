"""Conflicts, decisions and runs in the admin, used like a person: what is shown, and "Run resolution now"."""

import re
from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.http import HttpResponse
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from memory.models import Config, Heartbeat, LanguageModel, Source
from memory.running import bootstrap
from resolution.actors import Actor
from resolution.conflicts import undo
from resolution.models import DecidedTriple, Run
from tests.arrange import claim_of, dismiss, teach, teach_both, update
from tests.worlds import Login

pytestmark = pytest.mark.django_db

LIST_QUERIES = 12
RUN_NOW = "/admin/resolution/conflict/run/"
OPERATOR = Actor("hermione", Source.OPERATOR)


@pytest.fixture(scope="module", autouse=True)
def world(module_db: None) -> None:
    bootstrap.load_config()
    bootstrap.load_dimensions()


@pytest.fixture(scope="module")
def operator_login(world: None) -> Login:
    return Login(User.objects.create_superuser("operator"))


def choose_a_model() -> None:
    model = LanguageModel.objects.create(provider="ollama", model_name="judge")
    Config.objects.filter(key="resolve_model_id").update(value=str(model.pk))


def text(answer: Any) -> str:
    assert isinstance(answer, HttpResponse)
    assert answer.status_code == 200
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", answer.content.decode())).split())


def press(client: Client) -> str:
    """The page after the button was pressed."""
    return text(client.post(RUN_NOW, follow=True))


def test_the_button_asks_for_a_run_and_leads_to_it(operator: Client) -> None:
    choose_a_model()

    answer = operator.post(RUN_NOW, follow=True)

    run = Run.objects.get()
    assert (run.status, run.trigger, run.actor) == ("requested", "admin", "operator")
    assert f"Run {run.pk} queued." in text(answer)
    assert f'href="/admin/resolution/run/{run.pk}/change/"' in answer.content.decode()


def test_without_a_model_the_list_and_the_button_say_so(operator: Client) -> None:
    shown = text(operator.get("/admin/resolution/conflict/"))
    pressed = press(operator)

    notice = "No language model resolves conflicts automatically: operators decide them. No model is chosen"
    assert notice in shown
    assert f"Run {Run.objects.get().pk} queued, and will be skipped. {notice}" in pressed


def test_while_clients_use_the_model_the_button_asks_once(operator: Client) -> None:
    choose_a_model()
    Heartbeat.objects.create(name=Heartbeat.SERVER, host="", pid=1, at=timezone.now(), busy_since=timezone.now())

    asked = press(operator)

    assert "now slows the answers of clients. Run it all the same" in asked
    assert not Run.objects.exists()
    operator.post(RUN_NOW, {"all_the_same": "true"})
    assert Run.objects.get().status == "requested"


def test_with_a_model_nothing_is_missing(operator: Client) -> None:
    choose_a_model()

    assert "No language model" not in text(operator.get("/admin/resolution/conflict/"))


def test_beside_a_run_no_other_starts(operator: Client) -> None:
    press(operator)

    again = press(operator)

    assert f"The resolver is running already: run {Run.objects.get().pk} ." in again


def test_what_waits_stands_before_what_was_decided(operator: Client) -> None:
    dismiss(teach_both("gnommoweb").pk, OPERATOR, "")
    teach_both("kvasir")

    shown = text(operator.get("/admin/resolution/conflict/", {"status": "all"}))

    assert shown.index("kvasir") < shown.index("gnommoweb")


def test_a_ring_is_named_without_a_fact_that_stands(operator: Client) -> None:
    teach("kvasir isa odin type")
    ring = claim_of(teach("odin isa kvasir type"))

    shown = text(operator.get(ring.get_absolute_url()))

    assert "kvasir is an odin or odin is a kvasir [type]" in shown
    assert "It would close a cycle." in shown


def test_a_link_starts_no_run(operator: Client) -> None:
    assert operator.get(RUN_NOW).status_code == 302
    assert not Run.objects.exists()


def test_a_page_of_another_site_starts_no_run() -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(User.objects.create_superuser("stranger"))

    assert strict.post(RUN_NOW).status_code == 403
    assert not Run.objects.exists()


def test_a_viewer_looks_and_starts_no_run(client: Client) -> None:
    viewer = User.objects.create_user("viewer", is_staff=True)
    viewer.user_permissions.add(Permission.objects.get(codename="view_conflict"))
    client.force_login(viewer)

    assert "Run resolution now" not in text(client.get("/admin/resolution/conflict/"))
    assert client.post(RUN_NOW).status_code == 403
    assert not Run.objects.exists()


def test_from_a_conflict_to_its_decisions_to_the_run_and_back(operator: Client) -> None:
    run = Run.objects.create(trigger="api", mode="auto", status="done", conflicts_seen=1, counts={"update": 1})
    claim = teach_both("gnommoweb")
    decision = update(claim.pk, Actor("resolver", Source.OPERATOR, run), "it moved")
    undoing = undo.undo(decision.pk, OPERATOR, "no, it has not")

    def page(model: str, key: int) -> str:
        answer = operator.get(f"/admin/resolution/{model}/{key}/change/")
        assert answer.status_code == 200
        return str(answer.content.decode())

    def link(model: str, key: int) -> str:
        return f'href="/admin/resolution/{model}/{key}/change/"'

    assert claim.conflict_id is not None
    assert link("decision", decision.pk) in page("conflict", claim.conflict_id)
    assert link("decision", undoing.pk) in page("conflict", claim.conflict_id)
    assert f'href="{claim.get_absolute_url()}"' in page("decision", decision.pk)
    for other in (("run", run.pk), ("decision", undoing.pk)):
        assert link(*other) in page("decision", decision.pk)
    assert link("decision", decision.pk) in page("decision", undoing.pk)
    assert link("decision", decision.pk) in page("run", run.pk)
    assert "by resolver, undone" in page("run", run.pk)


def test_a_decided_triple_leads_to_its_decision(operator: Client) -> None:
    decision = dismiss(teach_both("gnommoweb").pk, OPERATOR, "noise")

    answer = operator.get(f"/admin/resolution/decidedtriple/{DecidedTriple.objects.get().pk}/change/")

    assert f'href="/admin/resolution/decision/{decision.pk}/change/"' in answer.content.decode()


def test_lists_with_what_was_undone_open_within_few_queries(
    operator: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    """The others are in ``test_pages_queries``."""
    run = Run.objects.create(trigger="api", mode="auto", status="done")
    for number in range(8):
        decided = dismiss(teach_both(f"thing{number}").pk, Actor("resolver", Source.OPERATOR, run), "no")
        if number % 2:
            undo.undo(decided.pk, OPERATOR)

    for model in ("conflict", "decision", "run", "decidedtriple"):
        with django_assert_max_num_queries(LIST_QUERIES):
            assert operator.get(f"/admin/resolution/{model}/").status_code == 200


@pytest.mark.parametrize(("model", "refused"), [("conflict", 405), ("run", 403), ("decision", 403)])
def test_a_record_is_not_changed_by_hand(operator: Client, model: str, refused: int) -> None:
    run = Run.objects.create(trigger="api", mode="auto", status="done")
    claim = teach_both("gnommoweb")
    decision = dismiss(claim.pk, Actor("resolver", Source.OPERATOR, run), "no")
    key = {"conflict": claim.pk, "run": run.pk, "decision": decision.pk}[model]

    assert operator.post(f"/admin/resolution/{model}/{key}/change/", {"reason": "x"}).status_code == refused
    assert operator.post(f"/admin/resolution/{model}/{key}/delete/", {"post": "yes"}).status_code == 403
