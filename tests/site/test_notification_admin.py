"""Targets of notifications and the log of deliveries in the admin, used like a person. A secret never comes out."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.test import Client

from memory.access import key_encryption
from memory.models import NotificationDelivery, NotificationEvent, NotificationTarget
from memory.notifications.outbox import Notice, announce
from tests.receiver import Receiver
from tests.worlds import Login

pytestmark = pytest.mark.django_db

LIST = "/admin/memory/notificationtarget/"
LOG = "/admin/memory/notificationdelivery/"
SECRET = "whsec-0123456789abcdef"


@pytest.fixture(scope="module")
def operator_login(module_db: None) -> Login:
    return Login(User.objects.create_superuser("operator"))


def form(**fields: Any) -> dict[str, Any]:
    wanted = {"kind": "webhook", "address": "https://hogwarts.example/hook", "events": ["run.failed"], "is_on": "on"}
    return wanted | {"key": SECRET} | fields


def add(operator: Client, **fields: Any) -> str:
    return operator.post(f"{LIST}add/", form(**fields), follow=True).content.decode()


def test_a_webhook_is_added_with_its_secret_which_is_shown_nowhere(operator: Client) -> None:
    added = add(operator, events=["run.failed", "conflict.opened"])

    target = NotificationTarget.objects.get()
    pages = [added, *(operator.get(path).content.decode() for path in (LIST, f"{LIST}{target.pk}/change/",
                                                                       f"{LIST}{target.pk}/history/"))]  # fmt: skip
    assert (key_encryption.decrypt(target.secret), target.events) == (SECRET, ["run.failed", "conflict.opened"])
    assert not any(SECRET in page or target.secret in page for page in pages)
    assert SECRET not in LogEntry.objects.get().change_message


def test_an_empty_secret_leaves_the_stored_one_and_a_target_can_be_switched_off(operator: Client) -> None:
    add(operator)
    target = NotificationTarget.objects.get()
    stored = target.secret

    operator.post(f"{LIST}{target.pk}/change/", form(key="", is_on=""))

    target.refresh_from_db()
    assert (target.secret, target.is_on) == (stored, False)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"key": ""}, "A webhook needs a secret"),
        ({"key": "two words"}, "printable ASCII"),
        ({"address": "ftp://host"}, "Takes an address"),
        ({"address": "http://ada:word@host"}, "An address is shown"),
        ({"events": []}, "This field is required."),
        ({"events": ["test"]}, "Select a valid choice"),
        ({"kind": "mail", "address": "ada@host.example"}, "Mail is not signed"),
        ({"kind": "mail", "key": ""}, "Enter a valid email address"),
    ],
    ids=str,
)
def test_what_cannot_be_stored_is_told(operator: Client, fields: dict[str, Any], told: str) -> None:
    page = add(operator, **fields)

    assert told in page
    assert SECRET not in page
    assert not NotificationTarget.objects.exists()


def test_without_a_mail_server_the_list_says_so(operator: Client, settings: Any) -> None:
    add(operator, kind="mail", address="ada@hogwarts.example", key="")
    settings.EMAIL_HOST = ""
    without = operator.get(LIST).content.decode()
    settings.EMAIL_HOST = "mail.hogwarts.example"

    assert "No mail server is set: FESTINGER_EMAIL_URL." in without
    assert "No mail server is set" not in operator.get(LIST).content.decode()


def test_a_test_is_sent_at_once_and_its_outcome_shown(operator: Client, receiver: Receiver) -> None:
    add(operator, address=receiver.url)
    target = NotificationTarget.objects.get()
    receiver.statuses += [204, 500]

    good = operator.post(f"{LIST}{target.pk}/test/", {"_form_submitted": "true"}, follow=True).content.decode()
    bad = operator.post(LIST, {"action": "try_rows", "_selected_action": [target.pk]}, follow=True).content.decode()

    assert "has taken a test. It answered 204." in good
    assert "has not taken a test. It answers 500." in bad
    assert [(got.message["event"], got.verify(SECRET)) for got in receiver.got] == [("test", True)] * 2
    attempted = NotificationDelivery.objects.order_by("pk").values_list("state", "attempts")
    assert list(attempted) == [("delivered", 1), ("failed", 1)]


def test_the_log_shows_each_delivery_and_what_failed_is_tried_again(operator: Client, receiver: Receiver) -> None:
    add(operator, address=receiver.url)
    announce(
        NotificationEvent.RUN_FAILED,
        [Notice("Run 3 (sweep) failed", {"id": 3}), Notice("Run 4 (sweep) failed", {"id": 4})],
    )
    first, second = NotificationDelivery.objects.order_by("pk")
    NotificationDelivery.objects.filter(pk=first.pk).update(
        state="failed", attempts=8, attempted_at=first.created_at, last_error="It answers 500."
    )

    listed = operator.get(LOG).content.decode()
    page = operator.get(f"{LOG}{first.pk}/change/").content.decode()
    chosen = {"action": "try_again", "_selected_action": [first.pk, second.pk]}
    told = operator.post(LOG, chosen, follow=True).content.decode()

    assert all(words in listed for words in ("Run 3 (sweep) failed", "It answers 500.", receiver.url))
    assert "/admin/resolution/run/3/change/" in page
    assert "1 wait again" in told
    assert "1 skipped: only what has failed is tried again." in told
    first.refresh_from_db()
    assert (first.state, first.attempts) == ("waiting", 0)


def test_a_target_is_deleted_with_its_deliveries(operator: Client) -> None:
    add(operator)
    target = NotificationTarget.objects.get()
    announce(NotificationEvent.RUN_FAILED, [Notice("Run 3 (sweep) failed", {"id": 3})])

    operator.post(f"{LIST}{target.pk}/delete/", {"post": "yes"})

    assert not NotificationTarget.objects.exists()
    assert not NotificationDelivery.objects.exists()


def test_the_log_asks_the_same_few_queries_however_long_it_is(
    operator: Client, django_assert_max_num_queries: Any
) -> None:
    add(operator)
    announce(NotificationEvent.RUN_FAILED, [Notice(f"Run {number} failed", {"id": number}) for number in range(40)])

    with django_assert_max_num_queries(12):
        operator.get(LOG)
