"""What counts as standing still, and when it is replaced."""

from types import SimpleNamespace
from typing import Any

import pytest

from festinger_site.launcher import stall_watch
from festinger_site.launcher.stall_watch import FAULTS_MAX, YOUNG_S, LifeSign, Stalled, StallWatch, find_faults


def names(faults: list[Stalled]) -> list[tuple[str, int]]:
    return [(one.name, one.pid) for one in faults]


@pytest.mark.parametrize(
    ("answers", "signs", "expected"),
    [
        (True, [], []),
        (False, [], [("proxy", 0)]),
        (True, [("proxy", 1, 5.0), ("worker", 2, 60.0)], []),
        (True, [("proxy", 1, 500.0)], []),  # it answers: Postgres may be too slow for its signs
        (True, [("proxy", 1, 500.0), ("proxy", 3, 5.0)], [("proxy", 1)]),
        (True, [("proxy", 9, 500.0), ("proxy", 3, 5.0)], []),  # not ours: it died long ago
        (True, [("worker", 2, 100.0)], [("worker", 0)]),
    ],
)
def test_what_one_look_finds(answers: bool, signs: list[tuple[str, int, float]], expected: list[Any]) -> None:
    faults = find_faults(answers, [LifeSign(*sign) for sign in signs], lambda name, pid: pid != 9)

    assert names(faults) == expected


class Supervised:
    """A supervisor that only notes what it is asked to end."""

    def __init__(self) -> None:
        self.ended: list[tuple[str, int]] = []
        self.up_s = YOUNG_S

    def uptime_s(self, name: str) -> float:
        return self.up_s

    def kill(self, name: str, pid: int) -> None:
        self.ended.append((name, pid))


@pytest.fixture
def supervised() -> Supervised:
    return Supervised()


@pytest.fixture
def watch(supervised: Supervised, monkeypatch: pytest.MonkeyPatch) -> StallWatch:
    monkeypatch.setattr(stall_watch, "EVERY_S", 3_600.0)  # it looks when the test says so
    return StallWatch(supervised, SimpleNamespace())  # type: ignore[arg-type]


HANGS = [Stalled("proxy", "does not answer"), Stalled("proxy", "has given no sign of life for 100 s", 7)]


def test_what_is_found_again_and_again_is_replaced_once(watch: StallWatch, supervised: Supervised) -> None:
    for _ in range(FAULTS_MAX - 1):
        watch.note(HANGS)
    watch.replace_stalled()
    assert supervised.ended == []

    watch.note(HANGS)
    watch.replace_stalled()
    watch.replace_stalled()

    assert supervised.ended == [("proxy", 0), ("proxy", 7)]


def test_one_good_look_in_between_begins_the_count_anew(watch: StallWatch, supervised: Supervised) -> None:
    for _ in range(3):
        for faults in (*[HANGS] * (FAULTS_MAX - 1), []):
            watch.note(faults)
    watch.replace_stalled()

    assert supervised.ended == []


def test_what_has_just_been_started_is_given_time(watch: StallWatch, supervised: Supervised) -> None:
    supervised.up_s = YOUNG_S - 1
    for _ in range(2 * FAULTS_MAX):
        watch.note(HANGS)
    watch.replace_stalled()
    assert supervised.ended == []

    supervised.up_s = YOUNG_S
    watch.note(HANGS)
    watch.replace_stalled()

    assert supervised.ended == [("proxy", 0), ("proxy", 7)]
