"""What others are asked for the reports of /health, and how often."""

import asyncio

import pytest

from memory import bounds
from memory.metrics import total
from proxy.health.outside import SharedAnswer


class Work:
    """Answers when it may, with how often it was asked."""

    def __init__(self) -> None:
        self.count = 0
        self.may_answer = asyncio.Event()

    async def __call__(self) -> int:
        self.count += 1
        await self.may_answer.wait()
        return self.count


@pytest.fixture
def bound() -> bounds.Bound:
    return bounds.Bound("reports", "reports")


def test_all_who_ask_within_a_while_share_one_answer(bound: bounds.Bound) -> None:
    async def ask() -> None:
        work, shared = Work(), SharedAnswer[int](bound, shared_s=60.0)
        asking = [asyncio.create_task(shared.get("m", work)) for _ in range(200)]
        await asyncio.sleep(0)
        asking[0].cancel()  # a client that leaves takes nothing from the others
        work.may_answer.set()

        assert await asyncio.gather(*asking[1:]) == [1] * 199
        assert await shared.get("m", work) == 1
        assert await shared.get("another upstream", work) == 2

    asyncio.run(ask())
    assert total("festinger_bounds_reached_total", bound="reports") == 200


def test_later_it_is_asked_again_but_never_twice_at_once(bound: bounds.Bound) -> None:
    async def ask() -> None:
        work, shared = Work(), SharedAnswer[int](bound, shared_s=0.0)
        asking = [asyncio.create_task(shared.get("m", work)) for _ in range(2)]
        await asyncio.sleep(0)
        work.may_answer.set()

        assert await asyncio.gather(*asking) == [1, 1]
        assert await shared.get("m", work) == 2

    asyncio.run(ask())
