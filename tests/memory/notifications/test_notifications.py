"""Notifications, from the outbox to receivers on real sockets."""

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.db.models import F
from django.utils import timezone

from memory import tasks
from memory.access import key_encryption
from memory.db.locks import try_job_lock
from memory.models import NotificationDelivery, NotificationEvent, NotificationTarget
from memory.notifications import delivery
from memory.notifications.outbox import Health, Notice, announce, announce_health
from tests.receiver import MailServer, Receiver

pytestmark = pytest.mark.django_db

SECRET = "whsec-0123456789abcdef"
OPENED, FAILED = NotificationEvent.CONFLICT_OPENED, NotificationEvent.RUN_FAILED


@pytest.fixture
def target(receiver: Receiver) -> NotificationTarget:
    return make_target(receiver.url, *NotificationTarget.EVENTS)


def make_target(url: str, *events: Any) -> NotificationTarget:
    names = [event[0] if isinstance(event, tuple) else event for event in events]
    return NotificationTarget.objects.create(address=url, events=names, secret=key_encryption.encrypt(SECRET))


def open_conflicts(*ids: int) -> None:
    announce(OPENED, [Notice(f"A conflict was opened: dobby{number} [type]", {"id": number}) for number in ids])


def states() -> list[str]:
    return list(NotificationDelivery.objects.order_by("pk").values_list("state", flat=True))


def pass_time(**since: float) -> None:
    """As if all that happened had happened earlier."""
    by = timedelta(**since)
    moved = {name: F(name) - by for name in ("next_attempt_at", "attempted_at", "created_at")}
    NotificationDelivery.objects.update(**moved)


def test_an_event_is_posted_with_a_signature_by_which_its_receiver_knows_it(
    receiver: Receiver, target: NotificationTarget
) -> None:
    open_conflicts(7)

    tasks.deliver_notifications()

    row = NotificationDelivery.objects.get()
    [got] = receiver.got
    assert got.verify(SECRET)
    assert not got.verify("another")
    assert (got.headers["Festinger-Event"], got.headers["Festinger-Delivery"]) == ("conflict.opened", str(row.pk))
    assert got.message == {
        "id": row.pk,
        "event": "conflict.opened",
        "at": row.created_at.isoformat(timespec="seconds"),
        "url": "/admin/resolution/conflict/7/change/",
        "summary": "A conflict was opened: dobby7 [type]",
        "data": {"count": 1, "items": [{"id": 7}]},
    }
    assert (row.state, row.attempts, row.last_status) == ("delivered", 1, 204)


def test_only_targets_that_are_on_and_want_the_event_are_notified(receiver: Receiver) -> None:
    make_target(f"{receiver.url}/wants", OPENED)
    make_target(f"{receiver.url}/other", FAILED)
    off = make_target(f"{receiver.url}/off", OPENED)
    NotificationTarget.objects.filter(pk=off.pk).update(is_on=False)

    open_conflicts(7)
    tasks.deliver_notifications()

    assert [got.path for got in receiver.got] == ["/hook/wants"]


def test_a_receiver_that_fails_twice_gets_the_same_message_again_after_longer_and_longer_pauses(
    receiver: Receiver, target: NotificationTarget
) -> None:
    receiver.statuses += [500, 503]
    open_conflicts(7)

    for pause in ({"minutes": 1}, {"minutes": 3}, {}):
        tasks.deliver_notifications()
        row = NotificationDelivery.objects.get()
        if pause:
            assert row.next_attempt_at - row.attempted_at == timedelta(**pause)
            assert (row.state, row.last_error) == ("waiting", f"It answers {row.last_status}.")
        tasks.deliver_notifications()  # too early
        pass_time(**pause)

    bodies = [got.message | {"at": ""} for got in receiver.got]
    assert (len(bodies), bodies[0] == bodies[1] == bodies[2]) == (3, True)
    assert states() == ["delivered"]


