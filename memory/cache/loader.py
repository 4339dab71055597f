"""Reads the rows of a cache: all of them in a full load, which replaces changed rows while the cache stays in use, or
only those that changed."""

import asyncio
import math
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

from psycopg.rows import TupleRow

from memory.access.switches import AGENT_SWITCHES
from memory.cache.collector import pause_collector
from memory.cache.state import AgentRow, Cache, ProjectRow
from memory.db.connections import Connection
from memory.english.mute_patterns import compile_patterns
from memory.settings import registry
from memory.types import EdgeRow, Ended, SoasRow, TripleIds

Cell = TypeVar("Cell")
Grouped = dict[int, Any]  # by concept

SLICE_S = 0.003  # of the event loop, between two turns of the others
BATCH_ROWS = 250  # some 0.5 ms of work, between two looks at the clock
SWEPT_ROWS = 5_000  # as above
FETCH_ROWS = 1_000

SOAS = """
    SELECT id, token, encounter_count, saliency, novelty, is_common, is_muted,
           extract(epoch FROM last_seen)::float8, asked_count, extract(epoch FROM asked_at)::float8,
           label
    FROM soas
"""
# Words that a prompt can be told or asked about, and the words of the facts about them. There are too many others: a
# word is read once it rises (memory/learning/vocabulary.py). A join instead of a condition on each word: with many
# facts Postgres would scan all of them again and again.
KEPT = """JOIN (
    SELECT id FROM soas
    WHERE is_common OR is_muted OR novelty > 0 OR asked_count > 0 OR saliency >= {threshold!r}
    UNION SELECT id FROM urd UNION SELECT parent_id FROM urd UNION SELECT dim_id FROM urd
    UNION SELECT parent_id FROM decided_triple UNION SELECT concept_id FROM alias
    UNION SELECT soas.id FROM edge_candidate JOIN soas ON token IN (concept, parent, dimension)
        WHERE state = 'open' AND for_speaker <> ''
) AS kept USING (id)
"""
EDGES = """
    SELECT id, parent_id, dim_id, is_isa, confidence, source, extract(epoch FROM last_confirmed)::float8, channel,
           is_corroborated, agent, is_additive, extract(epoch FROM said_at)::float8
    FROM urd WHERE {which} ORDER BY id, dim_id DESC
"""
# The values claimed of disputed slots. A fact that contradicts a memory or project state (others are beside their
# claims) has no claimed value. Where a dimension keeps all, the fact itself is disputed.
QUEUE = """
    SELECT concept_id, dim_id, word, token FROM (
        SELECT claim.concept_id, claim.dim_id, soas.id AS word, token, claim.id AS number
        FROM resolution_queue AS claim JOIN soas ON soas.id = incoming_parent_id
        WHERE status IN ('pending', 'proposed')
        UNION ALL
        SELECT urd.id, urd.dim_id, parent.id, CASE WHEN is_additive THEN parent.token END, NULL
        FROM conflict JOIN conflict_member AS member ON member.conflict_id = conflict.id AND member.kind = 'edge'
        JOIN urd ON edge_id = member.object_id JOIN soas AS parent ON parent.id = urd.parent_id
        WHERE conflict.status = 'open' AND slot_kind <> 'edge_slot'
    ) AS disputed WHERE {which} ORDER BY number DESC NULLS LAST
"""
DECIDED = "SELECT concept_id, dim_id, parent_id FROM decided_triple WHERE {which}"
# Facts that are superseded or retired, and claims that a decision rejected.
ENDED = """
    SELECT concept.id, concept.token, parent.token, extract(epoch FROM max(gone.at))::float8
    FROM (
        SELECT id, concept_id, (before ->> 'parent_id')::bigint AS parent_id, at FROM edge_history
        WHERE action IN ('retire', 'supersede')
        UNION ALL SELECT NULL, concept_id, parent_id, decided_at FROM decided_triple WHERE kind = 'dismissed'
    ) AS gone JOIN soas concept ON concept.id = concept_id JOIN soas parent ON parent.id = gone.parent_id
    WHERE {which} AND NOT EXISTS (SELECT FROM urd WHERE urd.id = concept.id AND urd.parent_id = parent.id)
    GROUP BY concept.id, parent.token
"""
ENDED_OF_NEWEST = "(gone.id IS NULL OR gone.id > (SELECT max(id) - 100000 FROM edge_history))"
OF_CONCEPTS = "concept_id = ANY(%s)"
# By an array, which both tables look up in an index; a join with the names would read all of them.
ENDED_OF_NAMES = "concept_id = ANY(ARRAY(SELECT id FROM soas WHERE token = ANY(%s)))"
LEXEMES = "SELECT lexeme, messages FROM english_lexeme"
ENGLISH_MESSAGES = 1_000_000  # of which english_lexeme counts those that have a lexeme
AGENTS = f"""
    SELECT token_hash, name, scope, can_teach, episodes, project_id, allows_all_projects OR scope = 'operator',
        ARRAY(SELECT project_id FROM agent_allowed_projects WHERE agent_id = agent.id), {", ".join(AGENT_SWITCHES)}
    FROM agent
"""
QUEUED, RULED = "resolution_queue", "decided_triple"


