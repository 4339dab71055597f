"""Counting what messages name, before it is flushed."""

import asyncio
from collections.abc import Iterator
from itertools import islice
from math import inf
from types import SimpleNamespace

import pytest

from memory.cache.state import Cache
from memory.domain.recall.saliency import DAY, saliency
from memory.domain.statement import Statement
from memory.domain.steps import finish
from memory.domain.timing import is_dated
from memory.domain.types import Message, SoasRow
from memory.learning import encounters as encounters_module
from memory.learning.encounters import READINGS_MAX, Encounters
from memory.learning.reader import Allowance, Reader, Reading

NOW = 1_800_000_000.0
ONE, OTHER = b"1" * 16, b"2" * 16  # openings of conversations


def known(token: str = "zorblat", **facts: object) -> Cache:
    cache = Cache()
    cache.put_soas(token, SoasRow(1, **facts))  # type: ignore[arg-type]
    return cache


def hear(encounters: Encounters, *texts: str, opening: bytes = ONE, now: float = NOW) -> list[Reading]:
    reader = Reader(encounters.cache)
    said = [Message("user", text) for text in texts]
    return finish(encounters.observe(opening, [(message, reader.read(message)) for message in said], now, "dobby"))


def test_a_resent_message_counts_once_in_its_conversation() -> None:
    encounters = Encounters(known())

    for _ in range(3):
        hear(encounters, "zorblat zorblat")
    hear(encounters, "zorblat zorblat", opening=OTHER)

    assert encounters.cache.soas_by_token["zorblat"].encounter_count == 2
    assert encounters.pending() == 2


def test_only_new_messages_are_returned() -> None:
    encounters = Encounters(Cache())
    hear(encounters, "one")

    assert [reading.words for reading in hear(encounters, "one", "two")] == ["two"]


def test_a_message_that_was_counted_before_the_start_is_not_new() -> None:
    encounters = Encounters(known())
    reading = Reader(encounters.cache).read(Message("user", "zorblat"))
    encounters.remember([(ONE + reading.digest, NOW - 60)])

    assert hear(encounters, "zorblat") == []
    assert encounters.cache.soas_by_token["zorblat"].encounter_count == 0


def test_what_is_sent_again_after_a_day_is_noted_once() -> None:
    encounters = Encounters(Cache())
    hear(encounters, "one")
    asyncio.run(encounters.learn())
    encounters.take()

    hear(encounters, "one", now=NOW + DAY / 2)
    assert not encounters.take()
    hear(encounters, "one", now=NOW + DAY + 1)
    hear(encounters, "one", now=NOW + DAY + 2)

    assert list(encounters.take().seen_again.values()) == [NOW + DAY + 1]


def test_a_new_word_in_four_messages_asks_to_be_flushed() -> None:
    encounters = Encounters(Cache())

    for i in range(4):
        assert not encounters.wanted.is_set()
        hear(encounters, f"zorblat {i}")

    assert encounters.wanted.is_set()


def test_a_question_asks_to_be_flushed() -> None:
    encounters = Encounters(known())

    encounters.note_asked([SoasRow(1)], NOW)

    assert encounters.wanted.is_set()
    assert encounters.take().asked == {1: NOW}


def test_a_common_word_stays_without_saliency() -> None:
    encounters = Encounters(known("the", novelty=1, is_common=True))

    hear(encounters, *(f"the {i}" for i in range(10)))

    assert encounters.cache.soas_by_token["the"].saliency == 0
    assert encounters.pending() == 10


def test_what_could_not_be_written_is_kept() -> None:
    encounters = Encounters(known("known"))
    hear(encounters, "known zorblat")
    encounters.note_asked([SoasRow(1)], NOW)
    asyncio.run(encounters.learn())
    batch = encounters.take()
    hear(encounters, "known zorblat again", now=NOW + 1)
    asyncio.run(encounters.learn())

    encounters.give_back(batch)

    batch = encounters.take()
    assert [heard.at for heard in batch.messages.values()] == [NOW, NOW + 1]
    assert batch.counts == {"known": 2, "zorblat": 2, "again": 1}
    assert batch.asked == {1: NOW}


