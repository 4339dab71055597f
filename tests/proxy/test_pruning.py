"""What was done to prompts goes after a week, what was put into them after a day. Against a real Postgres."""

from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from memory.graph import retention
from proxy import tasks
from proxy.models import IdempotentCall, Injection, LoopEvent, RecollectionEvent
from proxy.prompts.block_log import RECENT


def event(number: int, age: timedelta) -> None:
    RecollectionEvent.objects.create(
        request=f"{number:016x}", agent="dobby", model="m", wire="chat", enrich_ms=1, at=timezone.now() - age
    )
    LoopEvent.objects.create(
        request=f"{number:016x}", agent="dobby", model="m", wire="chat", kind="same", count=3, steps=["note"],
        repeated=["look()"], at=timezone.now() - age,
    )  # fmt: skip


@pytest.mark.django_db
def test_what_was_done_a_week_ago_goes_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    monkeypatch.setattr(retention, "PAUSE_S", 0)
    for number in range(5):
        event(number, timedelta(days=7, minutes=number))
    event(5, timedelta(days=6, hours=23))

    tasks.prune_events()

    assert RecollectionEvent.objects.get().request == f"{5:016x}"
    assert LoopEvent.objects.get().request == f"{5:016x}"


@pytest.mark.django_db
def test_answers_that_are_not_given_again_go_after_a_day() -> None:
    for number, hours in enumerate((23, 25, 26)):
        digest, at = bytes([number]) * 32, timezone.now() - timedelta(hours=hours)
        IdempotentCall.objects.create(call=digest, request=digest, answer=b"sealed", at=at)

    tasks.prune_events()

    assert bytes(IdempotentCall.objects.get().call) == bytes(32)


def injection(name: str, age: timedelta) -> None:
    Injection.objects.create(place=bytes(16), block=name, at=timezone.now() - age)


@pytest.mark.django_db
def test_what_was_put_into_prompts_goes_when_no_process_loads_it_any_more() -> None:
    for name, hours in {"new": 0, "loaded": 23.9, "not loaded": 24.1, "old": 25.1}.items():
        injection(name, timedelta(hours=hours))
    with connection.cursor() as cursor:
        cursor.execute(RECENT)
        loaded = [block for _, _, block, *_ in cursor.fetchall()]

    tasks.prune_events()

    assert loaded == ["new", "loaded"]
    assert set(Injection.objects.values_list("block", flat=True)) == {"new", "loaded", "not loaded"}