@dataclass(slots=True)
class Changes:
    """Rows that changed, by table, and the tables of which all did."""

    keys: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    tables: set[str] = field(default_factory=set)

    def update(self, others: "Changes") -> None:
        for table, keys in others.keys.items():
            self.keys[table] |= keys
        self.tables |= others.tables


class Pace:
    """Yields to the event loop's other tasks when a slice of work is over."""

    def __init__(self) -> None:
        self._until = time.perf_counter() + SLICE_S

    async def step(self) -> None:
        if time.perf_counter() >= self._until:
            await asyncio.sleep(0)
            self._until = time.perf_counter() + SLICE_S


async def batches(
    connection: Connection, query: str, keys: Sequence[object] | None = None
) -> AsyncIterator[list[TupleRow]]:
    """Yield the rows of the query, with ``keys`` as its argument, as Postgres sends them. A list is reused: consume it
    before asking for the next."""
    pace = Pace()
    batch: list[TupleRow] = []
    async with connection.cursor(binary=True) as cursor:
        async for row in cursor.stream(query, None if keys is None else [keys], size=FETCH_ROWS):
            batch.append(row)
            if len(batch) == BATCH_ROWS:
                yield batch
                batch.clear()
                await pace.step()
    yield batch


async def all_rows(connection: Connection, query: str, keys: Sequence[object] | None = None) -> list[TupleRow]:
    return [row async for batch in batches(connection, query, keys) for row in batch]


async def in_slices(items: list[Cell]) -> AsyncIterator[list[Cell]]:
    pace = Pace()
    for start in range(0, len(items), SWEPT_ROWS):
        yield items[start : start + SWEPT_ROWS]
        await pace.step()


class _Shared(dict[Any, Any]):
    """Returns one object for equal values: a million rows have one of a few."""

    def __missing__(self, value: Any) -> Any:
        self[value] = value
        return value


# --- everything ---


async def load_cache(cache: Cache, connection: Connection, touched: Changes | None = None) -> None:
    """Load everything. ``touched``: rows and tables that are read again meanwhile, later than the load's snapshot, and
    that it must not overwrite."""
    # No second copy beside the cache: that would double its memory, and growing or freeing dicts of a million rows
    # stalls every stream for a tenth of a second. So each row is compared in place, in slices of a few milliseconds,
    # and rows that were not met are dropped at the end.
    touched = touched or Changes()
    cache.loads += 1
    await SMALL["config"](cache, connection)
    cache.words_from = cache.least_threshold
    # A million new objects.
    with pause_collector():
        async with connection.transaction():
            # One snapshot for all tables: otherwise an edge could come with a word that was read before it existed.
            await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            await read_aliases(cache, connection)  # first: otherwise an alias would be taken for a word of its own
            await _load_words(cache, connection, touched.keys["soas"])
            await _load_edges(cache, connection, touched.keys["urd"])
            _put_grouped(cache.pending_conflicts, await _read_queue(cache, connection), touched.keys[QUEUED])
            _put_grouped(cache.decided, await _read_decided(cache, connection), touched.keys[RULED])
        ended = await _read_ended(cache, connection, ENDED_OF_NEWEST)
        _put_grouped(cache.ended, ended, touched.keys["urd"] | touched.keys[RULED])
        if not cache.rarity:
            cache.rarity = weigh_lexemes(await all_rows(connection, LEXEMES))
        async for some in in_slices(list(cache.soas_by_token.values())):  # after the edges that they were part of
            for row in some:
                if row.load != cache.loads and row.id not in touched.keys["soas"]:
                    cache.drop_soas(row.id)
        # The small tables as they are now, not as they were when the load began.
        for table, read in SMALL.items():
            await read(cache, connection)
            while table in touched.tables:
                touched.tables.discard(table)
                await read(cache, connection)
    cache.loaded_at = time.time()