def test_a_flush_puts_right_what_was_counted_too_often() -> None:
    encounters = Encounters(known(encounter_count=5))
    hear(encounters, "zorblat one", "zorblat two")
    asyncio.run(encounters.learn())
    encounters.take()
    hear(encounters, "zorblat three")

    encounters.settle([("zorblat", SoasRow(1, encounter_count=6))])  # one of the two was counted elsewhere

    row = encounters.cache.soas_by_token["zorblat"]
    assert row.encounter_count == 7
    assert row.saliency == saliency(7)
    assert row.last_seen == pytest.approx(NOW, abs=0.001)


def test_what_finds_no_room_is_dropped_and_counted() -> None:
    encounters = Encounters(Cache())
    reading = Reader(Cache()).read(Message("user", "zorblat"))
    reading.size = READINGS_MAX + 1

    finish(encounters.observe(ONE, [(Message("user", "zorblat"), reading)], NOW))

    assert (encounters.dropped, encounters.pending()) == (1, 0)


def test_a_message_that_cannot_be_learned_from_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    encounters = Encounters(Cache())

    def learn(cache: Cache, reading: Reading) -> Iterator[None]:
        if "poison" in reading.words:
            raise ValueError(reading.words)
        yield

    monkeypatch.setattr("memory.learning.encounters.read_rest", learn)
    hear(encounters, "poison", "zorblat")
    asyncio.run(encounters.learn())

    assert encounters.take().counts["zorblat"] == 1
    assert [record.message for record in caplog.records] == ["learn.failed"]


def test_what_is_learned_in_steps_is_what_is_learned_at_once() -> None:
    observed: list[Statement] = []
    encounters = Encounters(Cache(), observed.extend)
    text = "Dobby ISA worker of the Glitch University.\n" + "Zorblat is a fine café, isn't it? Ask it.\n" * 2_000
    message = Message("user", text)
    [reading] = finish(Reader(encounters.cache).read_within([message], Allowance(100_000, inf)))
    finish(encounters.observe(ONE, [(message, reading)], NOW, "dobby"))

    asyncio.run(encounters.learn())

    whole = Reader(Cache()).read(message)
    [message] = encounters.take().messages.values()
    assert set(message.reading.words.split()) == set(whole.words.split())
    assert (message.reading.names, message.reading.emphasised) == (whole.names, whole.emphasised)
    assert [(one.subject, one.parent, one.dimension) for one in observed] == [("dobby", "worker", "glitch_university")]


@pytest.mark.parametrize(("prompts", "together"), [(3, 3), (200, 51)])
def test_prompts_without_a_pause_are_learned_from_together(
    monkeypatch: pytest.MonkeyPatch, prompts: int, together: int
) -> None:
    """One comes at the end of each rest, and learning does not wait for ever."""
    now, coming, heard_before = [0.0], iter(range(1, prompts)), list[int]()
    encounters = Encounters(Cache(), lambda statements: heard_before.append(encounters.pending()))

    async def sleep(seconds: float) -> None:
        now[0] += seconds
        for number in islice(coming, 1):
            hear(encounters, f"Dobby runs on docker{number}.")

    clock = SimpleNamespace(monotonic=lambda: now[0], time=lambda: NOW)
    monkeypatch.setattr(encounters_module, "time", clock)
    monkeypatch.setattr(encounters_module, "asyncio", SimpleNamespace(sleep=sleep))
    hear(encounters, "Dobby runs on docker.")
    asyncio.run(encounters.learn())

    assert heard_before == [together] * together


def test_prompts_go_on_while_a_long_message_is_learned_from(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encounters_module, "REST_S", 0.0)
    encounters = Encounters(Cache())
    message = Message("user", "Zorblat is the service of Dobby.\n" * 3_000)
    [reading] = finish(Reader(encounters.cache).read_within([message], Allowance(100_000, inf)))
    finish(encounters.observe(ONE, [(message, reading)], NOW))

    async def turns_of_others() -> int:
        learning = asyncio.create_task(encounters.learn())
        turns = 0
        while not learning.done():
            await asyncio.sleep(0)
            turns += 1
        return turns

    assert asyncio.run(turns_of_others()) > 10


