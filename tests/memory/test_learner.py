"""What a worker learns from new messages, written to a real Postgres."""

import asyncio
import logging
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from memory import bounds
from memory.cache.loader import refresh_soas
from memory.cache.state import Cache
from memory.db.connections import Connection, open_connection
from memory.db.leases import RETRY_AFTER
from memory.graph.saliency import DAY
from memory.graph.statement import Statement
from memory.graph.store import ensure_tokens
from memory.learning import learner, vocabulary
from memory.learning import messages as messages_module
from memory.learning.encounters import Encounters
from memory.learning.learner import Learner
from memory.learning.message_table import MessageTable
from memory.learning.messages import NewMessage
from memory.learning.reader import FullReading, digest_message, read_all
from memory.learning.vocabulary import NEW_WORDS, NO_ROOM, WORDS_A_STATEMENT
from memory.memories.scope import Scope, Speaker
from memory.questions import evidence
from memory.types import Message, TripleIds
from tests.arrange import learn

ONE, OTHER = b"1" * 16, b"2" * 16  # openings of conversations


def say(
    *texts: str,
    opening: bytes = ONE,
    role: str = "user",
    agent: str = "dobby",
    now: float | None = None,
    scope: Scope | None = None,
) -> list[NewMessage]:
    """As a process that has just started hands them over."""
    heard: list[NewMessage] = []
    messages = [Message(role, text) for text in texts]
    digests, unread = list(map(digest_message, messages)), [None] * len(messages)
    encounters = Encounters(Cache(), heard.append)
    encounters.note(encounters.find_new(opening, messages, unread, digests, now or time.time(), agent, scope=scope))
    return heard


async def put(dsn: str, messages: Iterable[NewMessage]) -> None:
    """Into their table."""
    table = MessageTable(dsn)
    try:
        stored = await table.insert(list(messages))
        assert stored.refused == 0
    finally:
        await table.connection.close()


def teach(dsn: str, *texts: str, **manner: Any) -> int:
    """From how many messages a worker has learned that has just started."""

    async def run() -> int:
        await put(dsn, say(*texts, **manner))
        return await learn(dsn)

    return asyncio.run(run())


def rows(dsn: str, query: str, *values: object) -> list[tuple[Any, ...]]:
    with psycopg.connect(dsn) as client:
        return client.execute(query, values).fetchall()


def run(dsn: str, statement: str, *values: object) -> None:
    with psycopg.connect(dsn) as client:
        client.execute(statement, values)


def set_config(dsn: str, key: str, value: int) -> None:
    run(dsn, "INSERT INTO config (key, value, updated_at) VALUES (%s, %s, now())", key, str(value))


def stored(dsn: str) -> dict[str, int]:
    return dict(rows(dsn, "SELECT token, encounter_count FROM soas"))


def waiting(dsn: str) -> int:
    [(number,)] = rows(dsn, "SELECT count(*) FROM heard_message")
    return int(number)


def stated(dsn: str, order: str = "said_at") -> list[str]:
    query = f"SELECT parent FROM observation WHERE kind = 'triple' ORDER BY {order}"
    return [parent for (parent,) in rows(dsn, query)]


# --- what is counted ---


def test_the_words_of_a_message_are_counted_and_it_waits_no_longer(dsn: str) -> None:
    assert teach(dsn, "update gnommoweb to FastAPI") == 1

    assert stored(dsn) == {"update": 1, "gnommoweb": 1, "to": 1, "fastapi": 1}
    assert waiting(dsn) == 0


def test_a_message_that_is_seen_by_now_teaches_nothing(dsn: str) -> None:
    """A message of which another row was learned from meanwhile."""
    [message] = say("Zorblat ISA repo.")
    asyncio.run(put(dsn, [message]))
    run(dsn, "INSERT INTO seen_message (digest) VALUES (%s)", message.key)

    assert asyncio.run(learn(dsn)) == 1

    assert (stored(dsn), stated(dsn), waiting(dsn)) == ({}, [], 0)


def test_what_two_say_in_the_same_words_teaches_once(dsn: str) -> None:
    async def scenario() -> int:
        for person in ("alice", "bob"):
            await put(dsn, say("Zorblat ISA repo.", scope=Scope(Speaker("webui", person))))
        return await learn(dsn)

    assert asyncio.run(scenario()) == 2

    assert stored(dsn)["zorblat"] == 1
    assert stated(dsn) == ["repo"]


