"""Runs of the resolver that meet each other, or that die: real threads, real processes."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import connection
from django.db.models import F

from resolution.models import Claim, Decision, Run
from resolution.nightly import resolver, run_records, schedule, service
from resolution.nightly.service import AlreadyRunning
from tests.llm_server import LlmServer
from tests.resolution.disputes import DISMISS, UPDATE, choose, edges, places
from tests.waiting import eventually

pytestmark = pytest.mark.django_db(transaction=True)

START_S = 60
LONG_AGO = timedelta(minutes=10)


@contextmanager
def resolving() -> Iterator[subprocess.Popen[str]]:
    """``manage.py resolve_conflicts`` in a process of its own, on the test's database."""
    database = urlsplit(settings.DATABASE_URL)._replace(path=f"/{connection.settings_dict['NAME']}").geturl()
    process = subprocess.Popen(
        [sys.executable, "manage.py", "resolve_conflicts"],
        cwd=settings.PROJECT,
        env=os.environ | {"DATABASE_URL": database},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def hang_at_the_second(llm: LlmServer) -> threading.Event:
    """The first conflict gets an answer, the second waits for the event."""
    go_on = threading.Event()

    def answer(asked: Any) -> Any:
        if len(llm.asked) > 1:
            go_on.wait(START_S)
        return UPDATE

    llm.answers_by(answer)
    return go_on


def let_time_pass() -> None:
    Run.objects.filter(status="running").update(
        alive_at=F("alive_at") - LONG_AGO, started_at=F("started_at") - LONG_AGO - timedelta(seconds=1)
    )


def die_at_the_second(llm: LlmServer) -> Run:
    """A run whose process is killed while it waits for the second answer."""
    go_on = hang_at_the_second(llm)
    with resolving() as process:
        assert eventually(lambda: len(llm.asked) == 2 or process.poll() is not None, within_s=START_S)
        assert process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
    go_on.set()
    return Run.objects.get()


def test_a_killed_run_leaves_what_it_decided_and_a_worker_carries_it_on(llm: LlmServer) -> None:
    claims = [places(name) for name in ("aa", "b", "c")]
    choose(llm)

    killed = die_at_the_second(llm)

    assert edges() == {"aa runs on turing", "b runs on ramanujan", "c runs on ramanujan"}
    with pytest.raises(AlreadyRunning):  # for all that anybody knows
        service.run(Run.Trigger.COMMAND)

    Run.objects.update(trigger="schedule")
    let_time_pass()
    llm.answers_by(lambda asked: UPDATE)
    run = schedule.start_what_is_due()

    assert run is not None
    killed.refresh_from_db()
    assert (killed.status, killed.counts, killed.note) == ("failed", {"update": 1}, run_records.DIED)
    assert killed.ended_at is not None
    assert (run.pk != killed.pk, run.trigger, run.status, run.counts) == (True, "schedule", "done", {"update": 2})
    assert edges() == {f"{name} runs on turing" for name in ("aa", "b", "c")}
    assert [Claim.objects.get(pk=row.pk).attempts for row in claims] == [0, 1, 0]
    assert Decision.objects.count() == 3
    assert schedule.start_what_is_due() is None


def test_a_conflict_at_which_runs_keep_dying_is_left_alone() -> None:
    claim = places("aa")

    for _ in range(run_records.DEATHS_AT_MOST):
        row = run_records.open_run(Run.Trigger.SCHEDULE, mode="auto", is_begun=True)
        Claim.objects.filter(next_attempt_at=None).update(claimed_until=row.started_at)
        let_time_pass()  # the next one that is opened closes it
    run_records.close_dead()

    claim.refresh_from_db()
    assert (claim.attempts, claim.last_error) == (3, run_records.DIED_AT_IT)
    assert not resolver.pending_now().exists()
    assert resolver.pending_now(patiently=False).exists()


def test_interrupted_a_run_is_closed_and_says_so(llm: LlmServer) -> None:
    places("aa")
    places("b")
    choose(llm)
    go_on = hang_at_the_second(llm)

    with resolving() as process:
        assert eventually(lambda: len(llm.asked) == 2 or process.poll() is not None, within_s=START_S)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=START_S)
        go_on.set()

    run = Run.objects.get()
    assert (process.returncode, told.splitlines()[-1]) == (130, "Interrupted. What was decided until then stays.")
    assert "Traceback" not in told
    assert (run.status, run.counts, run.note) == ("failed", {"update": 1}, resolver.INTERRUPTED)
    assert [(row.attempts, row.claimed_until) for row in Claim.objects.filter(status="pending")] == [(0, None)]


def test_of_many_runs_at_once_one_runs(llm: LlmServer) -> None:
    places("aa")
    choose(llm)
    refused = threading.Semaphore(0)

    def answer(asked: Any) -> Any:
        for _ in range(5):  # the others have tried by now
            assert refused.acquire(timeout=START_S)
        return DISMISS

    llm.answers_by(answer)
    outcomes: list[str] = []
    together = threading.Barrier(6)

    def resolve() -> None:
        together.wait()
        try:
            outcomes.append(str(service.run(Run.Trigger.COMMAND).status))
        except AlreadyRunning as error:
            outcomes.append(f"refused by {error.run.status}")
            refused.release()
        finally:
            connection.close()

    in_threads(resolve, 6)

    assert sorted(outcomes) == ["done", *["refused by running"] * 5]
    assert Run.objects.count() == 1
    assert len(llm.asked) == 1


def test_a_request_is_carried_out_once_however_often_the_worker_is_woken(llm: LlmServer) -> None:
    places("aa")
    choose(llm)
    llm.answers_by(lambda asked: DISMISS)
    requested = run_records.open_run(Run.Trigger.API, "kreacher", mode="auto", is_begun=False)
    together = threading.Barrier(4)

    def wake() -> None:
        together.wait()
        service.carry_out(requested)
        connection.close()

    in_threads(wake, 4)

    requested.refresh_from_db()
    assert (requested.status, requested.counts, len(llm.asked)) == ("done", {"dismiss": 1}, 1)


def test_a_run_that_was_closed_from_outside_decides_nothing_more(llm: LlmServer) -> None:
    places("aa")
    places("b")
    choose(llm)

    def answer(asked: Any) -> Any:
        Run.objects.update(status="failed", note="stopped by an operator")
        connection.close()  # of the server's thread
        return UPDATE

    llm.answers_by(answer)

    run = service.run(Run.Trigger.COMMAND)

    assert (run.status, run.note, len(llm.asked)) == ("failed", "stopped by an operator", 1)
    assert not Decision.objects.exists()
    assert not Claim.objects.exclude(claimed_until=None).exists()


def test_a_run_gives_signs_of_life_while_it_waits_for_an_answer(
    llm: LlmServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run_records, "SIGN_OF_LIFE_S", 0.01)
    places("aa")
    choose(llm)
    signs: set[datetime] = set()

    def answer(asked: Any) -> Any:
        eventually(lambda: signs.add(Run.objects.get().alive_at) or len(signs) >= 3, within_s=START_S)
        connection.close()
        return UPDATE

    llm.answers_by(answer)

    assert service.run(Run.Trigger.COMMAND).status == "done"
    assert len(signs) >= 3


def in_threads(work: Callable[[], None], count: int) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(START_S)
    assert not any(thread.is_alive() for thread in threads)
