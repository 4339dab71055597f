"""The indexes that a server holds follow the database."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.db.models import F
from django.utils import timezone

from memory import bounds
from memory.attribution.forget_requests import Topic, TopicKind
from memory.cache.state import Cache
from memory.cache.sync import NAME as LISTENER
from memory.cache.sync import Coherence
from memory.channels import Channel
from memory.db.connections import fetch_rows
from memory.learning import setting_aside
from memory.learning.message_table import MessageTable
from memory.learning.messages import NewMessage
from memory.memories import store
from memory.memories.forgetting import ForgetScope, forget
from memory.memories.scope import Scope, Speaker
from memory.metrics import total
from memory.models import Config, Embedder, Episode, Memory, Project, PromptOpening
from memory.redaction import redact_episodes
from memory.search import held
from memory.search.held import Indexes
from memory.search.index import COLUMNS, Index
from memory.search.loading import read_index
from memory.search.searcher import INDEXED, LOAD_MS, Searcher
from memory.search.service import open_cursor
from memory.search.vectors import builtin, queue, schema
from memory.secrets.known import KnownSecret
from tests import waiting
from tests.memory.memories.said import ANN, START, digest_of, remembered, said
from tests.memory.test_setting_aside import carry_out, order_of

BOB = Scope(Speaker("agent-zero", "bob"))
DATABASE = "We moved the billing database to Postgres 17 last week."
VAULT = "The vault is in Oslo."
QUESTION = "which version has our billing database?"
BILLING = Topic(TopicKind.WORDS, "billing")
UNREACHABLE = "postgresql://nobody@127.0.0.1:1/none"
SOON_S = 1.0  # for what was committed to reach an index
eventually = partial(waiting.eventually_here, within_s=10.0)


@pytest.fixture
def followed(dsn: str, vectors: None, drop_vectors: None) -> str:
    """The address of a database with vectors."""
    Config.objects.update_or_create(key="embedder", defaults={"value": "builtin"})
    builtin.load()
    return dsn


@asynccontextmanager
async def serving(dsn: str) -> AsyncIterator[tuple[Searcher, Coherence]]:
    """The search in a server that hears announcements."""
    cache = Cache()
    searcher, coherence = Searcher(dsn, cache), Coherence(cache, dsn)
    for table, kind in INDEXED.items():
        coherence.follow(table, searcher.indexes.follower(kind))
    tasks = [asyncio.create_task(part.run()) for part in (searcher, coherence)]
    try:
        assert await eventually(lambda: coherence.tried.is_set() and bool(searcher.indexes.spaces))
        yield searcher, coherence
    finally:
        for task in tasks:
            task.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*tasks)


async def find(searcher: Searcher, scope: Scope = ANN) -> list[str]:
    found = await searcher.find_related(scope, [QUESTION], digest_of("now", 16), deadline_ms=2_000)
    assert found is not None
    return [each.text for each in found.lines]


def picture(index: Index | None) -> set[tuple[Any, ...]]:
    """Return all that an index says, whatever the order of its rows."""
    if index is None:
        return set()
    return {
        (
            index.texts[at], *(index.columns[name][at] for name in COLUMNS.names if name not in PLACES),
            index.vectors[at].tobytes(),
            frozenset(index.own.lexemes[index.own.rows == at].tolist()),
            frozenset(index.quoted.lexemes[index.quoted.rows == at].tolist()),
            *(index.columns["id"][index.columns[name][at]] for name in PLACES),
        )
        for at in range(len(index))
    }  # fmt: skip


PLACES = ("before", "after")  # rows, which differ with the order


def read_anew(scope: Scope = ANN) -> set[tuple[Any, ...]]:
    """Return what a server holds that has just been started."""
    with open_cursor() as cursor:
        return picture(read_index(cursor, scope, Embedder.objects.get(is_current=True).dimensions or 0))


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


async def assert_in_step(*each: Indexes, scope: Scope = ANN, within_s: float = SOON_S) -> None:
    wanted = await at_work(partial(read_anew, scope))
    for indexes in each:
        await waiting.eventually_here(lambda one=indexes: picture(one.find(scope)) == wanted, within_s=within_s)
        assert picture(indexes.find(scope)) == wanted


async def cut(name: str) -> None:
    query = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s"
    assert await at_work(lambda: fetch_rows(query, [f"festinger {name}"]))


UNDONE = ("said by another", "put back", "an episode shown again", "embedded anew")
MEMORIES, EPISODES = Memory.objects, Episode.objects


def by() -> store.Change:
    return store.Change("ann", Channel.USER, timezone.now())


def hide() -> None:
    opening = PromptOpening.objects.create(agent="agent-zero", person="ann", digest=b"x" * 16, text="Tag:", seen=[])
    Episode.objects.filter(text=DATABASE).update(hidden_by=opening)


def show_again() -> None:
    hide()
    Episode.objects.update(hidden_by=None)


def supersede() -> None:
    store.supersede(MEMORIES.first(), remembered("I live in Bergen.", category="identity"), by())


def undo_forgetting() -> None:
    set_aside = carry_out(order_of(BILLING))
    with connection.cursor() as cursor:
        setting_aside.run(setting_aside.undo(set_aside.request), cursor)


def embed_all_anew() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM episode_vector")
    queue.fill()
    queue.embed_due()


def edit_a_memory() -> None:
    store.edit(MEMORIES.first(), by(), text="I live in Rome.", category="identity")
    queue.embed_due()


CHANGES: dict[str, Callable[[], Any]] = {
    "said": lambda: said("The billing database has version 17.2 now.", talk="talk"),
    "said by the model": lambda: said("No idea.", role="assistant", talk="talk"),
    "said and embedded": lambda: (said("The billing database has version 17.2 now."), queue.embed_due()),
    "said by another": lambda: said(DATABASE, BOB),
    "forgotten": lambda: forget(ForgetScope(words="billing")),
    "set aside": lambda: carry_out(order_of(BILLING)),
    "put back": undo_forgetting,
    "deleted": lambda: EPISODES.filter(text=DATABASE).delete(),
    "redacted": lambda: (redact_episodes(KnownSecret.of("Postgres 17")), queue.embed_due()),
    "an episode hidden": hide,
    "an episode shown again": show_again,
    "an episode moved": lambda: EPISODES.filter(text=DATABASE).update(person="bob"),
    "an episode moved to a project": lambda: EPISODES.update(project=Project.objects.create(slug="other")),
    "another's episode made mine": lambda: EPISODES.filter(person="bob").update(person="ann"),
    "embedded anew": embed_all_anew,
    "a memory written": lambda: remembered("I live in Bergen.", category="identity"),
    "a memory written and embedded": lambda: (remembered("I live in Bergen.", category="identity"), queue.embed_due()),
    "a shared memory written by another": lambda: remembered("Billing is in Rome.", BOB, category="other"),
    "a memory superseded": supersede,
    "a memory edited": edit_a_memory,
    "a memory disputed": lambda: store.dispute(*MEMORIES.order_by("pk")[:2], by()),
    "a memory confirmed": lambda: store.confirm(MEMORIES.first(), by(), is_other_voice=False),
    "a memory confirmed by another": lambda: store.confirm(MEMORIES.first(), by(), is_other_voice=True),
    "a memory taken back": lambda: store.invalidate(MEMORIES.first(), by()),
    "a memory restored": lambda: store.restore(MEMORIES.get(status="superseded"), by()),
    "a candidate promoted": lambda: store.promote(MEMORIES.get(status="candidate"), by(), confidence=0.9),
    "a memory doubted": lambda: store.halve_confidence(MEMORIES.first(), by()),
    "a memory put into another slot": lambda: store.change(
        MEMORIES.first(), store.Action.EDIT, by(), slot="target", slot_version=1
    ),
    "memories deleted": lambda: MEMORIES.all().delete(),
    "a memory moved to a project": lambda: store.move(MEMORIES.first(), Project.objects.create(slug="other"), by()),
    "a project's memory shared": lambda: MEMORIES.exclude(project=None).update(project=None),
}


def prepare() -> None:
    for text in (DATABASE, VAULT, "Should it rain in Bergen?"):
        said(text, talk="talk")
    said("It rains.", role="assistant", talk="talk")
    said("The billing database is slow.", BOB)
    remembered("I live in Oslo.", category="identity", confidence=0.8, said_at=START - timedelta(days=9))
    remembered("Rome has the billing.", category="other")
    remembered("I was in Rome.", category="episodic", status="candidate")
    remembered("I was in Lima.", category="identity", status="superseded", archived_at=timezone.now())
    remembered("Lima is next.", Scope(ANN.speaker, Project.objects.create(slug="road").pk), category="project")
    queue.embed_due()


@pytest.mark.parametrize("what", CHANGES)
def test_what_is_held_is_what_would_be_read_anew(followed: str, what: str) -> None:
    async def run() -> None:
        await at_work(prepare)
        async with serving(followed) as (searcher, _):
            assert await searcher.indexes.wait_for(ANN, 10.0) is not None
            await assert_in_step(searcher.indexes, within_s=10.0)
            before = searcher.indexes.find(ANN)

            await at_work(CHANGES[what])

            await assert_in_step(searcher.indexes)
            assert (picture(before) == picture(searcher.indexes.find(ANN))) is (what in UNDONE)

    asyncio.run(run())


def test_two_servers_see_within_a_second_what_is_said(followed: str) -> None:
    async def run() -> None:
        await say(VAULT)
        async with serving(followed) as (one, _), serving(followed) as (other, _):
            assert [await find(one), await find(other)] == [[], []]
            for text in (DATABASE, "The billing database has version 17.2 now."):
                await say(text)
                await assert_in_step(one.indexes, other.indexes)
                assert text in await find(one)
                assert text in await find(other)

    asyncio.run(run())


def test_what_changed_while_nobody_listened_is_read_anew(followed: str) -> None:
    async def run() -> None:
        first = await say(DATABASE)
        async with serving(followed) as (searcher, coherence):
            assert await find(searcher) == [DATABASE]
            before = searcher.indexes.find(ANN)

            address, coherence._dsn = coherence._dsn, UNREACHABLE
            await cut(LISTENER)
            assert await eventually(lambda: not coherence.is_listening)
            await at_work(Episode.objects.filter(pk=first).delete)
            assert searcher.indexes.find(ANN) is before
            coherence._dsn = address

            assert await eventually(lambda: searcher.indexes.find(ANN) is not before)
            await assert_in_step(searcher.indexes, within_s=10.0)
            assert await find(searcher) == []

    asyncio.run(run())


def test_the_indexes_own_connection_is_opened_again(followed: str) -> None:
    async def run() -> None:
        await say(VAULT)
        async with serving(followed) as (searcher, _):
            assert await find(searcher) == []
            await cut(held.NAME)
            await say(DATABASE)
            await assert_in_step(searcher.indexes, within_s=10.0)
            assert await find(searcher) == [DATABASE]

    asyncio.run(run())


def test_without_postgres_what_is_loaded_still_answers(followed: str) -> None:
    async def run() -> None:
        await say(DATABASE)
        async with serving(followed) as (searcher, coherence):
            assert await find(searcher) == [DATABASE]
            searcher.indexes._dsn = coherence._dsn = UNREACHABLE
            await cut(LISTENER)
            await cut(held.NAME)
            assert await eventually(lambda: not coherence.is_listening)
            await asyncio.sleep(held.SPACES_S + 0.5)  # until the embedders are read again

            assert await find(searcher) == [DATABASE]
            skipped = await searcher.find_related(BOB, [QUESTION], digest_of("now", 16), deadline_ms=40)
            assert skipped is None

    asyncio.run(run())


def test_what_another_embedder_made_is_found_until_it_is_replaced(followed: str) -> None:
    def change() -> None:
        # The built-in one by another name: its vectors can be had in a test.
        old = Embedder.objects.get(is_current=True)
        Embedder.objects.filter(pk=old.pk).update(is_current=False)
        Embedder.objects.create(
            name=f"{old.name}-2", dimensions=old.dimensions, noise_mean=old.noise_mean,
            noise_deviation=old.noise_deviation, is_current=True,
        )  # fmt: skip

    async def run() -> None:
        await say(DATABASE)
        async with serving(followed) as (searcher, _):
            assert await find(searcher) == [DATABASE]
            first = searcher.indexes.spaces[0]

            await at_work(change)

            assert await eventually(lambda: searcher.indexes.spaces[0] != first)
            assert searcher.indexes.spaces[1:] == [first._replace(is_current=False)]
            assert searcher.indexes.find(ANN) is not None
            await assert_in_step(searcher.indexes)

    asyncio.run(run())


def test_vectors_that_are_made_anew_are_not_compared_meanwhile(followed: str) -> None:
    async def run() -> None:
        await say(DATABASE)
        async with serving(followed) as (searcher, _):
            assert await find(searcher) == [DATABASE]
            await at_work(queue.embed_anew)

            assert await eventually(lambda: (index := searcher.indexes.find(ANN)) and not index.columns["space"].any())
            await at_work(queue.embed_due)
            assert await eventually(lambda: (index := searcher.indexes.find(ANN)) and index.columns["space"].all())

    asyncio.run(run())


def test_who_was_searched_for_long_ago_makes_room(followed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        await say(DATABASE)
        await say(DATABASE, BOB)
        async with serving(followed) as (searcher, _):
            await find(searcher)
            assert list(searcher.indexes._held) == [ANN]
            size = searcher.indexes.held_bytes
            monkeypatch.setattr(held, "BYTES_MAX", size + 100)

            assert await find(searcher, BOB) == [DATABASE]
            assert list(searcher.indexes._held) == [BOB]
            assert searcher.indexes.held_bytes <= held.BYTES_MAX
            assert await find(searcher) == [DATABASE]  # it is waited for once more

    before = bounds.count_bites()[held.FULL.name]
    asyncio.run(run())
    assert bounds.count_bites()[held.FULL.name] == before + 2


def test_an_old_index_is_read_anew_while_it_answers(followed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def run() -> None:
        await say(DATABASE)
        async with serving(followed) as (searcher, _):
            await find(searcher)
            before = searcher.indexes._held[ANN]
            monkeypatch.setattr(held, "AGE_MAX_S", 0.0)

            assert searcher.indexes.find(ANN) is before.index
            assert await eventually(lambda: searcher.indexes._held[ANN] is not before)

    asyncio.run(run())


def test_a_scope_that_is_not_loaded_in_time_is_waited_for_once(followed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_slowly(*arguments: Any) -> Index:
        time.sleep(1.0)
        return read_index(*arguments)

    async def ask(searcher: Searcher) -> tuple[object, float]:
        started = time.perf_counter()
        found = await searcher.find_related(ANN, [QUESTION], digest_of("now", 16), deadline_ms=40)
        return found, time.perf_counter() - started

    async def run() -> None:
        await say(DATABASE)
        async with serving(followed) as (searcher, _):
            before = total("festinger_searches_total", result="skipped")

            found, seconds = await ask(searcher)
            assert (found, LOAD_MS / 1000 <= seconds < 0.9) == (None, True)
            found, seconds = await ask(searcher)
            assert (found, seconds < LOAD_MS / 1000) == (None, True)

            assert total("festinger_searches_total", result="skipped") == before + 2
            assert await eventually(lambda: searcher.indexes.find(ANN) is not None)
            assert await find(searcher) == [DATABASE]

    monkeypatch.setattr(held, "read_index", read_slowly)
    asyncio.run(run())


def test_what_changes_during_a_load_is_not_missed(followed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def read_slowly(*arguments: Any) -> Index:
        index = read_index(*arguments)
        time.sleep(0.5)
        return index

    async def run() -> None:
        first = await say(DATABASE)
        async with serving(followed) as (searcher, _):
            searcher.indexes.find(ANN)
            await asyncio.sleep(0.1)
            await at_work(Episode.objects.filter(pk=first).delete)
            await say(VAULT)
            assert await eventually(lambda: searcher.indexes.find(ANN) is not None)
            await assert_in_step(searcher.indexes)

    monkeypatch.setattr(held, "read_index", read_slowly)
    asyncio.run(run())


def test_nothing_is_loaded_before_changes_are_followed(followed: str) -> None:
    async def run() -> None:
        indexes = Indexes(followed)
        try:
            assert await indexes.wait_for(ANN, 0.1) is None
            assert not indexes._held
        finally:
            indexes.close()

    asyncio.run(run())


def test_what_only_moves_bookkeeping_is_not_announced(followed: str) -> None:
    async def run() -> None:
        await at_work(prepare)
        async with serving(followed) as (searcher, _):
            assert await searcher.indexes.wait_for(ANN, 10.0) is not None
            await asyncio.sleep(0.3)
            before = searcher.indexes.find(ANN)
            await at_work(lambda: Episode.objects.update(read_at=timezone.now(), attempts=F("attempts") + 1))
            await at_work(lambda: Memory.objects.update(slot_version=99))
            await asyncio.sleep(0.5)

            assert searcher.indexes.find(ANN) is before

    asyncio.run(run())


def test_each_change_of_vectors_is_announced(vectors: None) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'episode_vector_announce_%'")
        assert cursor.fetchone() == (4,)
    assert schema.has_tables()


def test_what_a_prompt_was_searched_with_is_the_vector_of_its_message(followed: str) -> None:
    async def run() -> None:
        await say("The cat sleeps.")
        async with serving(followed) as (searcher, _):
            assert await find(searcher) == []
            table = MessageTable(followed, searcher.cached_vector)
            for text in (QUESTION, DATABASE):  # nobody has searched for the second
                key = digest_of("now", 16) + digest_of(text, 16)
                await table.insert([NewMessage(key, "agent-zero", ANN, "user", text, time.time())])
            await table.connection.close()
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


def test_after_an_unexpected_error_what_changes_is_still_followed(
    followed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ValueError("no such thing")

    async def run() -> None:
        await say(VAULT)
        async with serving(followed) as (searcher, _):
            assert await find(searcher) == []
            with monkeypatch.context() as patch:
                patch.setattr(held, "read_changed", fail)
                await say("It rains.")
                await asyncio.sleep(0.5)

            await say(DATABASE)
            await assert_in_step(searcher.indexes, within_s=10.0)
            assert await find(searcher) == [DATABASE]

    asyncio.run(run())
