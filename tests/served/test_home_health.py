"""How Festinger does, as the admin's first page asks a running server: it knows what only that process knows."""

import re
from collections.abc import Iterator
from contextlib import closing
from html import unescape

import httpx
import pytest
from django.urls import reverse

from tests.served.conftest import AWAY, logged_in
from tests.served.server import Served
from tests.standin import StandIn
from tests.waiting import eventually


@pytest.fixture(scope="module")
def operator(server: Served, account: str) -> Iterator[httpx.Client]:
    with closing(logged_in(server, account)) as client:
        yield client


def health(client: httpx.Client) -> str:
    answer = client.get(reverse("admin:proxy_home_health"))
    assert answer.status_code == 200, answer.text
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())


def test_a_running_server_says_how_its_parts_do(operator: httpx.Client, upstream: StandIn) -> None:
    shown = health(operator)

    assert f"ok Upstream {upstream.url} answers" in shown
    assert re.search(r"ok Listener [0-9,]+ words and [0-9,]+ facts loaded; receiving changes\.", shown)
    assert "ok Losses Nothing was lost." in shown


def test_a_running_server_gives_signs_of_life_of_its_own(server: Served) -> None:
    def gives_signs() -> bool:
        report = server.client.get("/health").json()
        return ("proxy", report["process"]["pid"]) in {
            (beat["part"], beat["pid"]) for beat in report["database"]["heartbeats"]
        }

    assert eventually(gives_signs, within_s=30)


def test_an_upstream_that_is_away_is_told_and_the_page_is_there(strict: Served, account: str) -> None:
    with closing(logged_in(strict, account)) as client:
        shown = health(client)
        page = client.get(reverse("admin:index"))

    assert f"problem Upstream {AWAY} does not answer: " in shown
    assert "change upstream.url in config.yaml" in shown
    assert page.status_code == 200


def test_large_bodies_are_for_who_is_logged_in(server: Served, operator: httpx.Client) -> None:
    large, stranger = b"x" * (1024 * 1024 + 1), httpx.Client(base_url=server.url, trust_env=False, timeout=30)
    upload = reverse("admin:resolution_transfer_import")
    before = server.client.get("/health").json()["bounds"]["stranger_body_bytes"]
    with closing(stranger):
        refused = [
            stranger.post(path, content=iter([large]) if is_chunked else large, headers=headers).status_code
            for path in (reverse("admin:login"), upload)
            for is_chunked in (False, True)
            for headers in ({}, {"Cookie": "festinger_session=made-up"})
        ]
        small = stranger.post(reverse("admin:login"), content=large[:1000]).status_code

    assert refused == [413] * 8
    assert server.client.get("/health").json()["bounds"]["stranger_body_bytes"] == before + 8
    assert small == operator.post(upload, content=large).status_code == 403  # no token against forged requests


def test_who_has_no_account_is_sent_to_the_login(server: Served) -> None:
    answer = httpx.get(f"{server.url}{reverse('admin:proxy_home_health')}", trust_env=False, timeout=30)

    assert (answer.status_code, answer.headers["location"].startswith("/admin/login/")) == (302, True)