def test_two_workers_at_once_learn_from_each_message_once(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learner, "BATCH", 3)

    async def scenario() -> list[int]:
        workers = [Learner(Cache(), dsn) for _ in range(2)]
        await put(dsn, say(*(f"zorblat {i}" for i in range(20))))
        first = await asyncio.gather(*(worker.learn() for worker in workers))
        await put(dsn, say(*(f"zorblat {i}" for i in range(40))))
        second = await asyncio.gather(*(worker.learn() for worker in workers))
        for worker in workers:
            await worker.close()
        return [sum(first), sum(second)]

    assert asyncio.run(scenario()) == [20, 20]

    assert stored(dsn)["zorblat"] == 40
    assert waiting(dsn) == 0


def test_a_worker_that_is_told_again_while_it_learns_goes_on(dsn: str) -> None:
    later = say("zorblat 2")

    class ToldAgain(Learner):
        async def _learn_batch(self, connection: Connection) -> int:
            learned = await super()._learn_batch(connection)
            if not learned and later:  # it has looked for the last time
                await put(dsn, [later.pop()])
                assert await self.learn() == 0
            return learned

    async def scenario() -> int:
        worker = ToldAgain(Cache(), dsn)
        await put(dsn, say("zorblat 1"))
        learned = await worker.learn()
        await worker.close()
        return learned

    assert asyncio.run(scenario()) == 2

    assert stored(dsn)["zorblat"] == 2


def test_what_a_clock_puts_into_the_future_is_now(dsn: str) -> None:
    run(dsn, ZORBLAT)

    teach(dsn, "Zorblat ISA repo.", now=time.time() + 10 * 365 * DAY)

    times = {"seen_message": "last_seen", "soas": "last_seen", "observation": "said_at", "evidence": "said_at"}
    for table, column in times.items():
        past = f"SELECT bool_and({column} BETWEEN now() - interval '1 hour' AND now()) FROM {table}"
        assert rows(dsn, past) == [(True,)]


# --- what fails ---


def test_what_a_worker_lost_with_its_connection_is_learned_once_it_has_another(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learner, "BATCH", 2)
    confirm, turns = learner.confirm, count(1)

    async def lose(connection: Connection, confirmed: Mapping[TripleIds, float]) -> None:
        await confirm(connection, confirmed)
        if next(turns) == 2:
            await connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")

    monkeypatch.setattr(learner, "confirm", lose)
    run(dsn, ZORBLAT)

    def learned() -> list[tuple[Any, ...]]:
        tables = "seen_message", "observation", "evidence WHERE concept_id = soas.id"
        counts = ", ".join(f"(SELECT count(*) FROM {table})" for table in tables)
        return rows(dsn, f"SELECT encounter_count, {counts} FROM soas WHERE token = 'zorblat'")

    async def scenario() -> None:
        await put(dsn, say(*(f"Zorblat ISA repo{number}." for number in range(5))))
        worker = Learner(Cache(), dsn)
        with pytest.raises(psycopg.OperationalError):
            await worker.learn()

        assert learned() == [(9 + 2, 2, 2, 2)]
        assert rows(dsn, "SELECT count(*), max(attempts) FROM heard_message") == [(3, 0)]

        assert await worker.learn() == 3
        await worker.close()

    asyncio.run(scenario())

    assert learned() == [(9 + 5, 5, 5, 5)]


class OurMistake:
    """It cannot learn from what speaks of poison."""

    told = "ValueError: my]secret"

    def read(self, found: FullReading) -> FullReading:
        raise ValueError("my]secret")


class Refused:
    """Postgres does not take what it learns from what speaks of poison."""

    told = 'CheckViolation: new row for relation "soas" violates check constraint "soas_token_stays_in_its_alphabet"'

    def read(self, found: FullReading) -> FullReading:
        return replace(found, words=found.words | {"my]secret"})


@pytest.fixture(params=[OurMistake, Refused])
def failing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> OurMistake | Refused:
    failing: OurMistake | Refused = request.param()

    def read(cache: Cache, role: str, text: str) -> FullReading:
        found = read_all(cache, role, text)
        return failing.read(found) if "poison" in found.words else found

    monkeypatch.setattr(messages_module, "read_all", read)
    return failing


