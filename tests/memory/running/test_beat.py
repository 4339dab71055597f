"""Beat in its thread: who of several sends, and what happens when one of them fails."""

import threading
from collections.abc import Callable, Iterator
from functools import partial

import psycopg
import pytest

from memory.running import beat
from memory.running.beat import Beat
from tests import waiting

eventually = partial(waiting.eventually, within_s=30)


class Sender:
    """A scheduler that counts its passes. ``lose`` ends its next one in an error, ``hang`` in nothing."""

    def __init__(self) -> None:
        self.passes = 0
        self.closed = 0
        self.lose = False
        self.hang, self.go_on = threading.Event(), threading.Event()

    def tick(self) -> float:
        if self.lose:
            self.lose = False
            raise OSError("the broker is away")
        if self.hang.is_set():
            self.go_on.wait(30)
        self.passes += 1
        return 0.01

    def close(self) -> None:
        self.closed += 1


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beat, "AGAIN_S", 0.05)


@pytest.fixture
def start(dsn: str) -> Iterator[Callable[[Sender], Beat]]:
    started: list[Beat] = []

    def begin(sender: Sender) -> Beat:
        started.append(Beat(lambda: sender, dsn))
        started[-1].start()
        return started[-1]

    yield begin
    for one in started:
        one.stop()


def end_connections(dsn: str) -> None:
    with psycopg.connect(dsn) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'festinger beat'"
        )


def test_of_two_one_sends_and_the_other_takes_over_when_it_stops(start: Callable[[Sender], Beat]) -> None:
    first, second = Sender(), Sender()
    one = start(first)
    assert eventually(lambda: first.passes > 0)
    start(second)
    assert eventually(lambda: first.passes > 20)
    assert second.passes == 0

    one.stop()

    assert eventually(lambda: second.passes > 0)
    assert first.closed == 1


def test_after_an_error_it_begins_anew(start: Callable[[Sender], Beat]) -> None:
    sender = Sender()
    start(sender)
    assert eventually(lambda: sender.passes > 0)

    sender.lose = True

    assert eventually(lambda: sender.closed == 1)
    passes = sender.passes
    assert eventually(lambda: sender.passes > passes)


def test_who_loses_the_lock_stops_sending_until_it_has_it_again(dsn: str, start: Callable[[Sender], Beat]) -> None:
    sender = Sender()
    start(sender)
    assert eventually(lambda: sender.passes > 0)

    end_connections(dsn)

    assert eventually(lambda: sender.closed == 1)
    passes = sender.passes
    assert eventually(lambda: sender.passes > passes)


def test_a_pass_that_does_not_end_is_a_stall(start: Callable[[Sender], Beat], monkeypatch: pytest.MonkeyPatch) -> None:
    sender = Sender()
    one = start(sender)
    assert eventually(lambda: sender.passes > 0)
    monkeypatch.setattr(beat, "STALLED_S", 0.5)
    assert not one.is_stalled()
    monkeypatch.setattr(beat, "STOP_S", 0.1)

    sender.hang.set()

    assert eventually(one.is_stalled)
    sender.go_on.set()  # else it keeps its lock from the next test


def test_who_waits_for_the_lock_is_not_stalled(
    start: Callable[[Sender], Beat], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = Sender(), Sender()
    start(first)
    assert eventually(lambda: first.passes > 0)
    waiting = start(second)
    monkeypatch.setattr(beat, "STALLED_S", 1.0)

    assert not eventually(waiting.is_stalled, within_s=2)
