"""What a process heard, written to a real Postgres."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from datetime import datetime
from functools import partial

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from memory.cache.loader import load_cache, refresh_soas
from memory.cache.state import Cache
from memory.db.connections import Connection, open_connection
from memory.domain.steps import finish
from memory.domain.types import Message, SoasRow
from memory.graph.store import ensure_tokens
from memory.learning.encounters import Encounters
from memory.learning.extraction import NewMessage
from memory.learning.flusher import Flusher
from memory.learning.reader import Reader
from memory.learning.vocabulary import NEW_WORDS, NO_ROOM, WORDS_A_STATEMENT, VocabularyWriter
from memory.settings.registry import Tuning

ONE, OTHER = b"1" * 16, b"2" * 16  # openings of conversations


class Process:
    """One server process, as far as it counts."""

    def __init__(self, dsn: str) -> None:
        self.cache = Cache()
        self.encounters = Encounters(self.cache)
        self.flusher = Flusher(self.cache, self.encounters, dsn)
        self._reader = Reader(self.cache)

    def hear(self, *texts: str, opening: bytes = ONE, role: str = "user") -> None:
        self.observe([Message(role, text) for text in texts], opening)

    def observe(self, said: list[Message], opening: bytes, agent: str = "dobby") -> None:
        read = [(message, self._reader.read(message)) for message in said]
        finish(self.encounters.observe(opening, read, time.time(), agent))

    async def start(self, dsn: str) -> None:
        async with open_connection(dsn, "test") as connection:
            await load_cache(self.cache, connection)
        await self.flusher.remember_seen()


Scenario = Callable[[Callable[[], Awaitable[Process]]], Awaitable[None]]


def play(dsn: str, scenario: Scenario) -> None:
    async def process() -> Process:
        started = Process(dsn)
        await started.start(dsn)
        return started

    asyncio.run(scenario(process))


def stored(dsn: str) -> dict[str, int]:
    with psycopg.connect(dsn) as client:
        return dict(client.execute("SELECT token, encounter_count FROM soas").fetchall())


def test_after_one_flush_new_tokens_have_ids(dsn: str) -> None:
    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        process = await start()
        process.hear("update gnommoweb to FastAPI")
        await process.flusher.flush()

        assert process.cache.soas_by_id[process.cache.soas_by_token["gnommoweb"].id] == "gnommoweb"

    play(dsn, scenario)

    assert stored(dsn) == {"update": 1, "gnommoweb": 1, "to": 1, "fastapi": 1}


def test_counts_of_two_processes_add_up(dsn: str) -> None:
    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        here, there = await start(), await start()
        here.hear("zorblat 1", "zorblat 2")
        there.hear("zorblat 3", opening=OTHER)
        await here.flusher.flush()
        await there.flusher.flush()
        here.hear("zorblat again")
        await here.flusher.flush()

        assert here.cache.soas_by_token["zorblat"].encounter_count == 4

    play(dsn, scenario)

    assert stored(dsn)["zorblat"] == 4


def test_a_message_that_two_processes_heard_counts_once(dsn: str) -> None:
    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        here, there = await start(), await start()
        for process in (here, there):
            process.hear("zorblat", "kvasir")
        await asyncio.gather(here.flusher.flush(), there.flusher.flush())

        for process in (here, there):
            assert process.cache.soas_by_token["zorblat"].encounter_count == 1

    play(dsn, scenario)

    assert stored(dsn) == {"zorblat": 1, "kvasir": 1}


def test_a_history_resent_after_a_restart_counts_nothing(dsn: str) -> None:
    history = [f"zorblat {i}" for i in range(30)]

    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        process = await start()
        process.hear(*history)
        await process.flusher.flush()
        restarted = await start()
        restarted.hear(*history)

        assert restarted.encounters.pending() == 0

    play(dsn, scenario)

    assert stored(dsn)["zorblat"] == 30


def test_a_flush_of_which_nobody_knows_whether_it_was_written_counts_once(dsn: str) -> None:
    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        process = await start()
        process.hear("zorblat")
        await process.encounters.learn()
        batch = process.encounters.take()
        await process.flusher._write(batch)
        process.encounters.give_back(batch)
        await process.flusher.flush()

        assert process.cache.soas_by_token["zorblat"].encounter_count == 1

    play(dsn, scenario)

    assert stored(dsn) == {"zorblat": 1}


def test_a_flush_that_fails_loses_nothing(dsn: str) -> None:
    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        process = await start()
        process.hear("zorblat")
        await Flusher(process.cache, process.encounters, "host=/nowhere dbname=none").flush()
        await process.flusher.flush()

    play(dsn, scenario)

    assert stored(dsn) == {"zorblat": 1}


def test_a_message_is_counted_once_what_it_states_is_stored(dsn: str) -> None:
    counted_before: list[dict[str, int]] = []

    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        process = await start()

        async def store(is_stored: bool) -> bool:
            counted_before.append(stored(dsn))
            process.hear(f"kvasir {len(counted_before)}")  # came meanwhile, and nobody has learned from it
            return is_stored

        process.hear("zorblat is a repo")
        for is_stored in (False, True):
            flusher = Flusher(process.cache, process.encounters, dsn, partial(store, is_stored))
            await flusher.flush()
        assert process.encounters.pending() == 1
        assert stored(dsn) == {"zorblat": 1, "is": 1, "a": 1, "repo": 1, "kvasir": 1}
        assert process.cache.soas_by_token["kvasir"].encounter_count == 2
        await process.flusher.flush()

        assert stored(dsn)["kvasir"] == process.cache.soas_by_token["kvasir"].encounter_count == 2

    play(dsn, scenario)

    assert counted_before == [{}, {}]


def test_what_a_clock_puts_into_the_future_is_now(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        process = await start()
        monkeypatch.setattr(time, "time", lambda: datetime.now().timestamp() + 10 * 365 * 86_400)
        process.hear("zorblat")
        await process.flusher.flush()

    play(dsn, scenario)

    for table in ("seen_message", "soas"):
        assert rows(dsn, f"SELECT count(*) FROM {table} WHERE last_seen > now()") == [(0,)]


def test_a_flush_that_breaks_off_goes_on_where_it_was(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a long outage it can be more than Postgres takes in the time of one transaction."""
    monkeypatch.setattr("memory.learning.flusher.PORTION_BYTES", 1)
    turns = 0

    class Breaking(VocabularyWriter):
        async def count_words(self, connection: Connection, new: Iterable[NewMessage]) -> None:
            nonlocal turns
            turns += 1
            if turns == 3:
                raise TimeoutError
            await super().count_words(connection, new)

    monkeypatch.setattr("memory.learning.flusher.VocabularyWriter", Breaking)

    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        process = await start()
        process.hear(*(f"zorblat {i}" for i in range(5)))
        await process.flusher.flush()
        assert stored(dsn)["zorblat"] == 2
        await process.flusher.flush()

        assert process.cache.soas_by_token["zorblat"].encounter_count == 5

    play(dsn, scenario)

    assert stored(dsn)["zorblat"] == 5