def test_after_eight_attempts_within_a_day_it_has_failed_and_can_be_tried_again(
    receiver: Receiver, target: NotificationTarget
) -> None:
    receiver.statuses += [500] * 8
    open_conflicts(7)
    waited = timedelta()

    for _ in range(8):
        tasks.deliver_notifications()
        row = NotificationDelivery.objects.get()
        if row.state == "waiting":
            waited += row.next_attempt_at - row.attempted_at
            pass_time(seconds=(row.next_attempt_at - timezone.now()).total_seconds() + 1)

    assert (row.state, row.attempts, len(receiver.got)) == ("failed", 8, 8)
    assert timedelta(hours=12) < waited < timedelta(days=1)

    assert delivery.try_again([row.pk]) == 1
    pass_time(minutes=2)
    tasks.deliver_notifications()
    assert states() == ["delivered"]


def test_many_at_once_are_one_message_a_minute_that_counts_them(receiver: Receiver, target: NotificationTarget) -> None:
    open_conflicts(*range(1, 31))
    tasks.deliver_notifications()
    open_conflicts(31)
    open_conflicts(32)
    tasks.deliver_notifications()

    [first] = [got.message for got in receiver.got]
    assert first["summary"] == "30 conflicts were opened. The latest: A conflict was opened: dobby30 [type]"
    assert first["url"] == "/admin/resolution/conflict/"
    assert (first["data"]["count"], [item["id"] for item in first["data"]["items"]]) == (30, list(range(11, 31)))
    assert states() == ["delivered", "waiting", "waiting"]

    pass_time(minutes=1)
    tasks.deliver_notifications()
    assert receiver.got[-1].message["data"] == {"count": 2, "items": [{"id": 31}, {"id": 32}]}
    assert states() == ["delivered", "delivered"]


def test_a_message_that_failed_does_not_grow_by_later_events(receiver: Receiver, target: NotificationTarget) -> None:
    receiver.statuses += [500]
    open_conflicts(1)
    tasks.deliver_notifications()
    open_conflicts(2)
    pass_time(minutes=1)

    tasks.deliver_notifications()
    pass_time(minutes=1)
    tasks.deliver_notifications()

    assert [got.message["data"]["items"] for got in receiver.got] == [[{"id": 1}], [{"id": 2}], [{"id": 1}]]


def test_events_of_other_kinds_and_other_targets_do_not_wait_for_each_other(
    receiver: Receiver, target: NotificationTarget
) -> None:
    make_target(f"{receiver.url}/2", OPENED)
    open_conflicts(1)
    announce(FAILED, [Notice("Run 3 (sweep) failed", {"id": 3, "trigger": "sweep"})])

    tasks.deliver_notifications()

    assert sorted((got.path, got.message["url"]) for got in receiver.got) == [
        ("/hook", "/admin/resolution/conflict/1/change/"),
        ("/hook", "/admin/resolution/run/3/change/"),
        ("/hook/2", "/admin/resolution/conflict/1/change/"),
    ]


def test_a_target_that_is_gone_is_switched_off(receiver: Receiver, target: NotificationTarget) -> None:
    receiver.statuses += [410]
    open_conflicts(1)
    tasks.deliver_notifications()
    open_conflicts(2)

    target.refresh_from_db()
    assert (target.is_on, states()) == (False, ["failed"])


def test_a_redirect_is_not_followed(receiver: Receiver, target: NotificationTarget) -> None:
    receiver.statuses += [307]
    open_conflicts(1)

    tasks.deliver_notifications()

    row = NotificationDelivery.objects.get()
    assert (len(receiver.got), row.state, row.last_error) == (1, "waiting", "It answers 307.")


