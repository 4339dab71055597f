"""What tests of the site share."""

import pytest
from django.contrib import admin
from django.test import Client

from tests.worlds import Login, module_db

__all__ = ["module_db"]

admin.autodiscover()  # for whoever asks which pages there are before the first request


@pytest.fixture
def operator(operator_login: Login) -> Client:
    """The browser of whoever is the operator of the test's module: that has a fixture ``operator_login``."""
    return operator_login.client()


@pytest.fixture
def viewer(viewer_login: Login) -> Client:
    """The browser of whoever only looks, likewise."""
    return viewer_login.client()