def test_a_message_that_postgres_refuses_takes_no_other_along(dsn: str, caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        process = await start()
        process.hear(*(f"zorblat {number}" for number in range(9)))
        await process.encounters.learn()
        [bad] = [m.reading for m in process.encounters._batch.messages.values() if m.text == "zorblat 5"]
        bad.words = "zorblat my]secret"
        await process.flusher.flush()

        assert (process.encounters.dropped, process.encounters.pending()) == (1, 0)

    with caplog.at_level(logging.ERROR):
        play(dsn, scenario)

    assert stored(dsn) == {"zorblat": 8}
    [record] = caplog.records
    assert (record.message, record.exc_info) == ("flush.refused", None)
    assert "soas_token_stays_in_its_alphabet" in vars(record)["error"]
    assert "my]secret" not in caplog.text


def test_evidence_that_fails_costs_no_count(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object) -> None:
        raise ValueError

    monkeypatch.setattr("memory.learning.snippet_store.store_snippets", fail)

    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        process = await start()
        process.hear("zorblat")
        await process.flusher.flush()

        assert (process.encounters.pending(), process.encounters.dropped) == (0, 0)

    play(dsn, scenario)

    assert stored(dsn) == {"zorblat": 1}


def test_a_flush_under_way_is_finished_when_the_server_stops(dsn: str) -> None:
    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        process = await start()
        process.hear("zorblat")
        with psycopg.connect(dsn) as other:
            other.execute("SELECT pg_advisory_xact_lock(75, 0)")  # the flush waits for its turn
            process.encounters.wanted.set()
            task = asyncio.create_task(process.flusher.run())
            while process.encounters.pending():
                await asyncio.sleep(0.02)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await process.flusher.flush_last()

    play(dsn, scenario)

    assert stored(dsn) == {"zorblat": 1}


def test_the_last_flush_does_not_wait_for_ever(
    dsn: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("memory.learning.flusher.LAST_WRITE_S", 0.1)

    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        process = await start()
        process.hear("zorblat")
        with psycopg.connect(dsn) as other:
            other.execute("SELECT pg_advisory_xact_lock(75, 0)")
            await process.flusher.flush_last()

    with caplog.at_level(logging.ERROR):
        play(dsn, scenario)

    assert [record.message for record in caplog.records] == ["flush.lost"]


def test_meeting_a_word_again_uses_up_no_id(dsn: str) -> None:
    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        process = await start()
        for i in range(5):
            process.hear("zorblat", opening=bytes([i]) * 16)
            await process.flusher.flush()
        process.hear("kvasir")
        await process.flusher.flush()

        assert process.cache.soas_by_token["kvasir"].id == process.cache.soas_by_token["zorblat"].id + 1

    play(dsn, scenario)


def words(count: int, prefix: str = "zorblat") -> str:
    return " ".join(f"{prefix}{number}" for number in range(count))


def test_many_words_that_rise_do_not_make_the_other_processes_load_everything(dsn: str) -> None:
    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        process, other = await start(), await start()
        process.cache.tuning = replace(Tuning(), new_words_per_message_max=10_000)
        async with open_connection(dsn, "test") as listener:
            await listener.execute("LISTEN festinger")
            for number in range(4):
                process.hear(words(3 * WORDS_A_STATEMENT), opening=bytes([number]) * 16)
                await process.flusher.flush()
            announced = [notify.payload async for notify in listener.notifies(timeout=0.5)]
            ids = [int(word) for payload in announced for word in payload.partition(":")[2].split(",")]
            await refresh_soas(other.cache, listener, ids)

        assert {payload.partition(":")[0] for payload in announced} == {"soas"}
        assert len(ids) == len(other.cache.soas_by_token) == 3 * WORDS_A_STATEMENT

    play(dsn, scenario)


def test_a_message_brings_a_bounded_number_of_new_words_names_first(dsn: str) -> None:
    text = f"{words(8_000)}\nWe asked Gnommoweb, then Kvasir."

    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        process = await start()
        process.hear(text)
        await process.flusher.flush()
        assert len(stored(dsn)) == 500
        assert {"gnommoweb", "kvasir"} < stored(dsn).keys()
        before = NEW_WORDS.bites
        # What is known counts as ever, and the next message brings more.
        process.hear(text, opening=OTHER)
        await process.flusher.flush()

        assert NEW_WORDS.bites == before + 1
        assert stored(dsn)["gnommoweb"] == 2
        assert len(stored(dsn)) == 1_000

    play(dsn, scenario)


def test_a_vocabulary_that_is_full_takes_no_new_words(dsn: str) -> None:
    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        process = await start()
        process.hear("zorblat")
        await process.flusher.flush()
        full = await start()
        full.cache.tuning = replace(Tuning(), vocabulary_max=50_000)
        with psycopg.connect(dsn) as client:
            client.execute("INSERT INTO soas (token) SELECT 'word' || n FROM generate_series(1, 54998) AS n")
        before = NO_ROOM.bites
        full.hear("zorblat, winky", "kvasir, dobby", opening=OTHER)
        await full.flusher.flush()

        assert NO_ROOM.bites == before + 1

    play(dsn, scenario)

    assert {word: stored(dsn).get(word) for word in ("zorblat", "winky", "kvasir")} == {
        "zorblat": 2,
        "winky": 1,
        "kvasir": None,
    }


def test_a_process_keeps_a_bounded_number_of_words_that_nothing_is_known_of(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memory.cache.state.LATELY_MET_MAX", 10)

    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        process = await start()
        for number in range(3):
            process.hear(f"gnommoweb {words(20, prefix=f'w{number}x')}", opening=bytes([number]) * 16)
            await process.flusher.flush()
            assert len(process.cache.soas_by_token) == len(process.cache.lately_met) == 10
        # It rose unseen here, and is there from now on.
        process.hear("gnommoweb 4", "gnommoweb 5")
        await process.flusher.flush()
        process.hear(words(20, prefix="y"))
        await process.flusher.flush()

        assert process.cache.soas_by_token["gnommoweb"].encounter_count == 5
        assert len(process.cache.soas_by_token) == 11

    play(dsn, scenario)


def test_a_word_that_was_not_loaded_is_known_once_it_is_met_again(dsn: str) -> None:
    with psycopg.connect(dsn) as client:
        client.execute(
            "INSERT INTO soas (token, encounter_count, last_seen) VALUES ('zorblat', 1, now() - interval '91 days')"
        )

    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        process = await start()
        assert "zorblat" not in process.cache.soas_by_token
        process.hear("zorblat")
        await process.flusher.flush()

        assert process.cache.soas_by_token["zorblat"].encounter_count == 2

    play(dsn, scenario)


def test_a_question_is_asked_once_by_two_processes(dsn: str) -> None:
    [concept] = ensure_tokens(["zorblat"]).values()

    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        now = time.time()
        for process in (await start(), await start()):
            process.encounters.note_asked([SoasRow(concept)], now)
            await process.flusher.flush()

    play(dsn, scenario)

    with psycopg.connect(dsn) as client:
        assert client.execute("SELECT asked_count FROM soas WHERE token = 'zorblat'").fetchone() == (1,)


def test_a_message_seen_again_after_a_day_is_kept_for_longer(dsn: str) -> None:
    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        process = await start()
        process.hear("zorblat")
        await process.flusher.flush()
        with psycopg.connect(dsn) as client:
            client.execute("UPDATE seen_message SET last_seen = now() - interval '3 days'")
        restarted = await start()
        restarted.hear("zorblat")
        await restarted.flusher.flush()

    play(dsn, scenario)

    with psycopg.connect(dsn) as client:
        assert client.execute("SELECT now() - last_seen < interval '1 hour' FROM seen_message").fetchone() == (True,)
    assert stored(dsn) == {"zorblat": 1}


# --- evidence ---


def sentences(dsn: str) -> list[tuple[str, str]]:
    with psycopg.connect(dsn) as client:
        return client.execute(
            "SELECT token, sentence FROM evidence JOIN soas ON soas.id = concept_id ORDER BY said_at, token"
        ).fetchall()


ZORBLAT = "INSERT INTO soas (token, encounter_count, saliency) VALUES ('zorblat', 9, 0.95)"


def test_the_newest_sentences_about_a_concept_are_kept(dsn: str) -> None:
    with psycopg.connect(dsn) as client:
        client.execute(ZORBLAT)

    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        process = await start()
        for i in range(4):
            process.hear(f"Well. Zorblat runs {'x' * i}! Good.")
        await process.flusher.flush()
        for i in range(4, 12):
            process.hear(f"Well. Zorblat runs {'x' * i}! Good.")
        await process.flusher.flush()

    play(dsn, scenario)

    kept = [sentence for token, sentence in sentences(dsn) if token == "zorblat"]
    assert kept == [f"Zorblat runs {'x' * i}!" for i in range(7, 12)]


def test_a_word_that_just_came_up_needs_no_evidence_yet(dsn: str) -> None:
    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        process = await start()
        for i in range(6):
            process.hear(f"Zorblat runs {i}.")
            await process.flusher.flush()

    play(dsn, scenario)

    kept = [sentence for token, sentence in sentences(dsn) if token == "zorblat"]
    assert kept == [f"Zorblat runs {i}." for i in range(3, 6)]


def test_what_the_model_says_itself_is_no_evidence(dsn: str) -> None:
    with psycopg.connect(dsn) as client:
        client.execute(ZORBLAT)

    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        process = await start()
        process.hear("Zorblat is mine.", role="assistant")
        await process.flusher.flush()

    play(dsn, scenario)

    assert stored(dsn)["zorblat"] == 10
    assert sentences(dsn) == []


class AnyText(TestCase):
    @given(st.text(max_size=200))
    def test_whatever_is_read_can_be_stored(self, text: str) -> None:
        tokens = Reader(Cache()).read(Message("user", text)).words.split()

        assert set(ensure_tokens(tokens)) == set(tokens)


def rows(dsn: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(dsn) as connection:
        return connection.execute(query).fetchall()


CONCEPTS = "SELECT concept, state, role, agent FROM observation WHERE kind = 'concept' ORDER BY id"


def test_an_unknown_concept_is_explained_once_three_conversations_have_named_it_often(dsn: str) -> None:
    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        process = await start()

        async def hear(conversation: int, count: int) -> list[tuple[object, ...]]:
            process.hear(*(f"ask zorblat {number}" for number in range(count)), opening=bytes([conversation]) * 16)
            await process.flusher.flush()
            return rows(dsn, CONCEPTS)

        assert await hear(1, 20) == []
        assert await hear(1, 22) == []  # the same one goes on
        assert await hear(2, 1) == []
        assert await hear(3, 1) == [("zorblat", "pending", "user", "dobby")]
        assert await hear(4, 1) == [("zorblat", "pending", "user", "dobby")]

    play(dsn, scenario)

    # After what was said of it: a worker may ask at once.
    sentences = rows(dsn, "SELECT sentence FROM evidence JOIN soas ON soas.id = concept_id WHERE token = 'zorblat'")
    assert len(sentences) == 5


def test_an_agent_has_so_many_concepts_explained_in_an_hour_and_strangers_are_one(dsn: str) -> None:
    async def scenario(start: Callable[[], Awaitable[Process]]) -> None:
        process = await start()
        for conversation in range(3):
            for agent in ("dobby", "eve@10.0.0.1", "mallory@10.0.0.2"):
                concepts = ". ".join(f"ask {word}" for word in words(15, prefix=f"zor{agent[:3]}").split())
                turns = [Message("user", f"{concepts}. {number}") for number in range(6)]
                process.observe(turns, bytes([conversation]) * 8 + agent[:8].encode().ljust(8), agent)
            await process.flusher.flush()

    play(dsn, scenario)

    by_agent = dict(rows(dsn, "SELECT split_part(agent, '@', 1), count(*) FROM observation GROUP BY 1"))
    assert by_agent.pop("dobby") == 15
    assert sum(by_agent.values()) == 20


@pytest.mark.django_db(transaction=True)
def test_a_mention_moves_when_a_fact_was_confirmed_and_nothing_else(dsn: str) -> None:
    ids = ensure_tokens(["gnommoweb", "repo", "type"])
    concept, parent, dim = ids["gnommoweb"], ids["repo"], ids["type"]
    with psycopg.connect(dsn) as connection:
        connection.execute("INSERT INTO dimension (id, is_isa) VALUES (%s, true)", [dim])
        connection.execute(
            "INSERT INTO urd (id, parent_id, dim_id, is_isa, source, confidence, last_confirmed)"
            " VALUES (%s, %s, %s, true, 'gutask', 0.7, now() - interval '2 days')",
            [concept, parent, dim],
        )

    async def scenario(process: Callable[[], Awaitable[Process]]) -> None:
        one = await process()
        one.hear("Clone the repo of gnommoweb.")
        await one.flusher.flush()

    play(dsn, scenario)

    query = "SELECT last_confirmed > now() - interval '1 minute', confidence, agent FROM urd WHERE id <> parent_id"
    assert rows(dsn, query) == [(True, 0.7, "")]
