"""Project state in the admin."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client

from memory.models import Project, ProjectState
from memory.running import bootstrap

pytestmark = pytest.mark.django_db

PAGE = "/admin/memory/projectstate/"


@pytest.fixture(scope="module", autouse=True)
def settings_of_festinger(module_db: None) -> None:
    bootstrap.load_config()


@pytest.fixture
def operator() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("hermione"))
    return client


@pytest.fixture
def project() -> Project:
    return Project.objects.create(slug="p05", name="Interferometer")


def add(operator: Client, project: Project, **said: Any) -> str:
    form = {"project": project.pk, "category": "decision", "key": "material", "reason": "", "_save": "Save"} | said
    return operator.post(f"{PAGE}add/", form, follow=True).content.decode()


def test_a_value_is_settled_replaced_and_taken_back(operator: Client, project: Project) -> None:
    add(operator, project, key="Lateral support material", value="GF-PTFE", reason="Tests of May.")
    first = ProjectState.objects.get()
    assert (str(first), first.actor) == ("decision.lateral_support_material = GF-PTFE", "hermione")
    assert first.reason == "Tests of May."

    change = {"value": "PEEK", "reason": "It creeps less.", "_save": "Save"}
    page = operator.post(f"{PAGE}{first.pk}/change/", change, follow=True).content.decode()
    second = ProjectState.objects.get(status="active")
    assert "It replaces" in page
    assert second.value == "PEEK"
    assert "replaced by" in operator.get(f"{PAGE}{first.pk}/change/").content.decode()
    assert "GF-PTFE" in operator.get(f"{PAGE}{second.pk}/change/").content.decode()
    assert operator.post(f"{PAGE}{first.pk}/change/", change).status_code == 403

    operator.post(PAGE, {"action": "take_them_back", "_selected_action": [second.pk]})
    second.refresh_from_db()
    assert (second.status, second.superseded_by, second.archived_by) == ("superseded", None, "hermione")
    assert "taken back" in operator.get(f"{PAGE}?status=all").content.decode().lower()


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ({"value": "PEEK", "key": "naïve"}, "small letters"),
        ({"value": " "}, "required"),
        ({"value": "x" * 501}, "at most 500 characters"),
    ],
)
def test_what_cannot_be_settled_is_told_beside_the_field(
    operator: Client, project: Project, said: dict[str, str], told: str
) -> None:
    assert told in add(operator, project, **said)
    assert not ProjectState.objects.exists()


def test_another_value_of_the_same_place_replaces_it_also_from_the_empty_form(
    operator: Client, project: Project
) -> None:
    add(operator, project, value="GF-PTFE")
    add(operator, project, value="PEEK")

    assert [row.value for row in ProjectState.objects.filter(status="active")] == ["PEEK"]