def test_learning_that_is_cut_short_begins_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encounters_module, "REST_S", 0.0)
    encounters = Encounters(Cache())
    message = Message("user", "Zorblat is the service of Dobby.\n" * 3_000)
    [reading] = finish(Reader(encounters.cache).read_within([message], Allowance(100_000, inf)))
    finish(encounters.observe(ONE, [(message, reading)], NOW))

    async def cut_short() -> None:
        learning = asyncio.create_task(encounters.learn())
        await asyncio.sleep(0)
        learning.cancel()
        await asyncio.wait([learning])
        assert not reading.words
        await encounters.learn()

    asyncio.run(cut_short())

    assert encounters.take().counts["zorblat"] == 1


def placed_last(observed: list[Statement]) -> str:
    """What stands where the newer wins."""
    return max(observed, key=lambda one: one.at).parent


def test_of_messages_that_come_together_the_last_one_states_last() -> None:
    observed: list[Statement] = []
    encounters = Encounters(Cache(), observed.extend)
    hear(encounters, "Zorblat ISA repo. Winky ISA worker. Dobby runs on Docker.", "Dobby runs on Podman.")

    asyncio.run(encounters.learn())

    assert len(observed) == 4
    assert placed_last([one for one in observed if one.subject == "dobby"]) == "podman"


def test_a_message_that_is_read_later_states_nothing_later() -> None:
    observed: list[Statement] = []
    encounters = Encounters(Cache(), observed.extend)
    reader = Reader(encounters.cache)
    said = [
        Message("user", f"Dobby runs on {host}. " + "Word soup is served. " * 3_000) for host in ("Docker", "Podman")
    ]
    for turn in range(2):
        readings = finish(reader.read_within(said, Allowance(100_000, inf)))
        finish(encounters.observe(ONE, zip(said, readings, strict=True), NOW + 10 * turn, "dobby"))
        asyncio.run(encounters.learn())

    assert [one.parent for one in observed] == ["podman", "docker"]
    assert placed_last(observed) == "podman"


def test_an_unknown_concept_asks_for_a_flush_in_each_conversation_and_once_an_hour() -> None:
    encounters = Encounters(known(encounter_count=50))

    def is_hurried(*texts: str, now: float = NOW, opening: bytes = ONE) -> bool:
        hear(encounters, *texts, opening=opening, now=now)
        asyncio.run(encounters.learn())
        hurried = encounters.wanted.is_set()
        assert list(encounters.take().unexplained) == ["zorblat"]
        return hurried

    assert is_hurried("ask zorblat one")
    assert not is_hurried("ask zorblat one", "ask zorblat two", now=NOW + 60)
    assert is_hurried("ask zorblat one", opening=OTHER, now=NOW + 90)
    assert is_hurried("ask zorblat one", "ask zorblat three", now=NOW + 4_000)


def test_what_was_answered_before_it_was_first_seen_is_not_said_now() -> None:
    stated: list[Statement] = []
    encounters = Encounters(known(), add_statements=stated.extend)
    reader = Reader(encounters.cache)
    said = [Message("user", "Forget that Dobby is a cook."), Message("user", "Dobby is a worker.")]
    said += [Message("assistant", "I see."), Message("user", "Actually Dobby is a cook.")]

    pairs = [(message, reader.read(message)) for message in said]
    current = finish(encounters.observe(ONE, pairs, NOW, "dobby", answered=3))
    asyncio.run(encounters.learn())

    assert [reading.digest for reading in current] == [pairs[3][1].digest]
    assert [(one.parent, one.says, is_dated(one.at)) for one in stated] == [
        ("worker", "states", False),
        ("cook", "corrects", True),
    ]


def test_what_was_put_off_is_said_when_it_was_first_seen() -> None:
    encounters, message = Encounters(known()), Message("user", "Actually Dobby is a cook.")
    finish(encounters.observe(ONE, [(message, None)], NOW))
    reading = Reader(encounters.cache).read(message)
    answer = Message("assistant", "I see.")

    later = [(message, reading), (answer, Reader(encounters.cache).read(answer))]
    current = finish(encounters.observe(ONE, later, NOW + 60, answered=2))

    assert current[0] is reading
