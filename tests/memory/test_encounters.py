"""Counting what messages name, before it is flushed."""

import asyncio

import pytest

from memory.cache import Cache
from memory.domain.messages import Message
from memory.domain.rows import SoasRow
from memory.domain.saliency import DAY, saliency
from memory.encounters import READINGS_MAX, Encounters
from memory.reading import Reader, Reading

NOW = 1_800_000_000.0
ONE, OTHER = b"1" * 16, b"2" * 16  # openings of conversations


def known(token: str = "zorblat", **facts: object) -> Cache:
    cache = Cache()
    cache.put_soas(token, SoasRow(1, **facts))  # type: ignore[arg-type]
    return cache


def hear(encounters: Encounters, *texts: str, opening: bytes = ONE, now: float = NOW) -> list[Reading]:
    reader = Reader(encounters.cache)
    said = [Message("user", text) for text in texts]
    return encounters.observe(opening, [(message, reader.read(message)) for message in said], now, "dobby")


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

    encounters.note_asked([1], NOW)

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
    encounters.note_asked([1], NOW)
    batch = encounters.take()
    hear(encounters, "known zorblat again", now=NOW + 1)

    encounters.give_back(batch)

    batch = encounters.take()
    assert [heard.at for heard in batch.heard.values()] == [NOW, NOW + 1]
    assert batch.named == {"known": 2, "zorblat": 2, "again": 1}
    assert batch.asked == {1: NOW}


def test_a_flush_puts_right_what_was_counted_too_often() -> None:
    encounters = Encounters(known(encounter_count=5))
    hear(encounters, "zorblat one", "zorblat two")
    encounters.take()
    hear(encounters, "zorblat three")

    encounters.settle([("zorblat", SoasRow(1, encounter_count=6))])  # one of the two was counted elsewhere

    row = encounters.cache.soas_by_token["zorblat"]
    assert row.encounter_count == 7
    assert row.saliency == saliency(7)
    assert row.last_seen == NOW


def test_what_finds_no_room_is_dropped_and_counted() -> None:
    encounters = Encounters(Cache())
    reading = Reader(Cache()).read(Message("user", "zorblat"))
    reading.size = READINGS_MAX + 1

    encounters.observe(ONE, [(Message("user", "zorblat"), reading)], NOW)

    assert (encounters.dropped, encounters.pending()) == (1, 0)


def test_a_message_that_cannot_be_learned_from_holds_up_no_other(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    encounters = Encounters(Cache())

    def complete(cache: Cache, reading: Reading) -> Reading:
        if "poison" in reading.words:
            raise ValueError(reading.words)
        return reading

    monkeypatch.setattr("memory.encounters.complete", complete)
    hear(encounters, "poison", "zorblat")
    asyncio.run(encounters.learn())

    assert encounters.take().named["zorblat"] == 1
    assert [record.message for record in caplog.records] == ["learn.failed"]
