"""Reading messages: what is remembered, and what is left for the next time."""

import tracemalloc
from collections.abc import Callable
from math import inf

import pytest

from memory import bounds
from memory.cache.state import Cache
from memory.english.tokenizer import find_known_words, find_words, tokenise
from memory.english.unicode import normal_text
from memory.learning import reader
from memory.learning.reader import (
    AT_ONCE_SENTENCES_MAX,
    CUE_SENTENCES_MAX,
    MARKED_TEXT_MAX,
    TOO_MANY_STATEMENTS,
    FullReading,
    Reader,
    Reading,
    find_hidden,
    find_stated,
    find_statements,
    read_all,
    remove_recollections,
)
from memory.secrets.redaction import mask_secrets
from memory.types import EdgeRow, Message, SoasRow
from tests.fresh_process import call_in_fresh_process
from tests.steps import count_steps


def read_within(reader: Reader, messages: list[Message], characters: int, seconds: float = 10) -> list[bool]:
    """Return the messages that were read."""
    return [r is not None for r in reader.read_within(messages, characters, seconds)][::-1]


def test_a_resent_message_is_read_once() -> None:
    reader = Reader(Cache())

    first = reader.read(Message("user", "restart zorblat"))

    assert reader.read(Message("user", "restart zorblat")) is first
    assert reader.read(Message("tool", "restart zorblat")) is not first


def test_an_ordinary_word_that_opens_a_sentence_is_no_part_of_the_name_after_it() -> None:
    cache = Cache()
    for number, word in enumerate(("deploy", "start", "glitch", "university"), start=1):
        cache.put_soas(word, SoasRow(number, is_common=True))
    said = "Deploy Kvasir to tyr. Start Kiox 300 now. Glitch University is big. Restart Zorblat."

    read = read_all(cache, "user", said)

    assert read.names - read.parts == {
        "kvasir", "to", "tyr", "kiox_300", "now", "glitch_university", "is", "big", "restart", "zorblat",
    }  # fmt: skip


def test_a_common_word_is_a_name_once_a_fact_is_known_about_it() -> None:
    cache = Cache()
    cache.put_soas("mercury", SoasRow(1, is_common=True))
    reader = Reader(cache)
    assert reader.read(Message("user", "the mercury rises")).names == set()

    cache.put_soas("mercury", SoasRow(1, is_common=True, novelty=1))

    assert reader.read(Message("user", "the mercury rises")).names == {"mercury"}


@pytest.mark.parametrize("said", ["restart Zorblat-Nine now", "restart zorblat_nine now", "é, restart Zorblat-Nine"])
def test_a_message_names_what_became_salient_since_it_was_read(said: str) -> None:
    cache = Cache()
    reader = Reader(cache)
    other = reader.read(Message("user", "restart kvasir now"))
    assert reader.read(Message("user", said)).names == set()

    [name] = {token.text for token in tokenise(said)} - {"restart", "now", "é"}
    cache.put_soas(name, SoasRow(1, novelty=1))

    assert reader.read(Message("user", said)).names == {name}
    assert reader.read(Message("user", "restart kvasir now")) is other
    assert other.names == set()

    cache.soas_by_token["kvasir"] = SoasRow(2, novelty=1)  # as a load puts it there
    cache.loaded_at = 2.0

    assert reader.read(Message("user", "restart kvasir now")).names == {"kvasir"}


def test_the_parts_of_a_compound_are_names_apart() -> None:
    read = read_all(Cache(), "user", "ask the Mercury Gateway, gateway")

    assert read.names == {"ask", "the", "mercury_gateway", "mercury", "gateway"}
    assert read.parts == {"mercury"}


def test_of_a_long_envelope_the_beginning_of_what_it_carries_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reader, "NEW_TEXT_MAX", 1_000)
    text = '{"tool_name": "shell", "tool_result": "zorblat is up. ' + "word " * 400 + 'winky"}'

    reading = Reader(Cache()).read(Message("user", text))

    assert (reading.role, set(reading.text.split())) == ("tool", {"zorblat", "is", "up.", "word"})


def test_festingers_own_blocks_are_not_read_again() -> None:
    text = "before <recollection>\ngnommoweb: [type] repo\n</recollection> after"

    assert remove_recollections(text).split() == ["before", "after"]


def test_an_unclosed_block_is_left_as_it_is() -> None:
    assert remove_recollections("a <recollection> b") == "a <recollection> b"