async def _load_words(cache: Cache, connection: Connection, touched: Set[int]) -> None:
    share = _Shared()
    async for batch in batches(connection, SOAS + KEPT.format(threshold=cache.words_from)):
        _put_words(cache, batch, touched, share)


def _put_words(cache: Cache, rows: list[TupleRow], touched: Set[int], share: _Shared) -> None:
    by_token, by_id, load = cache.soas_by_token, cache.soas_by_id, cache.loads
    aliases, spellings = cache.aliases, cache.spellings
    for row_id, token, count, saliency, novelty, is_common, is_muted, last_seen, asked, asked_at, label in rows:
        old = by_token.get(token)
        # Most rows say what is known. This process's counts may be ahead of Postgres until they are flushed.
        if (
            old is not None
            and (old.id, old.novelty, old.is_common, old.is_muted, old.label)
            == (row_id, novelty, is_common, is_muted, label)
            and old.encounter_count >= count
            and old.asked_count >= asked
        ):
            old.load = load
            continue
        if row_id in touched:
            continue
        row = SoasRow(
            row_id, count, share[saliency], share[novelty], is_common, is_muted, last_seen, asked, asked_at, label, load
        )
        has_aliases = row_id in aliases or row_id in spellings
        if old is None and not (is_common or has_aliases or row_id in by_id):
            by_token[token] = row
            by_id[row_id] = token
        else:
            cache.replace_soas(token, row)


async def _load_edges(cache: Cache, connection: Connection, touched: Set[int]) -> None:
    met: set[int] = set()
    async for edges in _read_edges(connection):
        met.add(edges[0].concept_id)
        if edges[0].concept_id not in touched:
            cache.put_edges(edges[0].concept_id, edges)
    async for some in in_slices(list(cache.urd_by_concept)):
        for concept in some:
            if concept not in met and concept not in touched:
                cache.put_edges(concept, [])


async def _read_edges(
    connection: Connection, which: str = "true", ids: list[int] | None = None
) -> AsyncIterator[list[EdgeRow]]:
    """Yield the edges of one concept after the other."""
    share, edges = _Shared(), list[EdgeRow]()
    async for batch in batches(connection, EDGES.format(which=which), ids):
        for concept_id, parent_id, dim_id, is_isa, confidence, source, confirmed, channel, *others in batch:
            is_corroborated, agent, is_additive, said_at = others
            if edges and edges[0].concept_id != concept_id:
                yield edges
                edges = []
            concept = edges[0].concept_id if edges else concept_id  # one number for all of them
            texts = share[source], confirmed, share[channel], is_corroborated, share[agent]
            edges.append(
                EdgeRow(concept, share[parent_id], share[dim_id], is_isa, confidence, *texts, is_additive, said_at)
            )
    if edges:
        yield edges


# --- what the cache has by concept ---


def _put_grouped(held: Grouped, found: Grouped, touched: Set[int] = frozenset(), *, of: Set[int] | None = None) -> None:
    """Replace what is held ``of`` these concepts, None for all, but for those that were touched."""
    for concept in (found.keys() | held.keys() if of is None else of) - touched:
        held.pop(concept, None)
        if concept in found:
            held[concept] = found[concept]


