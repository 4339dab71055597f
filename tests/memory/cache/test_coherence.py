"""A cache beside a real Postgres: loaded, told of changes."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial

import psycopg
import pytest
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from prometheus_client import REGISTRY

from memory.cache import sync
from memory.cache.loader import BATCH_ROWS, refresh_soas
from memory.cache.state import Cache
from memory.cache.sync import NAME, Coherence
from memory.db.connections import Connection, open_connection
from memory.graph.store import ensure_dimension, ensure_tokens
from memory.recall.block import render_state, show_state
from memory.recall.facts import Bounds, is_in_force
from memory.types import EdgeRow
from tests import waiting

WITHIN_S = 5.0
eventually = partial(waiting.eventually_here, within_s=WITHIN_S)


@asynccontextmanager
async def following(dsn: str) -> AsyncIterator[tuple[Cache, psycopg.AsyncConnection]]:
    """A cache that follows the database, and a client that changes it."""
    cache = Cache()
    coherence = Coherence(cache, dsn)
    task = asyncio.create_task(coherence.run())
    try:
        await asyncio.wait_for(coherence.tried.wait(), WITHIN_S)
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as client:
            yield cache, client
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def test_others_have_their_turns_while_many_words_are_read_again(dsn: str) -> None:
    words = 40 * BATCH_ROWS
    with psycopg.connect(dsn) as client:
        client.execute(f"INSERT INTO soas (id, token) SELECT n, 'word' || n FROM generate_series(1, {words}) AS n")
    cache = Cache()

    async def run() -> int:
        async with open_connection(dsn, "test") as connection:
            reading = asyncio.create_task(refresh_soas(cache, connection, list(range(1, words + 1))))
            turns = 0
            while not reading.done():
                await asyncio.sleep(0)
                turns += 0 < len(cache.soas_by_token) < words
            return turns

    assert asyncio.run(run()) > 3
    assert len(cache.soas_by_token) == words


SEED = """
    INSERT INTO soas (token, novelty) VALUES ('gnommoweb', 1), ('hut', 1), ('repo', 0), ('container', 0), ('type', 0);
    INSERT INTO soas (token, encounter_count, saliency) VALUES ('faint', 2, 0.3);
    INSERT INTO dimension (id, is_isa) SELECT id, true FROM soas WHERE token = 'type';
    INSERT INTO urd (id, parent_id, dim_id, is_isa, source)
        SELECT c.id, p.id, d.id, true, 'gutask' FROM soas c, soas p, soas d
        WHERE c.token = 'gnommoweb' AND p.token = 'repo' AND d.token = 'type';
"""


def parents_of(cache: Cache, token: str) -> list[str]:
    row = cache.soas_by_token.get(token)
    edges = cache.urd_by_concept.get(row.id, []) if row else []
    return [cache.soas_by_id[edge.parent_id] for edge in edges]


SETTLED = """
    INSERT INTO project (slug, name) VALUES ('p05', 'P05');
    INSERT INTO project_state (project_id, category, key, value, actor)
        SELECT id, 'decision', 'material', 'GF-PTFE', 'ada' FROM project;
