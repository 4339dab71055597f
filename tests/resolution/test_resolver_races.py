"""Runs of the resolver that meet each other, or that die: real threads, real processes."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.db import connection

from memory.db.locks import is_job_held
from resolution.models import Claim, Decision, Run
from resolution.nightly import runs
from resolution.nightly.jobs import carry_out_requested
from resolution.nightly.resolver import resolve
from resolution.nightly.runs import LOCK, AlreadyRunning, request_run, run_now
from tests.llm_server import LlmServer
from tests.resolution.disputes import DISMISS, UPDATE, choose, edges, places
from tests.waiting import eventually

pytestmark = pytest.mark.django_db(transaction=True)

START_S = 60


@contextmanager
def resolving() -> Iterator[subprocess.Popen[str]]:
    """``manage.py resolve_conflicts`` in a process of its own, on the test's database."""
    database = urlsplit(settings.DATABASE_URL)._replace(path=f"/{connection.settings_dict['NAME']}").geturl()
    process = subprocess.Popen(
        [sys.executable, "manage.py", "resolve_conflicts"],
        cwd=settings.ROOT,
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
    assert eventually(lambda: not is_job_held(LOCK), within_s=START_S)
    Run.objects.update(trigger="schedule")
    llm.answers_by(lambda asked: UPDATE)
    [run] = carry_out_requested()

    killed.refresh_from_db()
    assert (killed.status, killed.counts, killed.note) == ("failed", {"update": 1}, runs.DIED)
    assert killed.ended_at is not None
    assert (run.pk != killed.pk, run.trigger, run.status, run.counts) == (True, "schedule", "done", {"update": 1})
    assert edges() == {"aa runs on turing", "b runs on ramanujan", "c runs on turing"}  # the second waits for a night
    assert [Claim.objects.get(pk=row.pk).attempts for row in claims] == [0, 1, 0]
    assert carry_out_requested() == []


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
    assert (process.returncode, told.splitlines()[-1]) == (130, "Interrupted. What was done until then stays.")
    assert "Traceback" not in told
    assert (run.status, run.counts, run.note) == ("failed", {"update": 1}, runs.INTERRUPTED)
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

    def begin() -> None:
        together.wait()
        try:
            outcomes.append(str(run_now(Run.Trigger.COMMAND, "", resolve).status))
        except AlreadyRunning as error:
            outcomes.append(f"refused by {error.run.status}")
            refused.release()
        finally:
            connection.close()

    in_threads(begin, 6)

    assert sorted(outcomes) == ["done", *["refused by running"] * 5]
    assert Run.objects.count() == 1
    assert len(llm.asked) == 1


def test_a_request_is_carried_out_once_however_often_the_worker_is_woken(llm: LlmServer) -> None:
    places("aa")
    choose(llm)
    llm.answers_by(lambda asked: DISMISS)
    requested = request_run(Run.Trigger.API, "kreacher")
    together = threading.Barrier(4)

    def wake() -> None:
        together.wait()
        carry_out_requested()
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

    run = run_now(Run.Trigger.COMMAND, "", resolve)

    assert (run.status, run.note, len(llm.asked)) == ("failed", "stopped by an operator", 1)
    assert not Decision.objects.exists()
    assert not Claim.objects.exclude(claimed_until=None).exists()


def in_threads(work: Callable[[], None], count: int) -> None:
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(START_S)
    assert not any(thread.is_alive() for thread in threads)
