"""Marks of concepts: who put them there, and what the flusher writes meanwhile."""

import re
from collections.abc import Callable
from math import log10
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from memory.models import Soas
from memory.running import bootstrap
from resolution.admin.concepts.marks import last_changes, set_mark

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module", autouse=True)
def settings_of_festinger(module_db: None) -> None:
    bootstrap.load_config()


@pytest.fixture
def kvasir() -> Soas:
    return Soas.objects.create(token="kvasir", encounter_count=100, saliency=2.0)


def operator(name: str) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser(name))
    return client


def mark(client: Client, concept: Soas, name: str, value: str) -> None:
    fields = {"mark": name, "to": value, "keys": concept.pk}
    assert client.post("/admin/memory/soas/marks/", fields).status_code == 302


def log() -> list[tuple[str, str, str]]:
    rows = LogEntry.objects.filter(content_type__model="soas").order_by("pk")
    return list(rows.values_list("user__username", "object_repr", "change_message"))


def page(client: Client, concept: Soas) -> str:
    shown = client.get(f"/admin/memory/soas/{concept.pk}/change/").content.decode()
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", shown))


def test_each_change_of_a_mark_is_logged_once(kvasir: Soas) -> None:
    hermione = operator("hermione")

    for name, value in (("muted", "true"), ("muted", "true"), ("common", "true"), ("muted", "false")):
        mark(hermione, kvasir, name, value)

    assert log() == [
        ("hermione", "kvasir", "is_muted: False -> True"),
        ("hermione", "kvasir", "is_common: False -> True"),
        ("hermione", "kvasir", "is_muted: True -> False"),
    ]


def test_those_that_are_muted_together_have_a_line_each(kvasir: Soas) -> None:
    muted = Soas.objects.create(token="mimir", is_muted=True)
    heimdall = Soas.objects.create(token="heimdall")
    keys = [str(row.pk) for row in (kvasir, muted, heimdall)]

    operator("ron").post("/admin/memory/soas/", {"action": "mute", "_selected_action": keys})

    assert sorted(log()) == [
        ("ron", "heimdall", "is_muted: False -> True"),
        ("ron", "kvasir", "is_muted: False -> True"),
    ]
    assert set(Soas.objects.filter(pk__in=keys).values_list("is_muted", flat=True)) == {True}


def test_the_concepts_page_tells_who_changed_its_marks_last(kvasir: Soas) -> None:
    hermione, ron = operator("hermione"), operator("ron")
    mark(hermione, kvasir, "muted", "true")
    mark(hermione, kvasir, "muted", "false")
    mark(ron, kvasir, "muted", "true")
    mark(hermione, kvasir, "common", "true")
    mark(ron, Soas.objects.create(token="heimdall"), "muted", "true")

    shown = page(ron, kvasir)

    assert re.search(r"marked as a common word by hermione just now, muted by ron just now", shown)
    assert "unmuted" not in shown


def test_who_marked_a_concept_is_one_query_however_often_it_was_marked(
    kvasir: Soas, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    user = User.objects.create_superuser("hermione")
    for i in range(10):
        set_mark("muted", [kvasir.pk], user, to=not i % 2)

    with django_assert_num_queries(1):
        found = last_changes(kvasir)

    assert [(what, by) for what, by, _ in found] == [("unmuted", "hermione"), ("muted", "hermione")]


def test_a_concept_that_nobody_marked_has_no_such_line(kvasir: Soas) -> None:
    assert last_changes(kvasir) == []


@pytest.mark.parametrize("count", [0, 1, 3, 1_000])
def test_a_name_is_as_salient_as_the_flusher_would_have_it(count: int) -> None:
    word = Soas.objects.create(token="word", encounter_count=count, is_common=True)

    mark(operator("hermione"), word, "common", "false")

    word.refresh_from_db()
    assert (word.is_common, word.saliency) == (False, pytest.approx(log10(max(count, 1))))


def test_what_the_flusher_counts_meanwhile_is_not_lost() -> None:
    word = Soas.objects.create(token="word", encounter_count=100, is_common=True)
    counts: list[str] = []

    def flush(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        """Right before the concept is updated."""
        if sql.startswith('UPDATE "soas"') and not counts:
            counts.append(sql)
            Soas.objects.filter(pk=word.pk).update(encounter_count=1_000)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(flush):
        mark(operator("hermione"), word, "common", "false")

    word.refresh_from_db()
    assert (len(counts), word.encounter_count, word.saliency) == (1, 1_000, pytest.approx(3.0))
