"""What a server process notes beside new messages, written to a real Postgres."""

import asyncio
import logging
import time
from typing import Any

import psycopg
import pytest

from memory.cache.state import Cache
from memory.db import write_behind
from memory.graph.saliency import DAY
from memory.graph.store import ensure_tokens
from memory.learning.asked_and_seen import AskedAndSeen
from memory.learning.encounters import Encounters
from memory.learning.messages import NewMessage
from memory.learning.reader import digest_message
from memory.types import Message, SoasRow
from tests.waiting import eventually_here

AWAY = "postgresql://127.0.0.1:9/nothing"
KEY = b"k" * 32
FUTURE_S = 10 * 365 * DAY


def run(dsn: str, statement: str, *values: object) -> list[tuple[Any, ...]]:
    with psycopg.connect(dsn) as client:
        cursor = client.execute(statement, values)
        return [] if cursor.description is None else cursor.fetchall()


def asked(dsn: str) -> int:
    [(count,)] = run(dsn, "SELECT asked_count FROM soas WHERE token = 'zorblat'")
    return int(count)


def see(dsn: str, key: bytes = KEY) -> None:
    """Three days ago."""
    run(dsn, "INSERT INTO seen_message (digest, last_seen) VALUES (%s, now() - interval '3 days')", key)


def is_seen_lately(dsn: str) -> bool:
    [(is_lately,)] = run(dsn, "SELECT last_seen BETWEEN now() - interval '1 hour' AND now() FROM seen_message")
    return bool(is_lately)


@pytest.fixture
def zorblat(dsn: str) -> SoasRow:
    return SoasRow(ensure_tokens(["zorblat"])["zorblat"])


def keeper(dsn: str, *rows: SoasRow) -> AskedAndSeen:
    return AskedAndSeen(Cache(soas_by_token=dict(zip(["zorblat"], rows, strict=False))), dsn)


def test_a_question_counts_at_once_here_and_in_the_table_once_it_is_written(dsn: str, zorblat: SoasRow) -> None:
    process, now = keeper(dsn, zorblat), time.time()

    process.note_asked(["zorblat"], now)
    assert (zorblat.asked_count, zorblat.asked_at, asked(dsn)) == (1, now, 0)
    asyncio.run(process.write())

    assert asked(dsn) == 1


def test_a_question_that_two_processes_ask_within_a_minute_is_asked_once(dsn: str, zorblat: SoasRow) -> None:
    now = time.time()
    for at in (now - 300, now - 290, now):
        process = keeper(dsn, zorblat)
        process.note_asked(["zorblat"], at)
        asyncio.run(process.write())

    assert asked(dsn) == 2


def test_a_question_is_written_soon(dsn: str, zorblat: SoasRow) -> None:
    async def scenario() -> int:
        process = keeper(dsn, zorblat)
        running = asyncio.create_task(process.run())
        process.note_asked(["zorblat"], time.time())
        count = await eventually_here(lambda: asked(dsn), within_s=10)
        running.cancel()
        await asyncio.wait([running])
        return count

    assert asyncio.run(scenario()) == 1


def test_a_message_of_before_the_start_is_known_and_kept_for_longer_where_it_is_resent(dsn: str) -> None:
    message, opening = Message("user", "zorblat"), b"o" * 16
    see(dsn, opening + digest_message(message))
    heard: list[NewMessage] = []
    process = keeper(dsn)
    encounters = Encounters(Cache(), heard.append, process.note_resent)

    async def scenario() -> None:
        encounters.remember(await process.load_seen())
        said, now = [message, Message("assistant", "")], time.time()
        encounters.note(encounters.find_new(opening, said, [None, None], [*map(digest_message, said)], now))
        await process.write()

    asyncio.run(scenario())

    assert heard == []
    assert is_seen_lately(dsn)


def test_what_postgres_does_not_take_waits(dsn: str, zorblat: SoasRow, caplog: pytest.LogCaptureFixture) -> None:
    see(dsn)
    process, now = keeper(AWAY, zorblat), time.time()
    process.note_asked(["zorblat"], now)
    process.note_resent(KEY, now)

    with caplog.at_level(logging.WARNING):
        asyncio.run(process.write())
    process._dsn = dsn
    asyncio.run(process.write())

    assert [record.message for record in caplog.records] == ["asked.not_written"]
    assert asked(dsn) == 1
    assert is_seen_lately(dsn)
    assert not process.waiting


def test_without_postgres_a_process_starts_with_nothing_seen(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert asyncio.run(keeper(AWAY).load_seen()) == []

    assert [record.message for record in caplog.records] == ["seen.not_loaded"]


def test_what_a_clock_puts_into_the_future_is_now(dsn: str, zorblat: SoasRow) -> None:
    see(dsn)
    process, ahead = keeper(dsn, zorblat), time.time() + FUTURE_S
    process.note_asked(["zorblat"], ahead)
    process.note_resent(KEY, ahead)

    asyncio.run(process.write())

    assert run(dsn, "SELECT asked_at BETWEEN now() - interval '1 hour' AND now() FROM soas") == [(True,)]
    assert is_seen_lately(dsn)


LOCKED = "SELECT FROM soas WHERE token = 'zorblat' FOR UPDATE"
WAITS = "SELECT FROM pg_stat_activity WHERE application_name = 'festinger asked' AND wait_event_type = 'Lock'"


def test_a_write_that_is_cut_off_when_the_server_stops_is_repeated(dsn: str, zorblat: SoasRow) -> None:
    async def scenario() -> None:
        process = keeper(dsn, zorblat)
        with psycopg.connect(dsn) as other:
            other.execute(LOCKED)
            running = asyncio.create_task(process.run())
            process.note_asked(["zorblat"], time.time())
            assert await eventually_here(lambda: run(dsn, WAITS), within_s=10)
            running.cancel()
            await asyncio.wait([running])
        await process.write()

    asyncio.run(scenario())

    assert asked(dsn) == 1


def test_the_last_write_does_not_wait_for_ever(dsn: str, zorblat: SoasRow) -> None:
    async def scenario() -> None:
        process = keeper(dsn, zorblat)
        process.note_asked(["zorblat"], time.time())
        with psycopg.connect(dsn) as other:
            other.execute(LOCKED)
            async with asyncio.timeout(write_behind.WRITE_S / 2):
                await process.write(0.1)

    asyncio.run(scenario())


def test_an_idle_connection_is_closed_and_the_next_row_is_written(
    dsn: str, zorblat: SoasRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_behind, "IDLE_S", 0.05)
    count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'festinger asked'"

    async def scenario() -> None:
        process = keeper(dsn, zorblat)
        running = asyncio.create_task(process.run())
        for number in (1, 2):
            process.note_asked(["zorblat"], time.time() - 600 + 120 * number)
            assert await eventually_here(lambda number=number: asked(dsn) == number, within_s=10)  # type: ignore[misc]
            assert await eventually_here(lambda: run(dsn, count) == [(0,)], within_s=10)
        running.cancel()
        await asyncio.wait([running])

    asyncio.run(scenario())
