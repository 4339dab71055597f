"""Runs of nightly jobs: one at a time, and how they end."""

import pytest

from memory.models import NotificationDelivery, NotificationTarget
from resolution.models import Run
from resolution.nightly import jobs, runs
from resolution.nightly.jobs import carry_out_requested
from resolution.nightly.runs import AlreadyRunning, request_run, run_now

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def target() -> None:
    NotificationTarget.objects.create(kind="mail", address="ada@host", events=["run.failed"])


def failed() -> list[dict[str, object]]:
    return [row.payload["items"][0] for row in NotificationDelivery.objects.order_by("pk")]


def test_operators_are_notified_of_a_run_that_raises_and_not_of_one_that_ends_well() -> None:
    def work(run: Run) -> str:
        raise ValueError("words of a memory")

    run_now(Run.Trigger.SWEEP, "", lambda run: "well")
    with pytest.raises(ValueError, match="words"):
        run_now(Run.Trigger.SWEEP, "", work)

    run = Run.objects.get(status="failed")
    assert Run.objects.get(status="done").note == "well"
    assert failed() == [{"id": run.pk, "trigger": "sweep"}]
    assert "words" not in f"{NotificationDelivery.objects.get().payload} {run.note}"


def test_operators_are_notified_once_of_a_run_whose_process_died() -> None:
    dead = [Run.objects.create(trigger=trigger, mode="") for trigger in ("command", "sweep")]

    for _ in range(2):
        carry_out_requested()

    assert failed() == [{"id": run.pk, "trigger": run.trigger} for run in dead]
    assert set(Run.objects.values_list("status", "note")) == {("failed", runs.DIED)}


@pytest.mark.parametrize(
    ("trigger", "goes_on"), [("schedule", True), ("api", True), ("admin", True), ("command", False)]
)
def test_a_run_that_died_is_carried_on_with_what_was_left(trigger: str, goes_on: bool) -> None:
    dead = Run.objects.create(trigger=trigger, actor="kreacher", mode="auto", limit=10, conflicts_seen=4)

    again = carry_out_requested()

    dead.refresh_from_db()
    assert dead.status == "failed"
    assert [(run.trigger, run.actor, run.limit) for run in again] == [(trigger, "kreacher", 6)] * goes_on


@pytest.mark.usefixtures("another_process")
def test_a_run_in_progress_elsewhere_is_left_alone_and_no_other_begins() -> None:
    running = Run.objects.create(trigger=Run.Trigger.CONSOLIDATE, mode="")
    requested = request_run(Run.Trigger.API)

    assert carry_out_requested() == []
    with pytest.raises(AlreadyRunning, match="the consolidation is running already"):
        run_now(Run.Trigger.SWEEP, "", lambda run: "")
    with pytest.raises(AlreadyRunning):
        request_run(Run.Trigger.CONSOLIDATE)

    assert set(Run.objects.values_list("pk", "status")) == {(running.pk, "running"), (requested.pk, "requested")}


def test_a_run_that_fails_does_not_stop_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "JOBS", jobs.JOBS | {Run.Trigger.SWEEP: lambda run: str(1 / 0)})
    for trigger in (Run.Trigger.SWEEP, Run.Trigger.DETECT):
        request_run(trigger)

    carry_out_requested()

    failed, done = Run.objects.order_by("pk")
    assert (failed.status, done.status) == ("failed", "done")
    assert failed.note == "Stopped by ZeroDivisionError. What it had done until then stays."
