"""What a process counted, written to a real Postgres."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import psycopg
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from memory.cache import Cache
from memory.coherence import load
from memory.domain.messages import Message
from memory.flusher import Flusher
from memory.learn import Encounters, Reader
from memory.store import ensure_tokens


def flush(dsn: str, scenario: Callable[[Cache, Encounters, Flusher, Reader], Awaitable[None]]) -> Cache:
    async def run() -> Cache:
        cache = Cache()
        encounters = Encounters(cache)
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as client:
            await load(cache, client)
        await scenario(cache, encounters, Flusher(cache, encounters, dsn), Reader(cache))
        return cache

    return asyncio.run(run())


def stored(dsn: str) -> dict[str, int]:
    with psycopg.connect(dsn) as client:
        return dict(client.execute("SELECT token, encounter_count FROM soas").fetchall())


def test_after_one_flush_new_tokens_have_ids(dsn: str) -> None:
    async def scenario(cache: Cache, encounters: Encounters, flusher: Flusher, reader: Reader) -> None:
        encounters.observe(b"", [reader.read(Message("user", "update gnommoweb to FastAPI"))], time.time())
        await flusher.flush()

    cache = flush(dsn, scenario)

    assert stored(dsn) == {"update": 1, "gnommoweb": 1, "to": 1, "fastapi": 1}
    assert cache.soas_by_id[cache.soas_by_token["gnommoweb"].id] == "gnommoweb"


def test_counts_of_two_processes_add_up(dsn: str) -> None:
    async def scenario(cache: Cache, encounters: Encounters, flusher: Flusher, reader: Reader) -> None:
        other = Encounters(Cache())
        for i in range(3):
            reading = reader.read(Message("user", f"zorblat {i}"))
            encounters.observe(b"", [reading], time.time())
            other.observe(b"", [reading], time.time())
        await flusher.flush()
        await Flusher(Cache(), other, dsn).flush()
        encounters.observe(b"", [reader.read(Message("user", "zorblat again"))], time.time())
        await flusher.flush()

    flush(dsn, scenario)

    assert stored(dsn)["zorblat"] == 7


def test_a_flush_that_fails_loses_nothing(dsn: str) -> None:
    async def scenario(cache: Cache, encounters: Encounters, flusher: Flusher, reader: Reader) -> None:
        encounters.observe(b"", [reader.read(Message("user", "zorblat"))], time.time())
        await Flusher(cache, encounters, "host=/nowhere dbname=none").flush()
        await flusher.flush()

    flush(dsn, scenario)

    assert stored(dsn) == {"zorblat": 1}


def test_a_flush_under_way_is_finished_when_the_server_stops(dsn: str) -> None:
    async def scenario(cache: Cache, encounters: Encounters, flusher: Flusher, reader: Reader) -> None:
        encounters.observe(b"", [reader.read(Message("user", "zorblat"))], time.time())
        with psycopg.connect(dsn) as other:
            other.execute("SELECT pg_advisory_xact_lock(75, 0)")  # the flush waits for its turn
            encounters.wanted.set()
            task = asyncio.create_task(flusher.run())
            while encounters.pending():
                await asyncio.sleep(0.02)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await flusher.flush()

    flush(dsn, scenario)

    assert stored(dsn) == {"zorblat": 1}


def test_meeting_a_word_again_uses_up_no_id(dsn: str) -> None:
    async def scenario(cache: Cache, encounters: Encounters, flusher: Flusher, reader: Reader) -> None:
        for _ in range(5):
            encounters.observe(str(_).encode(), [reader.read(Message("user", "zorblat"))], time.time())
            await flusher.flush()
        encounters.observe(b"", [reader.read(Message("user", "kvasir"))], time.time())
        await flusher.flush()

    cache = flush(dsn, scenario)

    assert cache.soas_by_token["kvasir"].id == cache.soas_by_token["zorblat"].id + 1


class AnyText(TestCase):
    @hypothesis_settings(max_examples=60, deadline=None)
    @given(st.text(max_size=200))
    def test_whatever_is_read_can_be_stored(self, text: str) -> None:
        tokens = Reader(Cache()).read(Message("user", text)).words

        assert set(ensure_tokens(tokens)) == tokens
