"""Rows that all tests of a module share: made once, and taken back after its last test.

As Django's ``TestCase.setUpTestData`` does it, but for fixtures. ``module_db`` is what ``db`` is to a test; a folder
whose tests want it imports it in its conftest::

    @pytest.fixture(scope="module", autouse=True)
    def world(module_db: None) -> None:
        bootstrap.load_dimensions()
        teach("gnommoweb isa repo type")

    @pytest.fixture(scope="module")
    def operator_login(world: None) -> Login:
        return Login(User.objects.create_superuser("operator"))

    @pytest.fixture
    def operator(operator_login: Login) -> Client:
        return operator_login.client()

Each test with ``django_db`` then runs in a savepoint, so what it changes is gone for the next one. Three things follow
from the one transaction around them:

- Other connections see none of it, and NOTIFY does not arrive. Tests that commit (``transaction=True``) are refused in
  such a module: they belong in a file of their own.
- ``now()`` in SQL is the moment at which the module began, so it may lie minutes back.
- Instances that a fixture hands out are shared. A test that changes one reads it anew from the database first.
"""

from collections.abc import Iterator
from http.cookies import SimpleCookie

import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from pytest_django import DjangoDbBlocker


@pytest.fixture(scope="module")
def module_db(
    request: pytest.FixtureRequest, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[None]:
    """The database for fixtures of this module; everything is rolled back at its end."""
    committing = [item.nodeid for item in request.session.items if item.path == request.path and commits(item)]
    if committing:
        pytest.fail(f"{committing[0]} commits: it needs a file of its own, without module_db", pytrace=False)
    with django_db_blocker.unblock():
        around = transaction.atomic()
        around._from_testcase = True  # type: ignore[attr-defined]  # as in setUpTestData: durable blocks may nest in it
        with around:
            yield
            transaction.set_rollback(True)


def commits(item: pytest.Item) -> bool:
    marker = item.get_closest_marker("django_db")
    is_marked = marker is not None and bool(marker.kwargs.get("transaction"))
    return is_marked or "transactional_db" in getattr(item, "fixturenames", ())


class Login:
    """Somebody who logged in once; each test gets a browser of its own with that session's cookie."""

    def __init__(self, user: User) -> None:
        self.user = user
        first = Client()
        first.force_login(user)
        self._cookies = first.cookies

    def client(self) -> Client:
        client = Client()
        client.cookies = SimpleCookie(self._cookies)
        return client
