"""Logging in, as a person and as somebody who guesses."""

import logging
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import timezone

from proxy.access import login
from proxy.access.login import Attempt, count_failures, pause_after
from proxy.models import LoginFailures
from tests.worlds import Login

LOGIN = "/admin/login/"
PASSWORD = "correct horse battery staple"
PAUSED = re.compile(r"Too many log-ins have failed. Please try again in (\d+) seconds?")


@pytest.fixture
def minerva(db: None, settings: Any) -> User:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
    return User.objects.create_superuser("minerva", password=PASSWORD)


def log_in(client: Client, name: str = "minerva", password: str = PASSWORD) -> str:
    """Return what the page says; empty where it lets in."""
    answer = client.post(LOGIN, {"username": name, "password": password})
    return "" if answer.status_code == 302 else answer.content.decode()


def is_refused(name: str, address: str) -> bool:
    try:
        Attempt(name, address).check_pause()
    except ValidationError:
        return True
    return False


def age(seconds: float) -> None:
    for row in LoginFailures.objects.all():
        row.last_at -= timedelta(seconds=seconds)
        row.save()


@pytest.mark.parametrize(("failures", "seconds"), [(0, 0), (5, 0), (6, 2), (7, 4), (10, 32), (11, 60), (10**6, 60)])
def test_a_few_typos_cost_nothing_and_further_failures_up_to_a_minute(failures: int, seconds: float) -> None:
    assert pause_after(failures) == seconds


def test_who_guesses_has_to_wait_even_with_the_right_password(minerva: User, client: Client) -> None:
    for _ in range(6):
        assert "Please enter the correct username and password" in log_in(client, password="a guess")
    LoginFailures.objects.update(failures=13)

    said = [log_in(client, password=password) for password in ("a guess", PASSWORD)]

    assert all(50 < int(PAUSED.search(page)[1]) <= 60 for page in said)  # type: ignore[index]
    assert set(LoginFailures.objects.values_list("failures", flat=True)) == {
        13
    }  # what was not looked at does not count


def test_who_logs_in_forgets_the_accounts_failures_and_not_the_addresss(minerva: User, client: Client) -> None:
    for _ in range(3):
        log_in(client, password="a guess")

    assert log_in(client) == ""

    assert list(LoginFailures.objects.values_list("kind", "failures")) == [("address", 3)]


@pytest.mark.parametrize(
    ("failed", "refused", "welcome"),
    [
        (("user{}", "10.0.0.7"), ("other", "10.0.0.7"), ("other", "10.0.0.8")),
        (("user{}", "2001:db8::{}"), ("other", "2001:db8::ffff"), ("other", "2001:db8:0:1::1")),
        (("minerva", "10.0.{}.7"), ("minerva", "10.9.9.9"), ("other", "10.9.9.9")),
    ],
    ids=["one address", "addresses that one machine chooses", "one account"],
)
@pytest.mark.django_db
def test_failures_are_counted_by_address_and_by_account(
    failed: tuple[str, str], refused: tuple[str, str], welcome: tuple[str, str]
) -> None:
    for number in range(11):
        Attempt(*(each.format(number) for each in failed)).note_failure()

    assert is_refused(*refused)
    assert not is_refused(*welcome)
    age(61)
    assert not is_refused(*refused)


@pytest.mark.django_db
def test_after_a_day_counting_begins_anew() -> None:
    Attempt("minerva", "10.0.0.7").note_failure()
    LoginFailures.objects.update(failures=50, last_at=timezone.now() - timedelta(days=2))
    assert count_failures() == {"failures": 0, "addresses": 0}

    for address in ("10.0.0.7", "10.0.0.7", "10.0.0.8"):
        Attempt("minerva", address).note_failure()

    assert count_failures() == {"failures": 3, "addresses": 2}


@pytest.mark.django_db
def test_the_table_is_bounded_and_has_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LoginFailures, "ROWS_MAX", 10)
    for number in range(30):
        Attempt(f"secret{number}", f"10.0.{number}.7").note_failure()

    rows = list(LoginFailures.objects.order_by("-last_at").values_list("kind", "who"))

    assert len(rows) == 10
    assert ("address", "10.0.29.7") in rows
    assert not any("secret" in who for _, who in rows)


def test_two_passwords_are_checked_at_once_and_others_wait_for_a_while(
    minerva: User, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(login, "CHECK_WAIT_S", 0.1)
    with login.checks, login.checks:
        assert "Too many people log in at this moment" in log_in(client)

    assert log_in(client) == ""
    assert LoginFailures.objects.count() == 0


def test_a_failure_is_in_the_log_without_what_is_no_account(
    minerva: User, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "proxy.access.login"):
        log_in(client, password="a guess")
        log_in(client, name="hunter2", password="minerva")

    records = [record.__dict__ for record in caplog.records if record.message == "login.failed"]
    assert [(record["account"], record["address"], record["failures_of_address"]) for record in records] == [
        ("minerva", "127.0.0.1", 1),
        ("unknown", "127.0.0.1", 2),
    ]
    assert "hunter2" not in caplog.text


def test_superusers_see_on_the_home_page_that_somebody_guesses(minerva: User, client: Client) -> None:
    superuser = Login(minerva).client()
    assert "Failed log-ins" not in superuser.get("/admin/").content.decode()

    log_in(client, password="a guess")

    shown = " ".join(superuser.get("/admin/").content.decode().split())
    assert "Failed log-ins of the last 24 hours" in shown
    assert "1, from 1 address." in shown
