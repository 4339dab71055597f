"""What waits in memory: in order, and bounded."""

from hypothesis import given
from hypothesis import strategies as st

from memory.learning.messages import NewMessage
from memory.learning.outbox import Backlog, WaitingMessage


def heard(number: int, length: int = 0) -> NewMessage:
    return NewMessage(bytes(32), "dobby", None, "user", "x" * length, float(number))


def backlog_of(*numbers: int, now: float = 1.0, room: int = 9) -> Backlog:
    backlog = Backlog(bytes_max=room * heard(0).size)
    for number in numbers:
        backlog.add(heard(number), now)
    return backlog


def numbers(batch: list[WaitingMessage]) -> list[int]:
    return [int(waiting.message.at) for waiting in batch]


def test_the_oldest_are_taken_first_and_can_be_put_back() -> None:
    backlog = backlog_of(0, 1, 2)
    for number in (3, 4):
        backlog.add(heard(number), now=2.0)

    taken = backlog.take(2)
    assert (numbers(taken), backlog.waits_since()) == ([0, 1], 1.0)
    backlog.put_back(taken)
    assert numbers(backlog.take(4)) == [0, 1, 2, 3]
    assert (backlog.waits_since(), len(backlog)) == (2.0, 1)
    assert (numbers(backlog.take(9)), backlog.waits_since()) == ([4], float("inf"))


def test_the_oldest_go_when_there_is_no_room() -> None:
    backlog = backlog_of(0, 1, 2, room=3)

    assert [backlog.add(heard(number), now=1.0) for number in (3, 4)] == [1, 1]
    assert numbers(backlog.take(9)) == [2, 3, 4]


def test_what_is_put_back_has_gone_where_others_took_its_room() -> None:
    backlog = backlog_of(0, 1, 2, room=3)
    taken = backlog.take(2)
    for number in (3, 4):
        backlog.add(heard(number), now=2.0)

    assert backlog.put_back(taken) == 2
    assert numbers(backlog.take(9)) == [2, 3, 4]


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 3)), max_size=40))
def test_a_backlog_never_holds_more_than_its_bytes_and_tells_of_all_that_it_loses(
    steps: list[tuple[int, int]],
) -> None:
    backlog = Backlog(bytes_max=3_000)
    added = told = taken = 0

    for number, (length, count) in enumerate(steps):
        told += backlog.add(heard(number, length), now=0.0)
        added += 1
        if count == 3:
            told += backlog.put_back(backlog.take(2))
        else:
            taken += len(backlog.take(count))

    rest = backlog.take(100)
    assert added == told + taken + len(rest)
    assert sum(waiting.message.size for waiting in rest) <= 3_000