"""


def list_states(cache: Cache) -> list[str]:
    rows = filter(None, map(cache.states.find, cache.states.ids))
    return [render_state(show_state(row)).removeprefix("state: ") for row in rows]


Step = tuple[str, Callable[[Cache], bool]]
STEPS: dict[str, Step] = {
    "an edge is changed": (
        "UPDATE urd SET parent_id = (SELECT id FROM soas WHERE token = 'container')",
        lambda cache: parents_of(cache, "gnommoweb") == ["container"],
    ),
    "an edge is corroborated": (
        "UPDATE urd SET is_corroborated = true, channel = 'user'",
        lambda cache: [(e.is_corroborated, e.channel) for [e] in cache.urd_by_concept.values()] == [(True, "user")],
    ),
    "an edge is deleted": ("DELETE FROM urd", lambda cache: parents_of(cache, "gnommoweb") == []),
    "the graph is truncated": ("TRUNCATE urd", lambda cache: parents_of(cache, "gnommoweb") == []),
    "a word is added": (
        "INSERT INTO soas (token, novelty) VALUES ('new', 1)",
        lambda cache: "new" in cache.soas_by_token,
    ),
    "a word is deleted": ("DELETE FROM soas WHERE token = 'hut'", lambda cache: "hut" not in cache.soas_by_token),
    "a word becomes known": (
        "UPDATE soas SET novelty = 1 WHERE token = 'container'",
        lambda cache: "container" in cache.soas_by_token,
    ),
    "a threshold is lowered": (
        "INSERT INTO config (key, value, updated_at) VALUES ('saliency_read_threshold', '0.2', now())",
        lambda cache: "faint" in cache.soas_by_token,
    ),
    "a concept is muted": (
        "UPDATE soas SET is_muted = true WHERE token = 'gnommoweb'",
        lambda cache: cache.soas_by_token["gnommoweb"].is_muted,
    ),
    "many words are added at once": (
        "INSERT INTO soas (token, is_muted) SELECT 'word' || n, true FROM generate_series(1, 3000) AS n",
        lambda cache: "word3000" in cache.soas_by_token,
    ),
    "a thousand words are added at once": (
        "INSERT INTO soas (token, is_muted) SELECT 'word' || n, true FROM generate_series(1, 1001) AS n",
        lambda cache: all(f"word{n}" in cache.soas_by_token for n in range(1, 1002)),
    ),
    "a setting is changed": (
        "INSERT INTO config (key, value, updated_at) VALUES ('zero_hit_max', '0', now())",
        lambda cache: cache.tuning.zero_hit_max == 0,
    ),
    "a setting is spoilt": (
        "INSERT INTO config (key, value, updated_at) VALUES ('zero_hit_max', 'many', now())",
        lambda cache: cache.config_mistakes != [] and cache.tuning.zero_hit_max == 1,
    ),
    "a setting is gone": (
        "INSERT INTO config (key, value, updated_at) VALUES ('zero_hits', '2', now())",
        lambda cache: cache.ignored_settings == ["zero_hits = '2': unknown to this version"],
    ),
    "an agent is made": (
        "INSERT INTO agent (name, token_hash) VALUES ('dobby', repeat('0', 64))",
        lambda cache: cache.agents["0" * 64].name == "dobby" if cache.agents else False,
    ),
    "an agent may name a project": (  # by its settings, by a list, and because that is open
        "INSERT INTO project (slug, name) VALUES ('p05', 'P05'), ('tools', 'Tools');"
        " INSERT INTO agent (name, token_hash, project_id) SELECT 'dobby', repeat('0', 64), id FROM project"
        " WHERE slug = 'p05';"
        " INSERT INTO agent_allowed_projects (agent_id, project_id) SELECT agent.id, project.id FROM agent, project"
        " WHERE slug = 'tools';"
        " UPDATE project SET is_open = true",
        lambda cache: (
            [row.projects for row in cache.agents.values()] == [frozenset(row.id for row in cache.projects.values())]
            and all(row.is_open for row in cache.projects.values())
        ),
    ),
    "a project's state is set, and disputed": (
        SETTLED + "UPDATE project_state SET is_disputed = true",
        lambda cache: list_states(cache) == ["decision.material = GF-PTFE (disputed)"],
    ),
    "a project's state is replaced": (
        SETTLED + "UPDATE project_state SET status = 'superseded', archived_at = now();"
        " INSERT INTO project_state (project_id, category, key, value, actor)"
        " SELECT id, 'decision', 'material', 'PEEK', 'ada' FROM project",
        lambda cache: list_states(cache) == ["decision.material = PEEK"],
    ),
    "much state is set at once": (
        SETTLED + "INSERT INTO project_state (project_id, category, key, value, actor)"
        " SELECT id, 'part', 'k' || n, 'x', 'ada' FROM project, generate_series(1, 3000) AS n",
        lambda cache: len(list_states(cache)) == 3001,
    ),
    "a conflict is queued": (
        "WITH new AS (INSERT INTO conflict (slot_kind, key, slot_key) VALUES ('memory_slot', 'k', '{}') RETURNING id)"
        " INSERT INTO resolution_queue (conflict_id, concept_id, dim_id, existing_parent_id, incoming_parent_id,"
        " incoming_is_isa, incoming_confidence, incoming_source, collision_type)"
        " SELECT new.id, u.id, u.dim_id, u.parent_id, c.id, true, 1, 'gutask', 'isa_isa' FROM new, urd u, soas c"
        " WHERE c.token = 'container'",
        lambda cache: [*map(len, cache.pending_conflicts.values())] == [1],
    ),
    "a decision rejects a claim": (
        "INSERT INTO decided_triple (concept_id, dim_id, parent_id, kind, agents)"
        " SELECT u.id, u.dim_id, c.id, 'dismissed', '{}' FROM urd u, soas c WHERE c.token = 'container'",
        lambda cache: [[one.parent for one in of_one] for of_one in cache.ended.values()] == [["container"]],
    ),
    "a fact contradicts project state": (
        "WITH new AS (INSERT INTO conflict (slot_kind, key, slot_key) VALUES ('memory_slot', 'k', '{}') RETURNING id)"
        " INSERT INTO conflict_member (conflict_id, kind, object_id, support)"
        " SELECT new.id, 'edge', edge_id, '[]'::jsonb FROM new, urd"
        " UNION ALL SELECT id, 'project_state', 1, '[]' FROM new",
        lambda cache: [[*of_one.values()] for of_one in cache.pending_conflicts.values()] == [[()]],
    ),
    "an alias is made": (
        "WITH new AS (INSERT INTO soas (token) VALUES ('web') RETURNING id)"
        " INSERT INTO alias (id, concept_id, channel, agent)"
        " SELECT new.id, soas.id, 'gutask', '' FROM new, soas WHERE soas.token = 'gnommoweb'",
        lambda cache: parents_of(cache, "web") == ["repo"],
    ),
    "a triple is decided about": (
        "INSERT INTO decided_triple (concept_id, dim_id, parent_id, kind, agents, conversation, decided_at)"
        " SELECT u.id, u.dim_id, c.id, 'dismissed', '{dobby}', 'opening', to_timestamp(5) FROM urd u, soas c"
        " WHERE c.token = 'container'",
        lambda cache: [*map(len, cache.decided.values())] == [1] and "container" in cache.soas_by_token,
    ),
    "a dimension is split": (
        "INSERT INTO dimension (id, is_isa, split_from_id) SELECT c.id, true, t.id FROM soas c, soas t"
        " WHERE c.token = 'container' AND t.token = 'type'",
        lambda cache: len(cache.split_dims) == 1,
    ),
    "a dimension keeps all": (
        "UPDATE dimension SET on_collision = 'keep_all';"
        " INSERT INTO urd (id, parent_id, dim_id, is_isa, source, is_additive)"
        " SELECT u.id, c.id, dim_id, true, 'gutask', true FROM urd u, soas c WHERE c.token = 'container'",
        lambda cache: sorted(parents_of(cache, "gnommoweb")) == ["container", "repo"] and len(cache.additive_dims) == 1,
    ),
    "a dimension supersedes": (
        "UPDATE dimension SET on_collision = 'supersede'",
        lambda cache: len(cache.superseding_dims) == 1,
    ),
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS.keys())
def test_a_change_in_postgres_shows_in_the_cache(dsn: str, step: Step) -> None:
    statement, shows = step

    async def scenario() -> bool:
        async with following(dsn) as (cache, client):
            await client.execute(SEED)
            assert await eventually(lambda: parents_of(cache, "gnommoweb") == ["repo"])
            assert not shows(cache)
            await client.execute(statement)
            return await eventually(lambda: shows(cache))

    assert asyncio.run(scenario())


def test_a_lost_connection_is_opened_again_and_everything_read_anew(dsn: str) -> None:
    async def scenario() -> bool:
        async with following(dsn) as (cache, client):
            cut = await client.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = %s AND datname = current_database()",
                [f"festinger {NAME}"],
            )
            assert await cut.fetchall() == [(True,)]
            await client.execute(SEED)
            return await eventually(lambda: parents_of(cache, "gnommoweb") == ["repo"])

    assert asyncio.run(scenario())


def test_a_process_that_hears_nothing_loads_everything_again_and_again(
    dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind a pooler: the connection stands, and what is announced is lost."""
    monkeypatch.setattr(sync, "HEARD_EVERY_S", 0.05)
    monkeypatch.setattr(sync, "HEARD_WITHIN_S", 0.3)
    is_deaf, apply = True, Coherence._apply

    async def hear(coherence: Coherence, connection: Connection, payloads: Sequence[str]) -> None:
        await apply(coherence, connection, () if is_deaf else payloads)

    monkeypatch.setattr(Coherence, "_apply", hear)

    async def scenario() -> None:
        nonlocal is_deaf
        cache = Cache()
        coherence = Coherence(cache, dsn)
        task = asyncio.create_task(coherence.run())
        await asyncio.wait_for(coherence.tried.wait(), WITHIN_S)
        async with open_connection(dsn, "test") as client:
            await client.execute(SEED)
        assert await eventually(lambda: parents_of(cache, "gnommoweb") == ["repo"])
        assert await eventually(lambda: not coherence.is_listening)
        assert REGISTRY.get_sample_value("festinger_listener_lag_seconds") == math.inf
        is_deaf = False
        assert await eventually(lambda: coherence.is_listening)
        assert REGISTRY.get_sample_value("festinger_listener_lag_seconds") < sync.HEARD_WITHIN_S
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    asyncio.run(scenario())


