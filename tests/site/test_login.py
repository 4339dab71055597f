"""Logging in, as a person and as somebody who guesses."""

import logging
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.models import F
from django.test import Client

from proxy.models import LoginFailures
from tests.worlds import Login

pytestmark = pytest.mark.django_db

LOGIN = "/admin/login/"
PASSWORD = "correct horse battery staple"


@pytest.fixture(autouse=True)
def quick_hashes(settings: Any) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True)
def minerva(quick_hashes: None) -> User:
    return User.objects.create_superuser("minerva", password=PASSWORD)


def log_in(client: Client, name: str = "minerva", password: str = PASSWORD) -> str:
    """Return what the page says; empty where it lets in."""
    answer = client.post(LOGIN, {"username": name, "password": password})
    return "" if answer.status_code == 302 else answer.content.decode()


def test_who_guesses_has_to_wait_even_with_the_right_password(client: Client) -> None:
    for _ in range(6):
        assert "Please enter the correct username and password" in log_in(client, password="a guess")
    LoginFailures.objects.filter(kind="address").update(failures=F("failures") + 7)

    said = [log_in(client, password=password) for password in ("a guess", PASSWORD)]

    assert all(re.search(r"Too many log-ins have failed. Please try again in 2\d\d seconds", page) for page in said)
    assert LoginFailures.objects.get(kind="address").failures == 13  # what was not looked at does not count
    assert log_in(Client(REMOTE_ADDR="10.0.0.8")) == ""


def test_a_failure_is_in_the_log_without_what_is_no_account(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "proxy.login_throttle"):
        log_in(client, password="a guess")
        log_in(client, name="hunter2", password="minerva")

    records = [record.__dict__ for record in caplog.records if record.message == "login.failed"]
    assert [(record["account"], record["address"]) for record in records] == [
        ("minerva", "127.0.0.1"),
        ("unknown", "127.0.0.1"),
    ]
    assert "hunter2" not in caplog.text


def test_superusers_see_on_the_home_page_that_somebody_guesses(client: Client, minerva: User) -> None:
    superuser = Login(minerva).client()
    assert "Failed log-ins" not in superuser.get("/admin/").content.decode()

    log_in(client, password="a guess")

    shown = " ".join(superuser.get("/admin/").content.decode().split())
    assert "Failed log-ins of the last 24 hours" in shown
    assert "1, from 1 address." in shown
