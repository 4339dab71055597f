"""Which of several requests that take long works when."""

import asyncio
from contextlib import suppress

from memory.domain.steps import Steps
from proxy.enrichment.turns import Turns


def work(name: str, steps: int, done: list[str]) -> Steps[str]:
    for _ in range(steps):
        done.append(name)
        yield
    return name


async def run(turns: Turns, name: str, steps: int, done: list[str]) -> str:
    return await turns.begin().run(work(name, steps, done))


def test_in_each_turn_of_the_loop_one_of_the_long_ones_works() -> None:
    done: list[str] = []

    async def note_turns() -> None:
        while True:
            done.append("|")
            await asyncio.sleep(0)

    async def all_of_them() -> list[str]:
        noting = asyncio.create_task(note_turns())
        names = await asyncio.gather(*[run(turns, name, 6, done) for name in "abc"])
        noting.cancel()
        return names

    turns = Turns(slice_s=0.0)

    assert asyncio.run(all_of_them()) == ["a", "b", "c"]
    later = "".join(done).split("|")[3:]  # the first slice of each waits for nobody
    assert max(map(len, later)) == 1
    assert sorted("".join(later)[:6]) == ["a", "a", "b", "b", "c", "c"]


def test_who_is_done_within_a_slice_waits_for_nobody() -> None:
    done: list[str] = []

    async def both() -> None:
        long = asyncio.create_task(run(Turns(slice_s=0.0), "a", 100, done))
        await asyncio.sleep(0)
        await run(Turns(slice_s=60.0), "b", 100, done)
        assert not long.done()
        await long

    asyncio.run(both())


def test_a_client_that_leaves_gives_up_its_turn() -> None:
    done: list[str] = []

    async def leave() -> None:
        turns = Turns(slice_s=0.0)
        leaving = asyncio.create_task(run(turns, "a", 1_000_000, done))
        for _ in range(5):
            await asyncio.sleep(0)
        leaving.cancel()
        with suppress(asyncio.CancelledError):
            await leaving

        assert await asyncio.wait_for(run(turns, "b", 5, done), 10) == "b"

    asyncio.run(leave())
