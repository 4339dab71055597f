"""What is said, written to a real Postgres."""

import asyncio
import time
from collections.abc import Callable
from itertools import count

import psycopg
import pytest
from memory.learning.episode_writer import EpisodeWriter, digest_episode

from memory.cache.state import Cache
from memory.domain.types import Message
from memory.learning import episode_writer
from memory.learning.extraction import NewMessage
from memory.learning.reader import Reader
from memory.semantic.domain.scope import Scope, Speaker

ALICE, BOB = Scope(Speaker("webui", "alice")), Scope(Speaker("webui", "bob"))
SAID = "We moved the billing database to Postgres 17 last week."
OPENING = b"1" * 16
AWAY = "postgresql://127.0.0.1:9/nothing"


def said(text: str = SAID, role: str = "user", *, is_dated: bool = True) -> NewMessage:
    reading = Reader(Cache()).read(Message(role, text))
    return NewMessage(OPENING + reading.digest, reading, text, "webui", time.time(), frozenset(), is_dated=is_dated)


class Writing:
    """A process that keeps what is said."""

    def __init__(self, dsn: str) -> None:
        self.dsn = dsn
        self.wakes = count()
        self.writer = EpisodeWriter(Cache(), dsn, lambda: next(self.wakes) and None)

    def keep(self, *heard: NewMessage, scope: Scope = ALICE) -> bool:
        async def run() -> bool:
            for message in heard:
                self.writer.keep(scope, message)
            stored = await self.writer.store()
            await self.writer._disconnect()
            return stored

        return asyncio.run(run())

    def rows(self, columns: str = "person, role, text") -> list[tuple[object, ...]]:
        with psycopg.connect(self.dsn) as client:
            return client.execute(f"SELECT {columns} FROM episode ORDER BY id").fetchall()

    def run(self, statement: str, *values: object) -> None:
        with psycopg.connect(self.dsn, autocommit=True) as client:
            client.execute(statement, values)


def test_what_is_said_is_kept_once_for_each_who_says_it(dsn: str) -> None:
    writing = Writing(dsn)

    assert writing.keep(said(), said(), said("The answer is to restart the server.", "assistant", is_dated=False))
    assert writing.keep(said(), scope=BOB)
    assert Writing(dsn).keep(said())  # another process, or this one after a restart

    assert writing.rows() == [
        ("alice", "user", SAID),
        ("alice", "assistant", "The answer is to restart the server."),
        ("bob", "user", SAID),
    ]
    assert writing.writer.stored == 3


def test_words_weigh_by_who_says_them(dsn: str) -> None:
    writing = Writing(dsn)

    writing.keep(said(f'{SAID} Bob: "Mimir runs on tyr"'), said(SAID, "assistant"))

    found = writing.rows(
        "ts_filter(lexemes, '{a}')::text, ts_filter(lexemes, '{d}')::text, ts_filter(lexemes, '{c}')::text"
    )
    assert [tuple("databas" in str(part) for part in row) for row in found] == [
        (True, False, False),
        (False, False, True),
    ]
    assert [tuple("mimir" in str(part) for part in row) for row in found] == [
        (False, True, False),
        (False, False, False),
    ]


def test_what_was_forgotten_or_said_before_it_was_kept_does_not_come_back(dsn: str) -> None:
    forgotten, before, new = said("Forget what I said about Bob."), said("Bob is about to leave us."), said()
    writing = Writing(dsn)
    writing.run("INSERT INTO forgotten_episode VALUES (%s)", digest_episode(forgotten.key, ALICE))
    writing.run("INSERT INTO seen_message (digest) VALUES (%s), (%s)", before.key, new.key)

    history = said("Bob is about to leave us.", is_dated=False)
    assert writing.keep(forgotten, history, new)

    assert writing.rows("text") == [(SAID,)]  # new also where another has said the same


def test_what_postgres_does_not_take_waits_and_then_is_dropped_and_counted(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(episode_writer, "WAITING_MAX", 2)
    writing = Writing(dsn)
    writing.writer._dsn = AWAY

    assert not writing.keep(*(said(f"Number {number}: {SAID}") for number in range(3)))
    assert (writing.writer.waiting, writing.writer.dropped) == (2, 1)

    writing.writer._dsn = dsn
    assert writing.keep()
    assert [str(text)[:9] for (text,) in writing.rows("text")] == ["Number 1:", "Number 2:"]


def test_one_that_postgres_refuses_does_not_keep_the_others(dsn: str) -> None:
    writing = Writing(dsn)

    async def run() -> None:
        writing.writer.keep(ALICE._replace(project=77), said("Somebody has deleted this project meanwhile."))
        writing.writer.keep(ALICE, said())
        assert await writing.writer.store()
        await writing.writer._disconnect()

    asyncio.run(run())

    assert (writing.rows("text"), writing.writer.dropped) == ([(SAID,)], 1)


def test_users_words_wake_the_workers(dsn: str) -> None:
    woken = asyncio.Event()
    wake: Callable[[], None] = woken.set

    async def run() -> None:
        loop = asyncio.get_running_loop()
        writer = EpisodeWriter(Cache(), dsn, lambda: loop.call_soon_threadsafe(wake) and None)
        task = asyncio.create_task(writer.run())
        writer.keep(ALICE, said())
        await asyncio.wait_for(woken.wait(), 10)
        task.cancel()
        await writer.write_last()

    asyncio.run(run())
