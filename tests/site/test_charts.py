"""The charts on the home page, and the piece of it with those of another range."""

import re

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from proxy.models import HourlyFigures
from proxy.telemetry import hourly_stats
from tests.worlds import Login

pytestmark = pytest.mark.django_db

CHARTS = "/admin/proxy/hourlyfigures/charts/"


@pytest.fixture(scope="module")
def viewer_login(module_db: None) -> Login:
    user = User.objects.create_user("viewer", is_staff=True)
    user.user_permissions.add(Permission.objects.get(codename="view_hourlyfigures"))
    return Login(user)


def test_before_the_first_hour_the_page_says_when_charts_begin(viewer: Client) -> None:
    page = viewer.get(CHARTS).content.decode()

    assert "Charts appear after the first hour" in page
    assert "<canvas" not in page


def test_each_chart_says_what_it_shows_and_a_table_has_the_same_values(viewer: Client) -> None:
    hourly_stats.take(timezone.now())

    page = viewer.get(CHARTS, {"range": "7d"}).content.decode()

    assert page.count('<canvas data-panel="') == page.count('role="img" aria-label="') == 7
    assert 'aria-label="Loops met, last 7 days. loops: 0 in all' in page
    assert '<script id="fst-charts-data" type="application/json">' in page
    assert "<summary>The same as a table</summary>" in page
    assert page.count('scope="row"') == 1


def test_the_range_that_is_shown_is_marked(viewer: Client) -> None:
    page = viewer.get(CHARTS, {"range": "30d"}).content.decode()

    assert "The last 30 days" in page
    assert page.count('aria-current="true"') == 1


def test_the_figures_behind_the_charts_are_a_list_in_their_words(viewer: Client) -> None:
    HourlyFigures.objects.create(
        hour=timezone.now().replace(minute=0, second=0, microsecond=0), edges=12, enrich_ms_p50=1.23456, requests=1,
        conflicts_opened=0, conflicts_closed=0, recollections=0, loops=0, taken_at=timezone.now(),
    )  # fmt: skip

    shown = re.sub(r"<[^>]*>|\s+", " ", viewer.get("/admin/proxy/hourlyfigures/").content.decode())

    assert re.search(r" Facts .* Median ms .* 12 .* 1\.2 ", shown)
    assert "Edges" not in shown


def test_the_charts_take_few_queries(viewer: Client, django_assert_max_num_queries: DjangoAssertNumQueries) -> None:
    hourly_stats.take(timezone.now())

    with django_assert_max_num_queries(6):
        viewer.get(CHARTS, {"range": "30d"})


def test_the_home_page_has_the_charts_of_the_range_in_its_address(viewer: Client) -> None:
    hourly_stats.take(timezone.now())

    page = viewer.get("/admin/", {"range": "7d"}).content.decode()

    assert "The last 7 days" in page
    assert "festinger/charts.js" in page


def test_those_who_may_not_see_figures_see_no_charts(client: Client) -> None:
    client.force_login(User.objects.create_user("clerk", is_staff=True))

    assert client.get(CHARTS).status_code == 403
    assert "fst-charts" not in client.get("/admin/").content.decode()
