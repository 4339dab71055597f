"""What counts as stalled, and when it is ended."""

from types import SimpleNamespace
from typing import Any

import pytest

from festinger_site.run import stall_watch
from festinger_site.run.stall_watch import LOOKS, YOUNG_S, LifeSign, StallWatch, find_stalled


@pytest.mark.parametrize(
    ("answers", "signs", "expected"),
    [
        (True, [], []),
        (False, [], [("proxy", 0)]),
        (True, [("proxy", 1, 5.0), ("worker", 2, 60.0)], []),
        (True, [("proxy", 1, 500.0)], []),  # it answers: Postgres may be too slow for its signs
        (True, [("proxy", 1, 500.0), ("proxy", 3, 5.0)], [("proxy", 1)]),
        (True, [("worker", 2, 100.0)], [("worker", 0)]),
    ],
)
def test_what_one_look_finds(answers: bool, signs: list[tuple[str, int, float]], expected: list[Any]) -> None:
    assert list(find_stalled(answers, [LifeSign(*sign) for sign in signs])) == expected


class Proxy:
    """A child that only notes what of it is ended."""

    def __init__(self) -> None:
        self.killed: list[int] = []
        self.started_at = 0.0

    def kill(self, pid: int) -> None:
        self.killed.append(pid)


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Proxy:
    monkeypatch.setattr(stall_watch, "EVERY_S", 3_600.0)  # it looks when the test says so
    monkeypatch.setattr(stall_watch, "time", SimpleNamespace(monotonic=lambda: YOUNG_S, sleep=stall_watch.time.sleep))
    return Proxy()


@pytest.fixture
def watch(proxy: Proxy) -> StallWatch:
    return StallWatch(SimpleNamespace(children={"proxy": proxy}), SimpleNamespace())  # type: ignore[arg-type]


HANGS = {("proxy", 0): "does not answer", ("proxy", 7): "has given no sign of life for 100 s"}


def test_what_is_found_again_and_again_is_ended_once(watch: StallWatch, proxy: Proxy) -> None:
    for _ in range(LOOKS - 1):
        watch.count(HANGS)
    watch.kill_stalled()
    assert proxy.killed == []

    watch.count(HANGS)
    watch.kill_stalled()
    watch.kill_stalled()
    assert proxy.killed == [0, 7]


def test_one_good_look_in_between_begins_the_count_anew(watch: StallWatch, proxy: Proxy) -> None:
    for found in [HANGS, HANGS, HANGS, {}] * 3:
        watch.count(found)
    watch.kill_stalled()

    assert proxy.killed == []


@pytest.mark.parametrize(("started_at", "killed"), [(0.0, [0, 7]), (1.0, [])])
def test_what_has_just_been_started_is_given_time(
    watch: StallWatch, proxy: Proxy, started_at: float, killed: list[int]
) -> None:
    proxy.started_at = started_at
    for _ in range(2 * LOOKS - 1):
        watch.count(HANGS)
    watch.kill_stalled()

    assert proxy.killed == killed
