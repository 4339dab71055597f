"""What is told seldom."""

from memory.log_throttle import LogThrottle


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
