"""Delivers notifications: by HTTP with a signature, or by mail."""

import asyncio
import hashlib
import hmac
import json
import logging
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from smtplib import SMTPException
from typing import Any, Final

from asgiref.sync import async_to_sync
from django.conf import settings
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from memory.access import key_encryption
from memory.db.connections import first_line
from memory.graph.retention import prune
from memory.models.notifications import NotificationDelivery, NotificationEvent, NotificationTarget

logger = logging.getLogger(__name__)

State = NotificationDelivery.State

TIMEOUT_S: Final = 10.0
ATTEMPTS_MAX: Final = 8  # with these pauses: over 18 hours
FIRST_PAUSE: Final = timedelta(minutes=1)  # tripled from attempt to attempt
# Between two messages of one event to one target: what happens meanwhile is told in one.
INTERVAL: Final = timedelta(minutes=1)
ITEMS_MAX: Final = 20  # events that one message describes; it counts all
KEPT: Final = timedelta(days=30)
GONE: Final = 410
NO_MAIL_SERVER: Final = "No mail server is set: FESTINGER_EMAIL_URL."

# Of one event the page of its id, of several the list. As paths: to reverse them, a worker would import the admin.
PAGES: Final = {
    NotificationEvent.CONFLICT_OPENED: "/admin/resolution/conflict/",
    NotificationEvent.HEALTH_CHANGED: "/admin/",
    NotificationEvent.LOOP_BROKEN: "/admin/proxy/loopevent/",
    NotificationEvent.RUN_FAILED: "/admin/resolution/run/",
    NotificationEvent.TEST: "/admin/memory/notificationtarget/",
}
SEVERAL: Final = {
    NotificationEvent.CONFLICT_OPENED: "conflicts were opened",
    NotificationEvent.HEALTH_CHANGED: "changes of health",
    NotificationEvent.LOOP_BROKEN: "loops were broken",
    NotificationEvent.RUN_FAILED: "runs have failed",
}


class Undelivered(Exception):
    """The target did not take it. The message is for people and holds no secret."""

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def deliver_due() -> int:
    """Attempt once what is due: of each target and event one message. Return how many were attempted. The caller holds
    the job alone."""
    count = 0
    for delivery in _begin_due(timezone.now()):
        _finish_attempt(delivery)
        count += 1
    return count


def send_test(target: NotificationTarget) -> NotificationDelivery:
    """Attempt a test at once, and once only."""
    test = NotificationDelivery.objects.create(
        target=target,
        event=NotificationEvent.TEST,
        payload={"summary": "This is a test of Festinger's notifications", "count": 0, "items": []},
        next_attempt_at=timezone.now() + INTERVAL,  # not for a worker meanwhile
    )
    _begin_attempt(test)
    _finish_attempt(test)
    return test


def try_again(ids: list[int]) -> int:
    """Make those that failed wait again, with all attempts; return how many."""
    failed = NotificationDelivery.objects.filter(pk__in=ids, state=State.FAILED)
    return failed.update(state=State.WAITING, attempts=0, next_attempt_at=timezone.now())


def prune_deliveries(now: datetime) -> int:
    """Delete what is old; what still waits then is for targets that were switched off."""
    return prune(NotificationDelivery.objects.filter(created_at__lt=now - KEPT), by="created_at")


def sign(secret: str, at: int, body: bytes) -> str:
    """The value of ``Festinger-Signature``: HMAC-SHA256 over time and body, in the scheme of Stripe's webhooks
    (docs.stripe.com/webhooks, "Verify webhook signatures manually")."""
    digest = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at},v1={digest}"


def compose(delivery: NotificationDelivery) -> dict[str, Any]:
    """The message, the same at each attempt."""
    event, payload = NotificationEvent(delivery.event), delivery.payload
    page = PAGES[event]
    if payload["count"] == 1 and "id" in payload["items"][0]:
        page = f"{page}{payload['items'][0]['id']}/change/"
    return {
        "id": delivery.pk,
        "event": delivery.event,
        "at": delivery.created_at.isoformat(timespec="seconds"),
        "url": page,
        "summary": payload["summary"],
        "data": {"count": payload["count"], "items": payload["items"]},
    }


def _begin_due(now: datetime) -> Iterator[NotificationDelivery]:
    """Begin an attempt at the message of each target and event that has been due longest, unless one was attempted
    within the interval. Those that were never attempted become one. Yield them."""
    waiting = NotificationDelivery.objects.filter(state=State.WAITING, next_attempt_at__lte=now, target__is_on=True)
    for target, event in waiting.order_by("target", "event").values_list("target", "event").distinct():
        own = NotificationDelivery.objects.filter(target=target, event=event)
        if event != NotificationEvent.TEST and own.filter(attempted_at__gt=now - INTERVAL).exists():
            continue
        due = own.filter(state=State.WAITING, next_attempt_at__lte=now).select_related("target")
        oldest = due.order_by("next_attempt_at", "pk").first()
        if oldest is None:  # deleted meanwhile
            continue
        with transaction.atomic():
            if oldest.attempted_at is None:
                _unite(oldest, due.filter(attempted_at=None))
            _begin_attempt(oldest)
        yield oldest


