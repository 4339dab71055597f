"""When messages were first seen."""

import pytest

from memory.timing import AHEAD_MAX_S, MICROSECOND, STATEMENTS_MAX, FirstSeenClock

NOW = 1_800_000_000.0


def test_messages_of_one_moment_stand_in_their_order_with_room_for_their_statements() -> None:
    sightings = FirstSeenClock()

    first = sightings.date(800, NOW)
    second = sightings.date(0, NOW)

    assert first == NOW
    assert second == pytest.approx(first + STATEMENTS_MAX * MICROSECOND, abs=MICROSECOND / 2)


def test_time_goes_back_with_the_clock_but_for_a_second() -> None:
    sightings = FirstSeenClock()
    first = sightings.date(0, NOW)

    assert sightings.date(0, NOW - 0.5) > first
    assert sightings.date(0, NOW - 60) == NOW - 59
    assert sightings.date(0, NOW - 50) == NOW - 50


def test_times_are_never_more_than_a_second_ahead_of_the_clock() -> None:
    sightings = FirstSeenClock()

    times = [sightings.date(10**8, NOW) for _ in range(100_000)]

    assert sorted(times) == times
    assert times[-1] == NOW + AHEAD_MAX_S
    assert sightings.date(0, NOW + 2) == NOW + 2