def test_a_payload_that_cannot_be_read_ends_nothing(dsn: str) -> None:
    async def scenario() -> bool:
        async with following(dsn) as (cache, client):
            for payload in ("soas:abc", "urd:", "nonsense", "reload:nowhere"):
                await client.execute("SELECT pg_notify('festinger', %s)", [payload])
            await client.execute(SEED)
            return await eventually(lambda: parents_of(cache, "gnommoweb") == ["repo"])

    assert asyncio.run(scenario())


def test_rows_that_only_other_processes_keep_make_nobody_load_anything(dsn: str) -> None:
    async def run() -> None:
        async with following(dsn) as (cache, client):
            loads = cache.loads
            for payload in ("episode_vector:7", "injection:7,8", "reload:injection", "reload:urd"):
                await client.execute("SELECT pg_notify('festinger', %s)", [payload])
                await asyncio.sleep(0.2)
            assert await eventually(lambda: cache.loads == loads + 1)  # for the last of them

    asyncio.run(run())


def test_a_barrier_waits_until_the_cache_holds_what_was_committed(dsn: str) -> None:
    async def scenario() -> list[str]:
        cache = Cache()
        coherence = Coherence(cache, dsn)
        task = asyncio.create_task(coherence.run())
        await asyncio.wait_for(coherence.tried.wait(), WITHIN_S)
        async with await psycopg.AsyncConnection.connect(dsn, autocommit=True) as client:

            async def announce(payload: str) -> None:
                await client.execute("SELECT pg_notify('festinger', %s)", [payload])

            async with coherence.barrier(announce):
                await client.execute(SEED)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return parents_of(cache, "gnommoweb")

    assert asyncio.run(scenario()) == ["repo"]