@pytest.mark.parametrize("host", ["127.0.0.1:9", "a..b", "[::1]:9", "x" * 64, "256.0.0.1"])
def test_where_nobody_listens_the_error_names_neither_secret_nor_address(receiver: Receiver, host: str) -> None:
    make_target(f"http://{host}/token-in-a-path", OPENED)
    open_conflicts(1)

    tasks.deliver_notifications()

    error = NotificationDelivery.objects.get().last_error
    assert error.startswith("No answer: ")
    assert "token-in-a-path" not in error


def test_a_secret_that_cannot_be_decrypted_is_told(receiver: Receiver, target: NotificationTarget) -> None:
    NotificationTarget.objects.update(secret="gAAAAnonsense")
    open_conflicts(1)

    tasks.deliver_notifications()

    assert "cannot be decrypted" in NotificationDelivery.objects.get().last_error
    assert receiver.got == []


@pytest.mark.django_db(transaction=True)
def test_one_process_delivers_at_a_time(receiver: Receiver, target: NotificationTarget) -> None:
    open_conflicts(1)

    def deliver() -> None:
        tasks.deliver_notifications()
        connection.close()

    with try_job_lock("notifications"):
        other = threading.Thread(target=deliver)
        other.start()
        other.join()

    assert (receiver.got, states()) == ([], ["waiting"])


def test_a_target_is_told_of_a_health_that_two_looks_in_a_row_agree_on(target: NotificationTarget) -> None:
    def told() -> list[tuple[str, str]]:
        items = [row.payload["items"][0] for row in NotificationDelivery.objects.order_by("pk")]
        return [(item["from"], item["to"]) for item in items]

    for health in (Health.GOOD, Health.BAD, Health.GOOD, Health.BAD, Health.WARNING):
        announce_health(health, ["Worker"])
    assert told() == []

    for health in (Health.BAD, Health.BAD, Health.BAD, Health.GOOD, Health.GOOD):
        announce_health(health, ["Worker"] if health == Health.BAD else [])
    assert told() == [("good", "bad"), ("bad", "good")]
    summaries = [row.payload["summary"] for row in NotificationDelivery.objects.order_by("pk")]
    assert summaries == ["Health is bad: Worker", "Health is good"]


def test_what_is_older_than_30_days_is_deleted_whatever_became_of_it(target: NotificationTarget) -> None:
    open_conflicts(1, 2)
    pass_time(days=31)
    open_conflicts(3)

    assert delivery.prune_deliveries(timezone.now()) == 2
    assert [row.payload["items"][0]["id"] for row in NotificationDelivery.objects.all()] == [3]


# --- mail ---


def test_mail_is_sent_by_the_server_of_the_environment(settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.DEFAULT_FROM_EMAIL = "festinger@hogwarts.example"
    NotificationTarget.objects.create(kind="mail", address="ada@hogwarts.example", events=[OPENED])
    open_conflicts(7)

    with MailServer() as server:
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", server.port
        tasks.deliver_notifications()

    [sent] = server.mails
    assert states() == ["delivered"]
    assert "Subject: Festinger: A conflict was opened: dobby7 [type]" in sent
    assert "From: festinger@hogwarts.example" in sent
    assert "To: ada@hogwarts.example" in sent
    assert "/admin/resolution/conflict/7/change/" in sent


def test_without_a_mail_server_the_error_says_what_to_set(settings: Any) -> None:
    settings.EMAIL_HOST = ""
    NotificationTarget.objects.create(kind="mail", address="ada@hogwarts.example", events=[OPENED])
    open_conflicts(7)

    tasks.deliver_notifications()

    row = NotificationDelivery.objects.get()
    assert (row.state, row.last_error) == ("waiting", "No mail server is set: FESTINGER_EMAIL_URL.")
    assert mail.outbox == []


def test_a_mail_server_that_is_away_is_tried_again(settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 9
    NotificationTarget.objects.create(kind="mail", address="ada@hogwarts.example", events=[OPENED])
    open_conflicts(7)

    tasks.deliver_notifications()

    row = NotificationDelivery.objects.get()
    assert row.state == "waiting"
    assert "refused" in row.last_error