def _unite(oldest: NotificationDelivery, fresh: Any) -> None:
    newest = list(fresh.order_by("-pk").values_list("pk", "payload")[:ITEMS_MAX])
    # Not others that are written meanwhile.
    others = NotificationDelivery.objects.filter(
        Q(pk__lte=newest[0][0]) & ~Q(pk=oldest.pk),
        target=oldest.target,
        event=oldest.event,
        state=State.WAITING,
        attempted_at=None,
    )
    count = 1 + others.delete()[0]
    if count > 1:
        items = [item for _, payload in reversed(newest) for item in payload["items"]]
        summary = f"{count:,} {SEVERAL[NotificationEvent(oldest.event)]}. The latest: {newest[0][1]['summary']}"
        oldest.payload = {"summary": summary, "count": count, "items": items}


def _begin_attempt(delivery: NotificationDelivery) -> None:
    # Stored before it is sent: of a process that dies meanwhile the attempt counts.
    delivery.attempts += 1
    delivery.attempted_at = timezone.now()
    delivery.next_attempt_at = delivery.attempted_at + FIRST_PAUSE * 3 ** (delivery.attempts - 1)
    delivery.last_status, delivery.last_error = None, ""
    delivery.save(force_update=True)


def _finish_attempt(delivery: NotificationDelivery) -> None:
    try:
        send = _post if delivery.target.kind == NotificationTarget.Kind.WEBHOOK else _mail
        delivery.last_status = send(delivery)
    except Undelivered as error:
        delivery.last_status, delivery.last_error = error.status, str(error)
        if error.status == GONE:
            NotificationTarget.objects.filter(pk=delivery.target_id).update(is_on=False)
        is_last = delivery.attempts >= ATTEMPTS_MAX or error.status == GONE or delivery.event == NotificationEvent.TEST
        delivery.state = State.FAILED if is_last else State.WAITING
    else:
        delivery.state = State.DELIVERED
    delivery.save(force_update=True)
    facts = {"delivery": delivery.pk, "about": delivery.event, "target": delivery.target_id, "state": delivery.state}
    logger.info("notification.attempted", extra=facts | {"attempts": delivery.attempts, "error": delivery.last_error})


def _post(delivery: NotificationDelivery) -> int:
    """The status, of success. Raises Undelivered."""
    import httpx  # 0.1 s: only where something is sent

    body = json.dumps(compose(delivery)).encode()
    try:
        secret = key_encryption.decrypt(delivery.target.secret)
    except key_encryption.KeyMistake as mistake:
        raise Undelivered(str(mistake)) from None
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Festinger",
        "Festinger-Signature": sign(secret, int(time.time()), body),
        "Festinger-Event": delivery.event,
        "Festinger-Delivery": str(delivery.pk),
    }

    async def post() -> int:
        # For all of it: httpx's own timeout is for each byte that a slow receiver sends.
        async with (
            asyncio.timeout(TIMEOUT_S),
            httpx.AsyncClient(trust_env=False, follow_redirects=False) as http,
            http.stream("POST", delivery.target.address, content=body, headers=headers) as answer,
        ):
            return answer.status_code  # whatever its body says, it is not read

    try:
        status = async_to_sync(post)()
    except TimeoutError:
        raise Undelivered(f"No answer within {TIMEOUT_S:g} s.") from None
    except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:  # UnicodeError: a name with an empty label
        raise Undelivered(f"No answer: {first_line(error)}") from None
    if status == GONE:
        raise Undelivered("It answers 410 (gone): the target was switched off.", status)
    if not 200 <= status < 300:
        raise Undelivered(f"It answers {status}.", status)
    return status


def _mail(delivery: NotificationDelivery) -> None:
    """Raises Undelivered."""
    if not settings.EMAIL_HOST:
        raise Undelivered(NO_MAIL_SERVER)
    message = compose(delivery)
    subject = " ".join(f"Festinger: {message['summary']}".split())
    text = f"{message['summary']}\n\nIn the admin: {message['url']}\n\n{json.dumps(message, indent=2)}\n"
    try:
        EmailMessage(subject, text, to=[delivery.target.address]).send()
    except (SMTPException, OSError, ValueError) as error:  # ValueError: what no header can carry
        raise Undelivered(f"The mail server did not take it: {first_line(error)}") from None