def test_a_text_that_stands_twice_in_a_request_is_read_and_weighed_once() -> None:
    reader = Reader(Cache())
    said = [Message("user", "restart zorblat")] * 3

    assert read_within(reader, said, characters=20) == [True, True, True]
    assert reader.bytes == sum(reading.size for reading in reader._readings.values())


# --- the allowance ---


def test_the_newest_text_is_read_first() -> None:
    said = [Message("user", f"message {i} " + "x" * 90) for i in range(5)]

    assert read_within(Reader(Cache()), said, characters=250) == [False, False, False, True, True]


def test_what_was_left_is_read_when_it_is_sent_again() -> None:
    said = [Message("user", f"message {i} " + "x" * 90) for i in range(5)]
    reader = Reader(Cache())
    read_within(reader, said, characters=250)

    assert read_within(reader, said, characters=250) == [False, True, True, True, True]
    assert read_within(reader, said, characters=250) == [True] * 5


def test_when_the_time_is_over_only_the_newest_message_is_read() -> None:
    reader = Reader(Cache())
    before, new, newest = Message("user", "restart zorblat"), Message("user", "new"), Message("user", "newest")
    reader.read(before)

    assert read_within(reader, [before, new, newest], characters=10_000, seconds=-1) == [True, False, True]


def test_of_one_message_no_more_is_read_than_of_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "NEW_TEXT_MAX", 1_000)
    reading = Reader(Cache())
    long = Message("user", "first " + "x " * 1_000 + "last")

    assert read_within(reading, [long], characters=1_000) == [True]
    assert reading.read(long).text == long.text[:1_000]


@pytest.mark.parametrize(
    ("is_known", "sentences_max"), [(True, CUE_SENTENCES_MAX), (False, AT_ONCE_SENTENCES_MAX)], ids=["known", "asked"]
)
def test_of_a_message_full_of_statements_the_first_are_compared(is_known: bool, sentences_max: int) -> None:
    text = "\n".join(f"zorblat{i:04} is a repo." for i in range(1_000))  # sentences of 22 characters

    assert len(state(text, concept="zorblat0000" if is_known else "")) == sentences_max // 22


def test_a_sentence_without_end_is_not_read() -> None:
    text = "zorblat is a repo " * 1_000

    assert state(text) == []


def test_of_text_that_takes_long_less_is_read() -> None:
    text = "first " + "q\u0323\u0307 " * MARKED_TEXT_MAX + "last"

    assert Reader(Cache()).read(Message("user", text)).text == text[:MARKED_TEXT_MAX]


def knowing(text: str, *, concept: str = "") -> Cache:
    """A cache to which all words of the text are of interest; of the ``concept`` there is a fact."""
    cache = Cache()
    for number, token in enumerate(find_words(text).tokens, 1):
        cache.put_soas(token, SoasRow(number))
    if concept:
        cache.put_edges(cache.soas_by_token[concept].id, [EdgeRow(cache.soas_by_token[concept].id, 2, 3, True)])
    return cache


def state(text: str, *, concept: str = "") -> list[str]:
    """The subjects of the statements that a prompt waits for."""
    cache = knowing(text, concept=concept)
    reading = Reader(cache).read(Message("user", text))
    return [triple.subject for triple in find_statements(cache, reading, cache.soas_by_token.keys())]


# --- what the sender does not wait for ---


def first_sight(cache: Cache, text: str) -> Reading:
    message = Message("user", text)
    [reading] = Reader(cache).read_within([message], 100, inf)
    assert reading is not None
    return reading


def whole(cache: Cache, text: str) -> FullReading:
    return read_all(cache, "user", text)


def test_at_first_sight_only_known_words_are_read() -> None:
    cache = Cache()
    cache.put_soas("zorblat", SoasRow(1))

    assert first_sight(cache, "restart zorblat, then kvasir").names == {"zorblat"}
    assert whole(cache, "restart zorblat, then kvasir").names == {"restart", "zorblat", "then", "kvasir"}


def test_statements_about_concepts_with_facts_are_read_at_once() -> None:
    cache = Cache()
    for number, word in enumerate(("zorblat", "repo", "type", "kvasir"), 1):
        cache.put_soas(word, SoasRow(number))
    cache.put_edges(1, [EdgeRow(1, 2, 3, True)])

    assert [triple.subject for triple in first_sight(cache, "zorblat is a service").triples] == ["zorblat"]
    later = first_sight(cache, "kvasir is a service")
    assert later.triples is None
    assert find_statements(cache, later, {"zorblat"}) == ()
    assert find_stated(cache, [later], {"kvasir", "zorblat"}) == {"kvasir"}
    assert [triple.subject for triple in whole(cache, "kvasir is a service").triples] == ["kvasir"]