# --- the read path against the source's canonical query ---

CANONICAL = """
    SELECT u.id, u.parent_id, u.dim_id, u.is_isa, p.token AS parent_token, d.token AS dim_token
    FROM urd u
    INNER JOIN soas p ON p.id = u.parent_id
    INNER JOIN soas d ON d.id = u.dim_id
    WHERE u.id = %s
    AND u.confidence >= %s
    AND u.last_confirmed >= to_timestamp(%s)
    ORDER BY u.id, u.dim_id DESC
"""
graphs = st.lists(
    st.tuples(
        st.integers(0, 3),
        st.integers(4, 7),
        st.integers(8, 11),
        st.floats(0, 1),
        st.integers(0, 200),
        st.booleans(),
    ),
    max_size=25,
)


class CanonicalQuery(TestCase):
    @given(graphs, st.floats(0, 1), st.integers(0, 200))
    def test_the_cache_recalls_what_the_canonical_query_returns(
        self, graph: list[tuple[int, int, int, float, int, bool]], floor: float, days: int
    ) -> None:
        now = time.time()
        names = list(ensure_tokens(f"t{i}" for i in range(12)).values())
        edges = {}
        for concept, parent, dim, confidence, age, is_isa in graph:
            ids, said = (
                (names[concept], names[parent], names[dim]),
                (now - age * 86400 + 60, "user", False, "", dim == 11),
            )
            edge = EdgeRow(*ids, is_isa, confidence, "inferred", *said)
            edges[edge.place] = edge
        for dim in range(8, 12):
            ensure_dimension(names[dim], is_isa=True, keeps_all=dim == 11)
        with connection.cursor() as cursor:
            for edge in edges.values():
                cursor.execute(
                    "INSERT INTO urd (id, parent_id, dim_id, is_isa, confidence, source, last_confirmed, is_additive)"
                    " VALUES (%s, %s, %s, %s, %s, %s, to_timestamp(%s), %s)",
                    [edge.concept_id, edge.parent_id, edge.dim_id, edge.is_isa, edge.confidence, edge.source,
                     edge.last_confirmed, edge.is_additive],
                )  # fmt: skip
        cache = Cache()
        for concept in names:
            cache.put_edges(concept, [edge for edge in edges.values() if edge.concept_id == concept])

        for concept in names[:8]:
            with connection.cursor() as cursor:
                cursor.execute(CANONICAL, [concept, floor, now - days * 86400])
                expected = [row[:4] for row in cursor.fetchall()]
            bounds = Bounds(floor, now - days * 86400, frozenset())
            found = [edge for edge in cache.urd_by_concept.get(concept, ()) if is_in_force(edge, bounds)]
            recalled = sorted(found, key=lambda e: (-e.dim_id, e.parent_id))
            assert [(e.concept_id, e.parent_id, e.dim_id, e.is_isa) for e in recalled] == sorted(
                expected, key=lambda row: (-row[2], row[1])
            )
