"""When messages were first seen."""

import pytest

from memory.domain.timing import MICROSECOND, PUT_OFF_MAX, FirstSeenClock

NOW = 1_800_000_000.0


def test_messages_of_one_moment_stand_in_their_order_with_room_for_their_statements() -> None:
    sightings = FirstSeenClock()

    first = sightings.first("one", 800, NOW)
    second = sightings.first("two", 0, NOW)

    assert first == NOW
    assert second > first + 100 * MICROSECOND
    assert second == pytest.approx(NOW, abs=0.001)


def test_time_does_not_go_back_with_the_clock() -> None:
    sightings = FirstSeenClock()
    first = sightings.first("one", 0, NOW)

    assert sightings.first("two", 0, NOW - 60) > first


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
