"""Who is notified of runs that fail, however they come to fail."""

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from memory.models import NotificationDelivery, NotificationTarget
from resolution.models import Run
from resolution.nightly import run_records

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def target() -> None:
    NotificationTarget.objects.create(kind="mail", address="ada@host", events=["run.failed"])


def failed() -> list[dict[str, object]]:
    return [row.payload["items"][0] for row in NotificationDelivery.objects.order_by("pk")]


def test_operators_are_notified_of_a_run_that_raises_and_not_of_one_that_ends_well() -> None:
    def work(run: Run) -> str:
        raise ValueError("words of a memory")

    run_records.carry_out(Run.Trigger.SWEEP, "", lambda run: "well", done="found")
    with pytest.raises(ValueError, match="words"):
        run_records.carry_out(Run.Trigger.SWEEP, "", work, done="found")

    run = Run.objects.get(status="failed")
    assert failed() == [{"id": run.pk, "trigger": "sweep"}]
    assert "words" not in str(NotificationDelivery.objects.get().payload)


def test_operators_are_notified_once_of_a_run_whose_process_died() -> None:
    resolver = run_records.open_run(Run.Trigger.API, mode="auto", is_begun=True)
    sweep = Run.objects.create(trigger=Run.Trigger.SWEEP, mode="")
    Run.objects.update(alive_at=Now() - timedelta(hours=1))

    for _ in range(2):
        run_records.close_dead()
        with run_records.hold_alone("sweep", Run.Trigger.SWEEP):
            pass

    assert failed() == [{"id": resolver.pk, "trigger": "api"}, {"id": sweep.pk, "trigger": "sweep"}]