async def _read_queue(
    cache: Cache, connection: Connection, which: str = "true", ids: list[int] | None = None
) -> Grouped:
    """Return the claimed parents by dimension, the newest first. Reads their words, too, for their spelling."""
    by_concept: dict[int, dict[int, tuple[str, ...]]] = {}
    rows = await all_rows(connection, QUEUE.format(which=which), ids)
    await read_missing_words(cache, connection, (word for _, _, word, _ in rows))
    for concept, dim, _, parent in rows:
        claimed = by_concept.setdefault(concept, {})
        claimed[dim] = (*claimed.get(dim, ()), *([parent] if parent is not None else []))
    return by_concept


async def _read_decided(
    cache: Cache, connection: Connection, which: str = "true", ids: list[int] | None = None
) -> Grouped:
    """Return the triples on which a decision was taken."""
    by_concept: dict[int, set[TripleIds]] = {}
    rows = await all_rows(connection, DECIDED.format(which=which), ids)
    await read_missing_words(cache, connection, (parent for _, _, parent in rows))
    for concept, dim, parent in rows:
        by_concept.setdefault(concept, set()).add(TripleIds(concept, dim, parent))
    return by_concept


async def _read_ended(cache: Cache, connection: Connection, which: str, ids: list[int] | None = None) -> Grouped:
    """Return what is superseded, retired or rejected."""
    by_concept: dict[int, list[Ended]] = {}
    for concept, *ended in await all_rows(connection, ENDED.format(which=which), ids):
        by_concept.setdefault(concept, []).append(Ended(*ended))
    return by_concept


# --- only what changed ---


async def refresh_soas(cache: Cache, connection: Connection, ids: list[int]) -> None:
    async for some in in_slices(ids):
        missing = set(some)
        async for rows in batches(connection, SOAS + "WHERE id = ANY(%s)", some):
            for row_id, token, *columns in rows:
                row = SoasRow(row_id, *columns)
                if token in cache.soas_by_token or cache.is_kept(row):
                    cache.replace_soas(token, row)
                    missing.discard(row_id)
        for row_id in missing:
            cache.drop_soas(row_id)


async def read_missing_words(cache: Cache, connection: Connection, ids: Iterable[int]) -> None:
    """Read words that nobody needed until now."""
    if missing := sorted(set(ids) - cache.soas_by_id.keys()):
        for row_id, token, *columns in await all_rows(connection, SOAS + "WHERE id = ANY(%s)", missing):
            row = SoasRow(row_id, *columns)
            row.load = cache.loads  # a concurrent load must not drop it
            cache.replace_soas(token, row)


async def _refresh_edges(cache: Cache, connection: Connection, ids: list[int]) -> None:
    found = {edges[0].concept_id: edges async for edges in _read_edges(connection, "id = ANY(%s)", ids)}
    words = (word for edges in found.values() for edge in edges for word in edge.ids)
    await read_missing_words(cache, connection, words)
    ended = await _read_ended(cache, connection, OF_CONCEPTS, ids)
    for concept_id in ids:
        cache.put_edges(concept_id, found.get(concept_id, ()))
    _put_grouped(cache.ended, ended, of=set(ids))


async def _refresh_grouped(
    held: str, read: Callable[..., Awaitable[Grouped]], cache: Cache, connection: Connection, ids: list[int]
) -> None:
    _put_grouped(getattr(cache, held), await read(cache, connection, OF_CONCEPTS, ids), of=set(ids))


async def _refresh_rulings(cache: Cache, connection: Connection, ids: list[int]) -> None:
    await _refresh_grouped("decided", _read_decided, cache, connection, ids)
    await _refresh_grouped("ended", _read_ended, cache, connection, ids)


# --- small tables, which are read whole ---


async def read_aliases(cache: Cache, connection: Connection) -> None:
    concept_of: dict[int, int] = dict(await all_rows(connection, "SELECT id, concept_id FROM alias"))
    await read_missing_words(cache, connection, concept_of.values())
    rows = await all_rows(connection, SOAS + "WHERE id = ANY(%s)", sorted(concept_of))
    cache.put_aliases((token, SoasRow(row_id, *columns), concept_of[row_id]) for row_id, token, *columns in rows)


