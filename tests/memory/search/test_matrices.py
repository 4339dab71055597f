"""The vectors that a server holds follow the database."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from memory import bounds
from memory.cache.state import Cache
from memory.cache.sync import Coherence
from memory.db.connections import fetch_rows
from memory.learning.heard import HeardMessage
from memory.learning.message_table import MessageTable
from memory.metrics import total
from memory.models import Config, Episode
from memory.search import matrices
from memory.search.searcher import IN_FLIGHT_MAX, Searcher
from memory.semantic.domain.scope import Scope, Speaker
from memory.semantic.vectors import builtin, queue, schema
from tests import waiting
from tests.memory.semantic.said import ANN, digest_of, said

COMPARED = "festinger_compared_searches_total"
BOB = Scope(Speaker("agent-zero", "bob"))
DATABASE = "We moved the billing database to Postgres 17 last week."
QUESTION = "which version has our billing database?"
eventually = partial(waiting.eventually_here, within_s=10.0)


@pytest.fixture
def followed(dsn: str, vectors: None, drop_vectors: None, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a database with vectors; slices are of two rows."""
    Config.objects.update_or_create(key="embedder", defaults={"value": "builtin"})
    monkeypatch.setattr(matrices, "SLICE", 2)
    builtin.load()
    return dsn


@asynccontextmanager
async def searching(dsn: str) -> AsyncIterator[Searcher]:
    """A searcher in a server that hears announcements."""
    searcher, coherence = Searcher(dsn), Coherence(Cache(), dsn)
    coherence.follow("episode_vector", searcher.matrices)
    tasks = [asyncio.create_task(part.run()) for part in (searcher, coherence)]
    try:
        assert await eventually(lambda: searcher.open_count == IN_FLIGHT_MAX and coherence.tried.is_set())
        yield searcher
    finally:
        for task in tasks:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks)


async def find(searcher: Searcher, scope: Scope = ANN) -> list[str]:
    found = await searcher.find_related(scope, [QUESTION], digest_of("now", 16), deadline_ms=2_000)
    assert found is not None
    return [each.text for each in found.lines]


async def hold(searcher: Searcher, scope: Scope, ids: list[int]) -> None:
    """Returns when the searcher holds the vectors of exactly these."""
    space = searcher._space
    assert space is not None

    def holds() -> bool:
        matrix = searcher.matrices.find(scope, space)
        return matrix is not None and sorted(matrix.ids.tolist()) == sorted(ids)

    assert await eventually(holds)


async def at_work(work: Callable[[], Any]) -> Any:
    """What a worker does meanwhile, over a connection that does not stay."""

    def run() -> Any:
        try:
            return work()
        finally:
            connection.close()

    return await sync_to_async(run)()


async def say(text: str, scope: Scope = ANN, **fields: Any) -> int:
    def run() -> int:
        episode = said(text, scope, **fields)
        queue.embed_due()
        return int(episode.pk)

    return int(await at_work(run))


def test_what_is_held_is_found_and_follows_what_is_said_and_forgotten(followed: str) -> None:
    async def run() -> None:
        first = [await say(text) for text in (DATABASE, "The cat sleeps.", "It rains in Bergen.")]
        await say("No idea.", role="assistant")
        await say(DATABASE, BOB)
        async with searching(followed) as searcher:
            assert await find(searcher) == [DATABASE]
            before = total(COMPARED)
            await hold(searcher, ANN, first)
            assert await find(searcher) == [DATABASE]
            assert total(COMPARED) == before + 1

            later = await say("The billing database has version 17.2 now.")
            await hold(searcher, ANN, [*first, later])
            assert sorted(await find(searcher)) == sorted([DATABASE, "The billing database has version 17.2 now."])

            await at_work(Episode.objects.filter(pk=first[0]).delete)
            await hold(searcher, ANN, [*first[1:], later])
            assert await find(searcher) == ["The billing database has version 17.2 now."]

    asyncio.run(run())


def test_what_came_since_is_found_before_it_is_announced(followed: str) -> None:
    async def run() -> None:
        first = await say("The cat sleeps.")
        async with searching(followed) as searcher:
            await hold(searcher, ANN, [first])
            matrix = searcher.matrices._held[ANN]
            await say("The payment store runs on version 17.")
            await eventually(lambda: len(searcher.matrices._held[ANN]) == 2)
            searcher.matrices._held[ANN] = matrix
            assert await find(searcher) == ["The payment store runs on version 17."]

    asyncio.run(run())


def test_what_another_embedder_made_is_dropped(followed: str) -> None:
    async def run() -> None:
        key = await say(DATABASE)
        async with searching(followed) as searcher:
            await hold(searcher, ANN, [key])
            await at_work(queue.embed_anew)
            await hold(searcher, ANN, [])

    asyncio.run(run())


def test_who_was_searched_for_long_ago_makes_room(followed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        await say(DATABASE)
        await say(DATABASE, BOB)
        async with searching(followed) as searcher:
            await find(searcher)
            assert await eventually(lambda: ANN in searcher.matrices._held)
            await find(searcher, BOB)
            assert await eventually(lambda: list(searcher.matrices._held) == [BOB])
            assert searcher.matrices.held_bytes <= matrices.BYTES_MAX

    monkeypatch.setattr(matrices, "BYTES_MAX", matrices.SCOPE_BYTES + 500)
    before = bounds.count_bites()[matrices.FULL.name]
    asyncio.run(run())
    assert bounds.count_bites()[matrices.FULL.name] == before + 1


def test_of_too_many_texts_hnsw_finds_the_nearest(followed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        ids = [await say(text) for text in (DATABASE, "The cat sleeps.", "It rains in Bergen.")]
        async with searching(followed) as searcher:
            await find(searcher)
            await hold(searcher, ANN, ids)
            before = total(COMPARED)
            assert await find(searcher) == [DATABASE]
            assert total(COMPARED) == before

    monkeypatch.setattr("memory.search.searcher.EXACT_MAX", 2)
    asyncio.run(run())


def test_each_change_of_vectors_is_announced(vectors: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'episode_vector_announce_%'")
        assert cursor.fetchone() == (4,)
    assert schema.has_tables()


def test_what_a_prompt_was_searched_with_is_the_vector_of_its_message(followed: str) -> None:
    async def run() -> None:
        await say("The cat sleeps.")
        async with searching(followed) as searcher:
            assert await find(searcher) == []
            table = MessageTable(followed, searcher.find_made)
            for text in (QUESTION, DATABASE):  # nobody has searched for the second
                key = digest_of("now", 16) + digest_of(text, 16)
                await table.insert([HeardMessage(key, "agent-zero", ANN, "user", text, time.time())])
            await table.close()
        made = await at_work(
            lambda: fetch_rows("SELECT text, vector::text FROM episode JOIN episode_vector USING (id)")
        )
        waits = await at_work(lambda: fetch_rows("SELECT text FROM episode JOIN pending_embedding ON row = id"))
        await at_work(embed_all_anew)
        anew = await at_work(
            lambda: fetch_rows("SELECT text, vector::text FROM episode JOIN episode_vector USING (id)")
        )

        assert (dict(made)[QUESTION], waits) == (dict(anew)[QUESTION], [(DATABASE,)])

    asyncio.run(run())


def embed_all_anew() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM episode_vector")
    queue.fill()
    queue.embed_due()
