"""Reading messages and counting what they name."""

from memory.cache import Cache
from memory.domain.messages import Message
from memory.domain.rows import SoasRow
from memory.learn import Encounters, Reader, without_recollections

NOW = 1_800_000_000.0


def counts(encounters: Encounters) -> dict[str, int]:
    return {token: tally.count for token, tally in encounters.take().met.items()}


def test_a_resent_message_is_read_once() -> None:
    reader = Reader(Cache())

    first = reader.read(Message("user", "restart zorblat"))

    assert reader.read(Message("user", "restart zorblat")) is first
    assert reader.read(Message("tool", "restart zorblat")) is not first


def test_a_resent_message_counts_once_in_its_conversation() -> None:
    cache = Cache(soas_by_token={"zorblat": SoasRow(1)}, soas_by_id={1: "zorblat"})
    encounters, reading = Encounters(cache), Reader(cache).read(Message("user", "zorblat zorblat"))

    for _ in range(3):
        encounters.observe(b"one", [reading], NOW)
    encounters.observe(b"other", [reading], NOW)

    assert cache.soas_by_token["zorblat"].encounter_count == 2
    assert counts(encounters) == {"zorblat": 2}


def test_a_new_word_in_four_messages_asks_to_be_flushed() -> None:
    cache = Cache()
    encounters, reader = Encounters(cache), Reader(cache)

    for i in range(4):
        assert not encounters.wanted.is_set()
        encounters.observe(b"", [reader.read(Message("user", f"zorblat {i}"))], NOW)

    assert encounters.wanted.is_set()


def test_a_common_word_stays_without_saliency() -> None:
    cache = Cache(soas_by_token={"the": SoasRow(1, novelty=1, is_common=True)}, soas_by_id={1: "the"})
    encounters, reader = Encounters(cache), Reader(cache)

    encounters.observe(b"", [reader.read(Message("user", f"the {i}")) for i in range(10)], NOW)

    assert cache.soas_by_token["the"].saliency == 0
    assert counts(encounters) == {"the": 10}


def test_what_could_not_be_written_is_kept() -> None:
    cache = Cache(soas_by_token={"known": SoasRow(1)}, soas_by_id={1: "known"})
    encounters, reader = Encounters(cache), Reader(cache)
    encounters.observe(b"", [reader.read(Message("user", "known zorblat"))], NOW)
    encounters.note_asked([1])
    batch = encounters.take()
    encounters.observe(b"", [reader.read(Message("user", "known zorblat again"))], NOW + 1)

    encounters.give_back(batch)

    batch = encounters.take()
    assert {token: tally.count for token, tally in batch.met.items()} == {"known": 2, "zorblat": 2, "again": 1}
    assert batch.met["zorblat"].last_seen == NOW + 1
    assert batch.asked == {1: 1}


def test_a_common_word_is_a_name_once_a_fact_is_known_about_it() -> None:
    cache = Cache()
    cache.put_soas("mercury", SoasRow(1, is_common=True))
    reader = Reader(cache)
    assert reader.read(Message("user", "the mercury rises")).names == {"the", "rises"}

    cache.put_soas("mercury", SoasRow(1, is_common=True, novelty=1))

    assert reader.read(Message("user", "the mercury rises")).names == {"the", "rises", "mercury"}


def test_an_envelope_is_read_as_what_it_carries() -> None:
    reading = Reader(Cache()).read(Message("user", '{"tool_name": "shell", "tool_result": "zorblat is up"}'))

    assert reading.role == "tool"
    assert "zorblat" in reading.words
    assert "tool_name" not in reading.words


def test_festingers_own_blocks_are_not_read_again() -> None:
    text = "before <recollection>\ngnommoweb: [type] repo\n</recollection> after"

    assert without_recollections(text).split() == ["before", "after"]


def test_an_unclosed_block_is_left_as_it_is() -> None:
    assert without_recollections("a <recollection> b") == "a <recollection> b"