def test_what_stands_in_a_secret_is_no_word_and_states_nothing() -> None:
    cache = Cache()
    for number, word in enumerate(("hunter2", "zorblat", "repo", "type"), 1):
        cache.put_soas(word, SoasRow(number))
    cache.put_edges(2, [EdgeRow(2, 3, 4, True)])
    said = (
        "zorblat is a repo. The password for zorblat is hunter2.\nDB_PASS=swordfish\nzorblat is a tool-2; token: tool-2"
    )

    for text in (said, mask_secrets(said)):
        read = whole(cache, text)
        assert read.words == {"zorblat", "is", "a", "repo", "the", "password", "for", "db_pass", "tool-2", "token"}
        assert {text[triple.start : triple.end] for triple in read.triples} == {
            "zorblat is a repo",
            "zorblat is a tool-2",
        }
    reading = first_sight(cache, said)
    for _ in range(2):  # it is found out once
        assert find_hidden([reading], {"hunter2", "zorblat"}) == {"hunter2"}
        assert find_hidden([reading, first_sight(cache, "ask hunter2")], {"hunter2"}) == set()


def test_secrets_are_looked_for_as_far_as_names_are() -> None:
    texts = [f"zorblat {'password from ' * count}" for count in (600, 4_000)]
    readings = [Reader(knowing("zorblat")).read(Message("user", text)) for text in texts]

    short, long = (count_steps(find_hidden, [reading], {"zorblat"}) for reading in readings)

    assert 100 < long < 1.1 * short


@pytest.mark.parametrize(
    "text",
    [
        " ".join(f"{number:x}zq" for number in range(3_000)),
        " ".join(f"ask A{number:x}zq B{number:x}zq," for number in range(2_000)),
        "gnommoweb is a repo of Zorblat. " * 100,
        " ".join(f"Q{number}" * 20 for number in range(300)),
    ],
    ids=lambda text: text[:12],
)
def test_readings_take_what_is_accounted_for(text: str) -> None:
    taken, accounted_for = call_in_fresh_process(measure_readings, text)

    assert taken < 1.3 * accounted_for + 50_000
    assert accounted_for < 3 * taken + 50_000


def measure_readings(text: str) -> tuple[int, int]:
    """In bytes: what three readings take, and what is accounted for."""
    Reader(Cache()).read(Message("user", text))  # what is remembered of words has bounds of its own
    cache = Cache()
    for number, word in enumerate(find_words(text).tokens, 1):
        cache.put_soas(word, SoasRow(number))
    reader = Reader(cache)

    def read() -> None:
        for number in range(3):
            reader.read(Message("user", f"{text} {number}"))

    return measure_memory(read), reader.bytes


def measure_memory(work: Callable[[], object]) -> int:
    """In bytes: what remains of it."""
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    work()
    return tracemalloc.get_traced_memory()[0] - before


def test_of_a_message_full_of_statements_as_many_are_read_as_are_learned() -> None:
    own = " ".join(f"zorblat{number} is a repo." for number in range(300))
    quoted = "".join(f"> winky{number} is a repo.\n" for number in range(30))
    before = bounds.count_bites()[TOO_MANY_STATEMENTS.name]

    mine, others = (whole(Cache(), text).triples for text in (own, f"{quoted}\nkvasir is a service."))

    assert [triple.subject for triple in mine] == [f"zorblat{number}" for number in range(20)]
    assert (len(others), others[-1].subject) == (31, "kvasir")
    assert bounds.count_bites()[TOO_MANY_STATEMENTS.name] == before + 1


def test_long_words_and_names_leave_nothing_behind() -> None:
    assert call_in_fresh_process(measure_long_words) < 20_000


def measure_long_words() -> int:
    def read(number: int) -> None:
        long = f"{'x' * 50_000}{number}"
        find_words(f"{long} and {long.upper()} and {long}'s é")
        find_known_words(f"{long} and {long.upper()} it's {long}'s", {})
        tokenise(f"{'Abcdefgh ' * 3_000}{number}")
        normal_text.cache_clear()

    read(0)  # compiles the patterns, of which up to 300 kB remain
    return measure_memory(lambda: [read(number) for number in range(1, 21)])
