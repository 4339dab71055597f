"""Puts notifications into their table, for each target that wants them, in the transaction of what they tell of."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import QuerySet

from memory.models.notifications import NotificationDelivery, NotificationEvent, NotificationTarget

Health = NotificationTarget.Health


@dataclass(frozen=True, slots=True)
class Notice:
    """One event: a sentence, and ids, names and counts. Never words of prompts or memories."""

    summary: str
    data: dict[str, Any] = field(default_factory=dict)

    def as_payload(self) -> dict[str, Any]:
        return {"summary": self.summary, "count": 1, "items": [self.data]}


def insert_statement(event: NotificationEvent, payloads: str) -> str:
    """SQL that inserts the payloads, one column of a query, for the targets of the event."""
    return f"""
        INSERT INTO notification_delivery (target_id, event, payload)
        SELECT target.id, '{event.value}', notice.payload
        FROM notification_target AS target, ({payloads}) AS notice (payload)
        WHERE is_on AND '{event.value}' = ANY (events)
    """


_INSERT: Final = {event: insert_statement(event, "SELECT unnest(%s::jsonb[])") for event in NotificationEvent}


def announce(event: NotificationEvent, notices: Sequence[Notice]) -> None:
    """Notify the targets of an event, in the caller's transaction."""
    if not notices:
        return
    with connection.cursor() as cursor:
        cursor.execute(_INSERT[event], [[json.dumps(notice.as_payload()) for notice in notices]])


def find_health_targets() -> QuerySet[NotificationTarget]:
    return NotificationTarget.objects.filter(is_on=True, events__contains=[NotificationEvent.HEALTH_CHANGED])


def announce_health(health: Health, parts: Sequence[str]) -> None:
    """Notify each target of a health that is not what it was told last, as soon as two looks in a row agree on it.
    ``parts``: those that need somebody."""
    summary = f"Health is {health}: {', '.join(parts)}" if parts else f"Health is {health}"
    with transaction.atomic():
        for target in find_health_targets().select_for_update().order_by("pk"):
            if health == target.seen_health != target.told_health:
                notice = Notice(summary, {"from": target.told_health, "to": health, "parts": list(parts)})
                NotificationDelivery.objects.create(
                    target=target, event=NotificationEvent.HEALTH_CHANGED, payload=notice.as_payload()
                )
                target.told_health = health
            target.seen_health = health
            target.save(update_fields=["told_health", "seen_health"])
