"""Who guesses passwords is slowed down."""

import threading
from datetime import timedelta

import pytest
from django.utils import timezone

from proxy import login_throttle
from proxy.login_throttle import Gate, Login, LoginRefused
from proxy.models import LoginFailures

pytestmark = pytest.mark.django_db


def fail(times: int, login: Login) -> None:
    for _ in range(times):
        login.note_failure()


def is_refused(login: Login) -> bool:
    try:
        login.check()
    except LoginRefused:
        return True
    return False


def age(seconds: float) -> None:
    for row in LoginFailures.objects.all():
        row.last_at -= timedelta(seconds=seconds)
        row.save()


def test_an_address_waits_longer_with_each_failure_whatever_the_account() -> None:
    for number in range(5):
        Login(f"user{number}", "10.0.0.7").note_failure()
    assert not is_refused(Login("other", "10.0.0.7"))

    fail(7, Login("user", "10.0.0.7"))

    assert is_refused(Login("other", "10.0.0.7"))
    assert not is_refused(Login("other", "10.0.0.8"))
    age(90)  # of 128 s
    assert is_refused(Login("other", "10.0.0.7"))
    age(40)
    assert not is_refused(Login("other", "10.0.0.7"))


def test_addresses_that_one_machine_chooses_are_one() -> None:
    for number in range(12):
        Login("user", f"2001:db8::{number}").note_failure()

    assert is_refused(Login("other", "2001:db8::ffff"))


def test_an_account_waits_for_what_many_addresses_guess() -> None:
    for number in range(18):
        Login("minerva", f"10.0.{number}.7").note_failure()

    assert is_refused(Login("minerva", "10.9.9.9"))
    age(61)
    assert not is_refused(Login("minerva", "10.9.9.9"))


def test_a_login_forgets_the_accounts_failures_and_not_the_addresss() -> None:
    login = Login("minerva", "10.0.0.7")
    fail(3, login)

    login.note_success()

    assert list(LoginFailures.objects.values_list("kind", "failures")) == [("address", 3)]


def test_after_a_day_counting_begins_anew() -> None:
    fail(9, Login("minerva", "10.0.0.7"))
    age(86_401)
    assert not is_refused(Login("minerva", "10.0.0.7"))

    Login("minerva", "10.0.0.7").note_failure()

    assert set(LoginFailures.objects.values_list("failures", flat=True)) == {1}


def test_the_table_is_bounded_and_has_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LoginFailures, "ROWS_MAX", 10)
    for number in range(30):
        Login(f"secret{number}", f"10.0.{number}.7").note_failure()

    rows = list(LoginFailures.objects.order_by("-last_at").values_list("kind", "who"))

    assert len(rows) == 10
    assert ("address", "10.0.29.7") in rows
    assert not any("secret" in who for _, who in rows)


def test_failures_of_the_last_day_are_counted() -> None:
    LoginFailures.objects.create(
        kind="address", who="10.0.0.1", failures=50, last_at=timezone.now() - timedelta(days=2)
    )
    fail(2, Login("minerva", "10.0.0.7"))
    fail(1, Login("minerva", "10.0.0.8"))

    assert login_throttle.count_failures() == {"failures": 3, "addresses": 2}


def test_only_so_many_passwords_are_hashed_at_once() -> None:
    gate, inside, go_on = Gate(at_once=2, waiting=1, wait_s=60.0), threading.Barrier(3), threading.Event()

    def hash_one() -> None:
        with gate.enter():
            inside.wait(60)
            go_on.wait(60)

    threads = [threading.Thread(target=hash_one) for _ in range(2)]
    for thread in threads:
        thread.start()
    inside.wait(60)  # both are in
    waiting = threading.Thread(target=lambda: gate.enter().__enter__())
    waiting.start()
    while gate._places.acquire(blocking=False):  # until the third has its place
        gate._places.release()

    with pytest.raises(LoginRefused), gate.enter():
        pass

    go_on.set()
    for thread in (*threads, waiting):
        thread.join(60)
        assert not thread.is_alive()
