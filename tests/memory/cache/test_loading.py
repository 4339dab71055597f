"""A full load into a cache that is in use."""

import asyncio
from collections import defaultdict
from collections.abc import Callable

import psycopg
import pytest

from memory.cache.loader import BATCH_ROWS, Changes, load_cache
from memory.cache.state import Cache
from memory.db.connections import open_connection
from memory.types import SoasRow

NOW = 1_800_000_000.0
WORLD = """
    INSERT INTO soas (id, token, encounter_count, saliency, novelty) VALUES
        (1, 'gnommoweb', 10, 1, 1), (2, 'repo', 0, 0, 0), (3, 'container', 0, 0, 0), (4, 'type', 0, 0, 0);
    INSERT INTO dimension (id, is_isa) VALUES (4, true);
    INSERT INTO urd (id, parent_id, dim_id, is_isa, source) VALUES (1, 2, 4, true, 'gutask');
    INSERT INTO conflict (id, slot_kind, key, slot_key) VALUES (1, 'memory_slot', 'k', '{}');
    INSERT INTO resolution_queue (conflict_id, concept_id, dim_id, existing_parent_id, incoming_parent_id,
        incoming_is_isa, incoming_confidence, incoming_source, collision_type)
        VALUES (1, 1, 4, 2, 3, true, 1, 'gutask', 'isa_isa');
    INSERT INTO decided_triple (concept_id, dim_id, parent_id, kind, agents, conversation, decided_at, moved_to_id)
        VALUES (1, 4, 3, 'relocated', '{dobby}', 'opening', to_timestamp(5), 2);
"""


def load_again(dsn: str, cache: Cache, statement: str = "", touched: Changes | None = None) -> None:
    async def run() -> None:
        async with open_connection(dsn, "test") as connection:
            if statement:
                await connection.execute(statement)
            await load_cache(cache, connection, touched)

    asyncio.run(run())


def changes(**keys: set[int]) -> Changes:
    return Changes(defaultdict(set, keys))


@pytest.fixture
def cache(dsn: str) -> Cache:
    """Return the cache of the world above, loaded once."""
    loaded = Cache()
    load_again(dsn, loaded, WORLD)
    return loaded


def parents(cache: Cache) -> list[int]:
    return [edge.parent_id for edge in cache.urd_by_concept.get(1, [])]


def test_everything_is_there_after_the_first_load(cache: Cache) -> None:
    assert cache.soas_by_id == {1: "gnommoweb", 2: "repo", 3: "container", 4: "type"}
    assert cache.soas_by_token["gnommoweb"] == SoasRow(1, 10, 1.0, 1.0, load=1)
    assert cache.urd_by_concept_dim[1, 4].parent_id == 2
    assert cache.referenced == {2: 1, 4: 1}
    assert cache.pending_conflicts == {1: {4: ("container",)}}
    assert cache.decided == {1: {(1, 4, 3)}}