def test_a_bad_message_is_put_off_five_times_and_set_aside_while_the_others_are_learned(
    dsn: str, failing: OurMistake | Refused, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    pauses = [pause + timedelta(minutes=1) for pause in RETRY_AFTER]  # so long that none is over meanwhile
    monkeypatch.setattr(learner, "RETRY_AFTER", pauses)
    query = "SELECT attempts, next_attempt_at, last_error FROM heard_message"
    asyncio.run(put(dsn, say("zorblat 1", "zorblat poison", "zorblat 2")))

    for attempt, pause in enumerate((*pauses, None), 1):
        before = datetime.now(UTC)
        with caplog.at_level(logging.WARNING):
            assert teach(dsn, f"kvasir {attempt}") == (4 if attempt == 1 else 2)
        [(attempts, due, error)] = rows(dsn, query)

        assert (attempts, error) == (attempt, failing.told)
        assert {name: stored(dsn).get(name) for name in ("zorblat", "kvasir", "poison")} == {
            "zorblat": 2,
            "kvasir": attempt,
            "poison": None,
        }
        if pause is None:
            assert due is None
        else:
            assert timedelta() <= due - before - pause <= datetime.now(UTC) - before
            assert asyncio.run(learn(dsn)) == 0
            run(dsn, "UPDATE heard_message SET next_attempt_at = now()")

    assert asyncio.run(learn(dsn)) == 0
    assert [record.message for record in caplog.records] == ["messages.apart", "message.unread"] * 5
    # What Postgres complains about would quote what was said.
    is_ours = isinstance(failing, OurMistake)
    assert [bool(record.exc_info) for record in caplog.records] == [False, is_ours] * 5
    assert ("my]secret" in caplog.text) == is_ours


def test_the_log_names_the_requests_that_were_learned_from(dsn: str, caplog: pytest.LogCaptureFixture) -> None:
    asyncio.run(put(dsn, [message._replace(request="trace-7") for message in say("zorblat 1", "zorblat 2")]))

    with caplog.at_level(logging.INFO, "memory.learning.learner"):
        assert asyncio.run(learn(dsn)) == 2

    [line] = [vars(record) for record in caplog.records if record.message == "messages.learned"]
    assert (line["messages"], line["new"], line["requests"]) == (2, 2, "trace-7")


def test_what_was_put_off_was_said_when_it_was_said(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    extract_statements, fails = learner.extract_statements, [True, True]  # with the others, and alone

    def extract(cache: Cache, message: NewMessage) -> Iterator[Statement]:
        if "Docker" in message.text and fails:
            raise ValueError(fails.pop())
        return extract_statements(cache, message)

    monkeypatch.setattr(learner, "extract_statements", extract)

    teach(dsn, "Dobby runs on Docker.", "Dobby runs on Podman.")
    run(dsn, "UPDATE heard_message SET next_attempt_at = now()")
    asyncio.run(learn(dsn))

    assert stated(dsn, "id") == ["podman", "docker"]
    assert stated(dsn, "said_at") == ["docker", "podman"]


def test_a_sentence_that_postgres_refuses_costs_no_count(
    dsn: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    run(dsn, ZORBLAT)
    monkeypatch.setattr(evidence, "sentences_naming", lambda text, names: dict.fromkeys(names, ""))

    with caplog.at_level(logging.WARNING):
        teach(dsn, "zorblat")

    assert [record.message for record in caplog.records] == ["rows.refused"]
    assert stored(dsn) == {"zorblat": 10}


# --- what is stated ---


@pytest.mark.parametrize("batch", [1, 50])
def test_the_statements_of_one_speaker_keep_their_order(dsn: str, monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    monkeypatch.setattr(learner, "BATCH", batch)

    teach(dsn, "Dobby runs on Docker. Winky ISA worker.", "Zorblat ISA repo. Dobby runs on Podman.")
    teach(dsn, "Dobby runs on Kubernetes.")

    expected = ["docker", "worker", "repo", "podman", "kubernetes"]
    assert stated(dsn, "said_at") == stated(dsn, "id") == expected


# --- the vocabulary ---


def test_meeting_a_word_again_uses_up_no_id(dsn: str) -> None:
    for number in range(5):
        teach(dsn, "zorblat", opening=bytes([number]) * 16)
    teach(dsn, "kvasir")

    [(zorblat,), (kvasir,)] = rows(dsn, "SELECT id FROM soas ORDER BY id")
    assert kvasir == zorblat + 1


def words(count: int, prefix: str = "zorblat") -> str:
    return " ".join(f"{prefix}{number}" for number in range(count))


def test_many_words_that_rise_do_not_make_the_processes_load_everything(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vocabulary, "NEW_WORDS_MAX", 10_000)

    async def scenario() -> None:
        cache = Cache()
        async with open_connection(dsn, "test") as listener:
            await listener.execute("LISTEN festinger")
            for number in range(4):
                await put(dsn, say(words(3 * WORDS_A_STATEMENT), opening=bytes([number]) * 16))
                await learn(dsn)
            announced = [notify.payload async for notify in listener.notifies(timeout=0.5)]
            ids = [int(word) for payload in announced for word in payload.partition(":")[2].split(",")]
            await refresh_soas(cache, listener, ids)

        assert {payload.partition(":")[0] for payload in announced} == {"soas"}
        assert len(ids) == len(cache.soas_by_token) == 3 * WORDS_A_STATEMENT

    asyncio.run(scenario())


def test_a_message_brings_a_bounded_number_of_new_words_names_first(dsn: str) -> None:
    text = f"{words(8_000)}\nWe asked Gnommoweb, then Kvasir."

    teach(dsn, text)
    assert len(stored(dsn)) == 500
    assert {"gnommoweb", "kvasir"} < stored(dsn).keys()
    before = bounds.count_bites()[NEW_WORDS.name]
    # What is known counts as ever, and the next message brings more.
    teach(dsn, text, opening=OTHER)

    assert bounds.count_bites()[NEW_WORDS.name] == before + 1
    assert stored(dsn)["gnommoweb"] == 2
    assert len(stored(dsn)) == 1_000


def test_a_vocabulary_that_is_full_takes_no_new_words(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    teach(dsn, "zorblat")
    monkeypatch.setattr(vocabulary, "VOCABULARY_MAX", 10)
    run(dsn, "INSERT INTO soas (token) SELECT 'word' || n FROM generate_series(1, 9) AS n")
    before = bounds.count_bites()[NO_ROOM.name]

    teach(dsn, "zorblat, winky", "kvasir, dobby", opening=OTHER)

    assert bounds.count_bites()[NO_ROOM.name] == before + 1
    assert {word: stored(dsn).get(word) for word in ("zorblat", "winky", "kvasir")} == {
        "zorblat": 2,
        "winky": 1,
        "kvasir": None,
    }


def test_another_spelling_is_one_more_encounter_with_the_concept(dsn: str) -> None:
    ids = ensure_tokens(["gnommoweb", "gnommo"])
    run(
        dsn,
        "INSERT INTO alias (id, concept_id, channel, agent) VALUES (%s, %s, 'gutask', 'dobby')",
        ids["gnommo"],
        ids["gnommoweb"],
    )
    run(dsn, "UPDATE soas SET encounter_count = 8, saliency = 0.9 WHERE token = 'gnommoweb'")

    teach(dsn, "Gnommo runs.", "Gnommoweb, or Gnommo, runs.")

    assert {name: stored(dsn)[name] for name in ids} == {"gnommoweb": 10, "gnommo": 0}
    assert sentences(dsn) == [("gnommoweb", "Gnommo runs."), ("gnommoweb", "Gnommoweb, or Gnommo, runs.")]


class AnyText(TestCase):
    @given(st.text(max_size=200))
    def test_whatever_is_read_can_be_stored(self, text: str) -> None:
        tokens = read_all(Cache(), "user", text).words

        assert set(ensure_tokens(tokens)) == tokens


# --- evidence ---

ZORBLAT = "INSERT INTO soas (token, encounter_count, saliency) VALUES ('zorblat', 9, 0.95)"


def sentences(dsn: str) -> list[tuple[Any, ...]]:
    return rows(dsn, "SELECT token, sentence FROM evidence JOIN soas ON soas.id = concept_id ORDER BY said_at, token")


def sentences_about_zorblat(dsn: str) -> list[str]:
    return [sentence for token, sentence in sentences(dsn) if token == "zorblat"]


def test_the_newest_sentences_about_a_concept_are_kept(dsn: str) -> None:
    run(dsn, ZORBLAT)

    for numbers in (range(4), range(4, 12)):
        teach(dsn, *(f"Well. Zorblat runs {'x' * i}! Good." for i in numbers))

    assert sentences_about_zorblat(dsn) == [f"Zorblat runs {'x' * i}!" for i in range(7, 12)]


# --- concepts to be explained ---

CONCEPTS = "SELECT concept, state, role, agent FROM observation WHERE kind = 'concept' ORDER BY id"


def test_an_unknown_concept_is_explained_once_three_conversations_have_named_it_often(dsn: str) -> None:
    def hear(conversation: int, count: int) -> list[tuple[Any, ...]]:
        teach(dsn, *(f"ask zorblat {number}" for number in range(count)), opening=bytes([conversation]) * 16)
        return rows(dsn, CONCEPTS)

    assert hear(1, 20) == []
    assert hear(1, 22) == []  # the same one goes on
    assert hear(2, 1) == []
    assert hear(3, 1) == [("zorblat", "pending", "user", "dobby")]
    assert hear(4, 1) == [("zorblat", "pending", "user", "dobby")]

    # After what was said of it: a worker may ask at once.
    assert len(sentences_about_zorblat(dsn)) == 5


def test_a_conversation_in_which_users_speak_of_a_concept_counts_once(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learner, "BATCH", 2)
    query = "SELECT conversation_count, (SELECT count(*) FROM named_conversation) FROM soas WHERE token = 'zorblat'"

    def hear(*conversations: int) -> list[tuple[Any, ...]]:
        for conversation in conversations:
            texts = [f"ask zorblat {number}" for number in range(3)]
            asyncio.run(put(dsn, say(*texts, opening=bytes([conversation]) * 16)))
        asyncio.run(learn(dsn))
        return rows(dsn, query)

    teach(dsn, "Zorblat is mine.", role="assistant")
    assert rows(dsn, query) == [(0, 0)]
    assert hear(1) == [(1, 1)]
    teach(dsn, "ask zorblat again", opening=bytes([1]) * 16)
    assert rows(dsn, query) == [(1, 1)]
    assert hear(1, 2) == [(2, 2)]
    assert hear(3, 4) == [(3, 0)]  # which is enough to ask


def test_an_agent_has_so_many_concepts_explained_in_an_hour_and_strangers_are_one(dsn: str) -> None:
    for conversation in range(3):
        for agent in ("dobby", "eve@10.0.0.1", "mallory@10.0.0.2"):
            concepts = ". ".join(f"ask {word}" for word in words(15, prefix=f"zor{agent[:3]}").split())
            opening = bytes([conversation]) * 8 + agent[:8].encode().ljust(8)
            teach(dsn, *(f"{concepts}. {number}" for number in range(6)), opening=opening, agent=agent)

    by_agent = dict(
        rows(dsn, "SELECT split_part(agent, '@', 1), count(*) FROM observation WHERE kind = 'concept' GROUP BY 1")
    )
    assert by_agent.pop("dobby") == 15
    assert sum(by_agent.values()) == 20


# --- facts that are mentioned ---


@pytest.fixture
def gnommoweb(dsn: str) -> None:
    """It is a repo, which was confirmed two days ago."""
    ids = ensure_tokens(["gnommoweb", "repo", "type"])
    run(dsn, "INSERT INTO dimension (id, is_isa) VALUES (%s, true)", ids["type"])
    run(
        dsn,
        "INSERT INTO urd (id, parent_id, dim_id, is_isa, source, confidence, last_confirmed)"
        " VALUES (%s, %s, %s, true, 'gutask', 0.7, now() - interval '2 days')",
        *ids.values(),
    )


CONFIRMED = "SELECT last_confirmed > now() - interval '1 minute', confidence, agent FROM urd WHERE id <> parent_id"


@pytest.mark.usefixtures("gnommoweb")
def test_a_mention_moves_when_a_fact_was_confirmed_and_nothing_else(dsn: str) -> None:
    teach(dsn, "Clone the repo of gnommoweb.")

    assert rows(dsn, CONFIRMED) == [(True, 0.7, "")]


@pytest.mark.usefixtures("gnommoweb")
def test_a_mention_does_not_wait_for_who_is_placing_the_fact(dsn: str) -> None:
    async def scenario() -> int:
        await put(dsn, say("Clone the repo of gnommoweb."))
        async with asyncio.timeout(10):
            return await learn(dsn)

    with psycopg.connect(dsn) as other:
        other.execute("SELECT FROM urd FOR UPDATE")
        assert asyncio.run(scenario()) == 1

    assert rows(dsn, CONFIRMED) == [(False, 0.7, "")]
