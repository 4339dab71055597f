"""Bounds and how often they were reached, and what is logged seldom."""

import logging

import pytest

from memory import bounds
from memory.log_throttle import LogThrottle


@pytest.fixture
def bound(monkeypatch: pytest.MonkeyPatch) -> bounds.Bound:
    monkeypatch.setattr(bounds, "_defined", {})
    return bounds.define("apples", "apples over 5")


def test_each_bite_counts_and_the_first_of_a_minute_is_logged(
    bound: bounds.Bound, caplog: pytest.LogCaptureFixture
) -> None:
    assert bounds.count_bites() == {"apples": 0}

    with caplog.at_level(logging.WARNING, "memory.bounds"):
        for size in (6, 7, 8):
            bound.count_hit(size=size)

    assert bounds.count_bites() == {"apples": 3}
    [record] = caplog.records
    assert (record.message, vars(record)["bound"], vars(record)["size"]) == ("bound.reached", "apples", 6)


def test_no_two_bounds_have_one_name(bound: bounds.Bound) -> None:
    with pytest.raises(ValueError, match="apples is defined already"):
        bounds.define("apples", "others")


def test_a_bound_is_described_wherever_it_counts(bound: bounds.Bound) -> None:
    assert [bounds.describe(name) for name in ("apples", "of_another_process")] == [
        "apples over 5",
        "of_another_process",
    ]


def test_a_log_line_is_due_once_in_its_interval() -> None:
    may_tell = LogThrottle(60.0)

    assert [may_tell.is_due(now) for now in (5.0, 5.0, 64.9, 65.0, 66.0, 200.0)] == [
        True,
        False,
        False,
        True,
        False,
        True,
    ]