Case = tuple[str, Callable[[Cache], object], object]
CASES: dict[str, Case] = {
    "a deleted word": ("DELETE FROM resolution_queue; DELETE FROM decided_triple; DELETE FROM soas WHERE id = 3",
                       lambda cache: sorted(cache.soas_by_id), [1, 2, 4]),
    "a word with another id": ("UPDATE resolution_queue SET incoming_parent_id = 4;"
                               " DELETE FROM decided_triple; DELETE FROM soas WHERE id = 3;"
                               " INSERT INTO soas (id, token, novelty) VALUES (9, 'container', 1)",
                               lambda cache: (cache.soas_by_token["container"].id, 3 in cache.soas_by_id), (9, False)),
    "a new word": ("INSERT INTO soas (id, token, novelty) VALUES (9, 'new', 1)",
                   lambda cache: cache.soas_by_id[9], "new"),
    "a muted word": ("UPDATE soas SET is_muted = true WHERE id = 1",
                     lambda cache: cache.soas_by_token["gnommoweb"].is_muted, True),
    "a word made common": ("UPDATE soas SET is_common = true WHERE id = 2", lambda cache: cache.nameless, {"repo"}),
    "a higher count": ("UPDATE soas SET encounter_count = 12 WHERE id = 1",
                       lambda cache: cache.soas_by_token["gnommoweb"].encounter_count, 12),
    "a changed edge": ("UPDATE urd SET parent_id = 3", parents, [3]),
    "a deleted edge": ("DELETE FROM urd", lambda cache: (parents(cache), cache.referenced), ([], {})),
    "a reopened triple": ("DELETE FROM decided_triple", lambda cache: cache.decided, {}),
    "another decided triple": ("UPDATE decided_triple SET parent_id = 2", lambda cache: cache.decided[1], {(1, 4, 2)}),
    "a decided conflict": ("DELETE FROM resolution_queue", lambda cache: cache.pending_conflicts, {}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_what_changed_unannounced_shows_after_the_next_load(dsn: str, cache: Cache, case: Case) -> None:
    statement, look, expected = case

    load_again(dsn, cache, statement)

    assert look(cache) == expected


def test_what_is_counted_and_not_flushed_stays(dsn: str, cache: Cache) -> None:
    row = cache.soas_by_token["gnommoweb"]
    row.encounter_count, row.last_seen = 15, NOW

    load_again(dsn, cache, "UPDATE soas SET is_muted = true WHERE id = 1")

    row = cache.soas_by_token["gnommoweb"]
    assert (row.encounter_count, row.last_seen, row.is_muted) == (15, NOW, True)


def test_what_was_read_since_the_load_began_stays(dsn: str, cache: Cache) -> None:
    """As the load's snapshot does not have it: announced, read and put in the cache before the load met the row."""
    cache.soas_by_token["gnommoweb"].is_muted = True
    cache.put_soas("newer", SoasRow(9))
    cache.put_edges(1, [])
    cache.pending_conflicts.clear()
    cache.decided.clear()

    load_again(dsn, cache, touched=changes(soas={1, 9}, urd={1}, resolution_queue={1}, decided_triple={1}))

    assert cache.soas_by_token["gnommoweb"].is_muted
    assert "newer" in cache.soas_by_token
    assert parents(cache) == []
    assert cache.pending_conflicts == {}
    assert cache.decided == {}


def test_a_word_deleted_since_the_load_began_does_not_come_back(dsn: str) -> None:
    cache = Cache()

    load_again(dsn, cache, "INSERT INTO soas (id, token) VALUES (9, 'gone')", touched=changes(soas={9}))

    assert cache.soas_by_token == cache.soas_by_id == {}


def test_only_words_that_a_prompt_can_be_told_about_are_loaded(dsn: str) -> None:
    cache = Cache()
    load_again(
        dsn,
        cache,
        "INSERT INTO soas (id, token, encounter_count, saliency, asked_count, is_common, is_muted) VALUES"
        " (1, 'once', 1, 0, 0, false, false), (2, 'thrice', 3, 0.477, 0, false, false),"
        " (3, 'four-times', 4, 0.602, 0, false, false), (4, 'asked', 1, 0, 1, false, false),"
        " (5, 'common', 9, 0, 0, true, false), (6, 'muted', 1, 0, 0, false, true);"
        " INSERT INTO soas (id, token) VALUES (7, 'parent'), (8, 'concept'), (9, 'type'), (10, 'decided');"
        " INSERT INTO dimension (id, is_isa) VALUES (9, true);"
        " INSERT INTO urd (id, parent_id, dim_id, is_isa, source) VALUES (8, 7, 9, true, 'gutask');"
        " INSERT INTO decided_triple (concept_id, dim_id, parent_id, kind, agents, conversation, decided_at)"
        " VALUES (8, 9, 10, 'dismissed', '{dobby}', '', now())",
    )

    expected = ["asked", "common", "concept", "decided", "four-times", "muted", "parent", "type"]
    assert sorted(cache.soas_by_token) == expected
    load_again(
        dsn, cache, "INSERT INTO config (key, value, updated_at) VALUES ('saliency_write_threshold', '0.4', now())"
    )
    assert sorted(cache.soas_by_token) == sorted([*expected, "thrice"])


def test_a_setting_changed_during_a_load_is_not_put_back(dsn: str) -> None:
    with psycopg.connect(dsn) as client:
        client.execute("INSERT INTO soas (token, saliency) SELECT 'word' || n, 1 FROM generate_series(1, 20000) AS n")
    cache = Cache()

    async def run() -> None:
        async with open_connection(dsn, "test") as connection, open_connection(dsn, "other") as other:
            loading = asyncio.create_task(load_cache(cache, connection))
            while not cache.soas_by_token:
                await asyncio.sleep(0)
            await other.execute("INSERT INTO config (key, value, updated_at) VALUES ('zero_hit_max', '1', now())")
            assert not loading.done()
            await loading

    asyncio.run(run())

    assert cache.tuning.zero_hit_max == 1


def test_others_have_their_turns_during_a_load(dsn: str) -> None:
    words = 40 * BATCH_ROWS
    with psycopg.connect(dsn) as client:
        client.execute(
            f"INSERT INTO soas (token, saliency) SELECT 'word' || n, 1 FROM generate_series(1, {words}) AS n"
        )
    cache = Cache()

    async def run() -> int:
        async with open_connection(dsn, "test") as connection:
            loading = asyncio.create_task(load_cache(cache, connection))
            turns = 0
            while not loading.done():
                await asyncio.sleep(0)
                turns += 0 < len(cache.soas_by_token) < words
            return turns

    assert asyncio.run(run()) > 3
    assert len(cache.soas_by_token) == words


def test_an_alias_is_found_with_its_concept_and_stays_so_in_a_load(dsn: str, cache: Cache) -> None:
    alias = """INSERT INTO soas (id, token, encounter_count, saliency, is_common) VALUES (7, 'web', 900, 0, true);
               INSERT INTO alias (id, concept_id, channel, agent) VALUES (7, 1, 'operator', '')"""

    for statement in (alias, "", "UPDATE soas SET is_muted = true WHERE id = 1"):
        load_again(dsn, cache, statement)

        assert cache.soas_by_token["web"] is cache.soas_by_token["gnommoweb"]
        assert (cache.soas_by_id.get(7), cache.canonical("web"), cache.is_concept("web")) == (None, "gnommoweb", True)
        assert "web" not in cache.nameless
    assert cache.soas_by_token["web"].is_muted

    load_again(dsn, cache, "DELETE FROM alias")
    assert (cache.soas_by_token["web"].id, cache.soas_by_id[7], "web" in cache.nameless) == (7, "web", True)
    assert cache.soas_by_token["gnommoweb"].id == 1
