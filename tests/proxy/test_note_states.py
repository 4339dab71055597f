"""What a process has shown, beside a real Postgres in which it changes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from memory.cache.state import Cache
from memory.cache.sync import Coherence
from memory.memories.scope import Scope, Speaker
from memory.recall.block import Block, ShownNote
from memory.recall.recollect import still_holds
from memory.recall.speakers_graph import SpeakersGraph
from memory.types import NoteKey
from proxy.prompts.blocks import Blocks, Version
from proxy.prompts.note_states import STANDING, NoteFollower
from tests import waiting

TEA = "INSERT INTO memory (id, text, agent, source) VALUES (%s, 'The user likes tea.', 'dobby', 'stated')"
MET = """
    INSERT INTO episode (id, digest, conversation, agent, role, text, lexemes, said_at)
    VALUES (%s, sha256(%s::text::bytea), '\\x00112233445566778899aabbccddeeff', 'dobby', 'user', 'We met.', '', now())
"""
LIKES, SAID = ShownNote("memory", 1, "The user likes tea."), ShownNote("episode", 2, "We met.", "2026-03-04")
OLD = ShownNote("memory", 9, "The user likes milk.")


def holds(cache: Cache, note: ShownNote) -> bool:
    return still_holds(SpeakersGraph(cache), Block("block", notes=(note,)), 2.0)


@asynccontextmanager
async def following(dsn: str) -> AsyncIterator[tuple[Cache, psycopg.AsyncConnection]]:
    """A process that shows three notes, one of which is gone when it starts, and a client that changes the others."""
    cache, blocks = Cache(), Blocks()
    blocks.begin(bytes(16), Version(Block("block", notes=(LIKES, SAID, OLD)), 1.0))
    coherence = Coherence(cache, dsn)
    for kind in STANDING:
        coherence.follow(kind, NoteFollower(cache, blocks, kind))
    async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as client:
        await client.execute(TEA, [LIKES.id])
        await client.execute(MET, [SAID.id, SAID.id])
        task = asyncio.create_task(coherence.run())
        try:
            await asyncio.wait_for(coherence.tried.wait(), 5)
            yield cache, client
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def test_what_changed_while_nobody_followed_is_known_from_the_start(dsn: str) -> None:
    async def run() -> None:
        async with following(dsn) as (cache, _):
            assert [holds(cache, note) for note in (LIKES, SAID, OLD)] == [True, True, False]

    asyncio.run(run())


def test_what_is_disputed_superseded_or_forgotten_holds_no_more_in_any_process(dsn: str) -> None:
    async def run() -> None:
        async with following(dsn) as (cache, client):
            await client.execute("UPDATE memory SET confidence = 0.4 WHERE id = 1")  # which no line shows
            await client.execute("UPDATE memory SET is_disputed = true WHERE id = 1")
            disputed = LIKES._replace(is_disputed=True)
            assert await waiting.eventually_here(lambda: holds(cache, disputed), within_s=5)
            assert not holds(cache, LIKES)

            await client.execute("UPDATE memory SET status = 'superseded', archived_at = now() WHERE id = 1")
            await client.execute("DELETE FROM episode WHERE id = 2")
            for note in (LIKES, SAID):
                assert await waiting.eventually_here(
                    lambda key=note.key: cache.changed_notes.get(key, 0) is None, within_s=5
                )

    asyncio.run(run())


@pytest.mark.parametrize(
    "move",
    [
        "UPDATE memory SET category = 'preference' WHERE id = 1",
        "WITH other AS (INSERT INTO project (slug, name) VALUES ('apollo', 'Apollo') RETURNING id)"
        " UPDATE memory SET project_id = other.id FROM other WHERE memory.id = 1",
    ],
)
def test_a_memory_that_is_now_others_leaves_the_blocks_of_those_who_had_it(dsn: str, move: str) -> None:
    async def run() -> None:
        async with following(dsn) as (cache, client):
            given = LIKES._replace(owner=Scope(Speaker("dobby")).number_owner("other"))
            assert holds(cache, given)

            await client.execute(move)

            assert await waiting.eventually_here(lambda: not holds(cache, given), within_s=5)
            assert cache.changed_notes[LIKES.key] is not None

    asyncio.run(run())


def test_more_changes_than_are_announced_one_by_one_are_looked_up(dsn: str) -> None:
    async def run() -> None:
        async with following(dsn) as (cache, client):
            await client.execute(
                "INSERT INTO episode (id, digest, conversation, agent, role, text, lexemes, said_at) SELECT n,"
                " sha256(n::text::bytea), conversation, agent, role, text, lexemes, said_at"
                " FROM episode, generate_series(3, 2010) AS n WHERE id = 2"
            )
            await client.execute("DELETE FROM episode")

            assert await waiting.eventually_here(lambda: cache.changed_notes[SAID.key] is None, within_s=5)
            assert NoteKey("episode", 100) not in cache.changed_notes

    asyncio.run(run())
