"""Projects in the admin."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from memory.models import Agent, Memory, Project
from memory.running import bootstrap

pytestmark = pytest.mark.django_db

PAGE = "/admin/memory/project/"
FORM = {"name": "Hogwarts", "description": "", "_save": "Save"}


@pytest.fixture(scope="module", autouse=True)
def settings_of_festinger(module_db: None) -> None:
    bootstrap.load_config()


@pytest.fixture
def operator() -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("hermione"))
    return client


def test_a_project_is_added_shown_with_what_it_holds_and_keeps_its_slug(operator: Client) -> None:
    assert "at most 64 small letters" in operator.post(f"{PAGE}add/", FORM | {"slug": "Hog warts"}).content.decode()
    operator.post(f"{PAGE}add/", FORM | {"slug": "hogwarts"})
    project = Project.objects.get()
    Agent.objects.create(name="dobby", token_hash="0" * 64, project=project)
    for _ in range(3):
        Memory.objects.create(text="Lunch is at noon.", agent="dobby", source="operator", project=project)

    page = operator.get(f"{PAGE}{project.pk}/change/").content.decode()
    operator.post(f"{PAGE}{project.pk}/change/", FORM | {"slug": "durmstrang", "is_open": "on"})

    assert ">dobby</a>" in page
    assert ">3<" in page.replace(" ", "").replace("\n", "")
    project.refresh_from_db()
    assert (project.slug, project.is_open) == ("hogwarts", True)


def test_a_project_that_holds_something_is_not_deleted(operator: Client) -> None:
    project = Project.objects.create(slug="hogwarts", name="Hogwarts")
    empty = Project.objects.create(slug="durmstrang", name="Durmstrang")
    Memory.objects.create(text="Lunch is at noon.", agent="dobby", source="operator", project=project)

    assert "Memories: 1" in operator.get(f"{PAGE}{project.pk}/delete/").content.decode()
    for one in (project, empty):
        operator.post(f"{PAGE}{one.pk}/delete/", {"post": "yes"})

    assert list(Project.objects.all()) == [project]
