"""When messages were first seen."""

import pytest

from memory.domain.timing import AHEAD_MAX_S, MICROSECOND, PUT_OFF_MAX, STATEMENTS_MAX, FirstSeenClock

NOW = 1_800_000_000.0


def test_messages_of_one_moment_stand_in_their_order_with_room_for_their_statements() -> None:
    sightings = FirstSeenClock()

    first = sightings.first("one", 800, NOW)
    second = sightings.first("two", 0, NOW)

    assert first == NOW
    assert second == pytest.approx(first + STATEMENTS_MAX * MICROSECOND, abs=MICROSECOND / 2)


def test_time_goes_back_with_the_clock_but_for_a_second() -> None:
    sightings = FirstSeenClock()
    first = sightings.first("one", 0, NOW)

    assert sightings.first("two", 0, NOW - 0.5) > first
    assert sightings.first("three", 0, NOW - 60) == NOW - 59
    assert sightings.first("four", 0, NOW - 50) == NOW - 50


def test_times_are_never_more_than_a_second_ahead_of_the_clock() -> None:
    sightings = FirstSeenClock()
    sightings.put_off("future", 0, NOW + 10 * 365 * 86_400)

    times = [sightings.first(number, 10**8, NOW) for number in range(100_000)]

    assert sorted(times) == times
    assert times[-1] == sightings.first("future", 0, NOW) == NOW + AHEAD_MAX_S
    assert sightings.first("later", 0, NOW + 2) == NOW + 2


def test_a_message_that_is_read_later_was_seen_before_what_follows_it() -> None:
    sightings = FirstSeenClock()
    sightings.put_off("one", 800, NOW)
    second = sightings.first("two", 0, NOW)
    sightings.put_off("one", 800, NOW + 5)  # sent again, and not read yet

    assert sightings.first("one", 800, NOW + 10) == NOW < second
    assert sightings.first("one", 800, NOW + 20) == NOW + 20


def test_messages_that_are_never_read_are_forgotten() -> None:
    sightings = FirstSeenClock()
    for number in range(PUT_OFF_MAX + 1):
        sightings.put_off(number, 0, NOW)

    assert sightings.first(0, 0, NOW + 10) == NOW + 10
    assert sightings.first(1, 0, NOW + 10) < NOW + 1