def _put_dimensions(cache: Cache, rows: list[TupleRow]) -> None:
    cache.superseding_dims = {dim_id for dim_id, supersedes, _, _ in rows if supersedes}
    cache.additive_dims = {dim_id for dim_id, _, is_additive, _ in rows if is_additive}
    split: defaultdict[int, set[int]] = defaultdict(set)
    for dim_id, _, _, origin in rows:
        if origin is not None:
            split[origin].add(dim_id)
    cache.split_dims = dict(split)


def _put_config(cache: Cache, rows: list[TupleRow]) -> None:
    values: dict[str, str] = dict(rows)
    cache.tuning, cache.config_mistakes = registry.read_rows(values)
    cache.ignored_settings = registry.list_ignored(values)


def _put_agents(cache: Cache, rows: list[TupleRow]) -> None:
    agents = {}
    for digest, name, scope, _, episodes, project, may_name_all, projects, *on in rows:
        off = frozenset(each for each, is_on in zip(AGENT_SWITCHES, on, strict=True) if not is_on)
        nameable = None if may_name_all else frozenset(projects) | {project} - {None}
        agents[digest] = AgentRow(name, scope, off, episodes, project, nameable)
    cache.put_agents(agents)
    cache.audience.decided = {name: can_teach for _, name, _, can_teach, *_ in rows if can_teach != "auto"}


def _put_projects(cache: Cache, rows: list[TupleRow]) -> None:
    cache.projects = {slug: ProjectRow(project_id, is_open) for slug, project_id, is_open in rows}


def _put_teachers(cache: Cache, rows: list[TupleRow]) -> None:
    cache.audience.teachers = {agent for (agent,) in rows}


def _put_templates(cache: Cache, rows: list[TupleRow]) -> None:
    templates: defaultdict[tuple[str, ...], set[bytes]] = defaultdict(set)
    for agent, person, digest in rows:
        templates[agent, person].add(bytes(digest))
    cache.templates = dict(templates)


def _put_mutes(cache: Cache, rows: list[TupleRow]) -> None:
    cache.mutes = compile_patterns([pattern for (pattern,) in rows])


def weigh_lexemes(rows: Iterable[TupleRow]) -> dict[str, float]:
    """Return the weight of lexemes: the fewer messages have one, the larger."""
    return {lexeme: math.log(1 + ENGLISH_MESSAGES / (messages + 0.5)) for lexeme, messages in rows}


async def _read_whole(
    query: str, put: Callable[[Cache, list[TupleRow]], None], cache: Cache, connection: Connection
) -> None:
    put(cache, await all_rows(connection, query))


# By table: of large tables only the changed rows are read again, small ones are read whole.
REFRESH: Final[dict[str, Callable[[Cache, Connection, list[int]], Awaitable[None]]]] = {
    "soas": refresh_soas,
    "urd": _refresh_edges,
    QUEUED: partial(_refresh_grouped, "pending_conflicts", _read_queue),
    RULED: _refresh_rulings,
}
SMALL: Final[dict[str, Callable[[Cache, Connection], Awaitable[None]]]] = {
    "alias": read_aliases,
    "dimension": partial(
        _read_whole,
        "SELECT id, on_collision = 'supersede', is_additive, split_from_id FROM dimension",
        _put_dimensions,
    ),
    "config": partial(_read_whole, "SELECT key, value FROM config", _put_config),
    "agent": partial(_read_whole, AGENTS, _put_agents),
    "agent_allowed_projects": partial(_read_whole, AGENTS, _put_agents),
    "mute_pattern": partial(_read_whole, "SELECT pattern FROM mute_pattern", _put_mutes),
    "teacher": partial(_read_whole, "SELECT agent FROM teacher", _put_teachers),
    "project": partial(_read_whole, "SELECT slug, id, is_open FROM project", _put_projects),
    "prompt_opening": partial(
        _read_whole, "SELECT agent, person, digest FROM prompt_opening WHERE state = 'template'", _put_templates
    ),
}
