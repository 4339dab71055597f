"""Error answers of our own endpoints are JSON, whatever went wrong."""

import json

import psycopg
import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import Client, RequestFactory
from django.utils import timezone
from django.utils.formats import localize

from festinger_site.serve.error_views import server_error
from tests.worlds import Login


def test_an_unexpected_error_is_told_as_json_without_a_traceback(client: Client) -> None:
    client.raise_request_exception = False

    answer = client.post("/reload", {}, content_type="application/json")  # the runtime of a server is not there

    assert answer.status_code == 500
    assert answer.json() == {"error": "internal error in Festinger; see its log"}


def test_an_unexpected_error_in_a_prompt_is_told_in_the_prompts_format() -> None:
    openai, anthropic = (server_error(RequestFactory().post(path)) for path in ("/v1/responses", "/v1/messages"))

    assert json.loads(openai.content)["error"]["type"] == "api_error"
    assert json.loads(anthropic.content)["error"]["message"].startswith("internal error")
    assert json.loads(anthropic.content)["type"] == "error"


def test_an_error_in_the_admin_is_a_page(client: Client) -> None:
    assert server_error(RequestFactory().get("/admin/memory/")).headers["Content-Type"].startswith("text/html")


@pytest.mark.parametrize(("path", "says"), [("/admin/memory/", "cannot reach its database"), ("/memory", '"error"')])
def test_without_postgres_it_is_said_whatever_that_has_led_to(path: str, says: str) -> None:
    try:
        try:
            raise OperationalError("server closed the connection") from psycopg.OperationalError()
        finally:
            raise AttributeError
    except AttributeError:
        answer = server_error(RequestFactory().get(path))

    assert (answer.status_code, says in answer.content.decode()) == (503, True)


@pytest.fixture(scope="module")
def operator_login(module_db: None) -> Login:
    return Login(User.objects.create_superuser("operator"))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("address", "above"),
    [
        ("/admin/resolution/conflict/8/decide/", "/admin/resolution/conflict/8/"),
        ("/admin/resolution/conflict/run/", "/admin/resolution/conflict/"),
        ("/admin/transfer/import/", "/admin/transfer/"),
        ("/admin/logout/", "/admin/"),
    ],
)
def test_the_address_of_a_form_leads_to_the_page_above_it(operator: Client, address: str, above: str) -> None:
    answer = operator.get(address)

    assert (answer.status_code, answer.headers["Location"]) == (302, above)
    assert "Nothing was changed: the form was not submitted." in operator.get("/admin/", follow=True).content.decode()


@pytest.mark.django_db
@pytest.mark.parametrize(
    "address",
    [
        "proxy/recollectionevent/live/?agent=%00",
        "memory/edge/?source__exact=%00",
        "memory/config/%00/history/",
        "nowhere/",
    ],
)
def test_what_no_page_can_be_asked_for_is_not_found(operator: Client, address: str) -> None:
    answer = operator.get(f"/admin/{address}")

    assert answer.status_code == 404
    assert 'href="/admin/"' in answer.content.decode()


@pytest.mark.django_db
def test_a_page_is_found_without_its_slash(operator: Client) -> None:
    answer = operator.get("/admin/memory/edge?q=kvasir")

    assert answer.headers["Location"] == "/admin/memory/edge/?q=kvasir"


@pytest.mark.django_db
def test_what_an_account_may_not_do_is_a_page_with_a_way_back(client: Client) -> None:
    client.force_login(User.objects.create_user("clerk", is_staff=True))

    answer = client.get("/admin/memory/edge/")

    assert (answer.status_code, "Your account may not do this" in answer.content.decode()) == (403, True)


@pytest.mark.django_db
def test_a_form_from_before_a_login_says_what_to_do() -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_superuser("hermione"))

    answer = client.post("/admin/resolution/conflict/1/decide/", {"csrfmiddlewaretoken": "x" * 64})

    assert (answer.status_code, "Go back, reload the page" in answer.content.decode()) == (403, True)


def test_times_are_written_in_one_way() -> None:
    now = timezone.localtime()

    assert (localize(now), localize(now.date())) == (f"{now:%Y-%m-%d %H:%M}", f"{now:%Y-%m-%d}")
