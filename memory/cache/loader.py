"""Reads the rows of a cache: all of them in a full load, which replaces changed rows while the cache stays in use, or
only those that changed."""

import asyncio
import math
import time
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from psycopg.rows import TupleRow

from memory.cache.collector import pause_collector
from memory.cache.shared import Shared
from memory.cache.small_tables import (
    read_agents,
    read_config,
    read_dimensions,
    read_mutes,
    read_projects,
    read_teachers,
    read_templates,
)
from memory.cache.state import Cache
from memory.db.connections import Connection
from memory.recall.repeated import Ended
from memory.types import EdgeRow, SoasRow, TripleIds

Cell = TypeVar("Cell")

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
URD = """
    SELECT id, parent_id, dim_id, is_isa, confidence, source, extract(epoch FROM last_confirmed)::float8, channel,
           is_corroborated, agent, is_additive, extract(epoch FROM said_at)::float8
    FROM urd
"""
# The values claimed of disputed slots. A fact that contradicts a memory or project state has no claimed value. Where a
# dimension keeps all, the fact itself is disputed.
QUEUE = """
    SELECT concept_id, dim_id, word, token FROM (
        SELECT claim.concept_id, claim.dim_id, soas.id AS word, token, claim.id AS number
        FROM resolution_queue AS claim JOIN soas ON soas.id = incoming_parent_id
        WHERE status IN ('pending', 'proposed')
        UNION ALL
        SELECT urd.id, urd.dim_id, parent.id, CASE WHEN is_additive THEN parent.token END, NULL
        FROM conflict JOIN conflict_member AS member ON member.conflict_id = conflict.id AND member.kind = 'edge'
        JOIN urd ON edge_id = member.object_id JOIN soas AS parent ON parent.id = urd.parent_id
        WHERE conflict.status = 'open'
    ) AS disputed
"""
NEWEST_FIRST = " ORDER BY number DESC NULLS LAST"
DECIDED = "SELECT concept_id, dim_id, parent_id FROM decided_triple "
ENDED = """
    SELECT concept.id, concept.token, parent.token, extract(epoch FROM max(gone.at))::float8
    FROM edge_history gone JOIN soas concept ON concept.id = gone.concept_id
    JOIN soas parent ON parent.id = (gone.before ->> 'parent_id')::bigint
    WHERE gone.action IN ('retire', 'supersede') AND {which}
        AND NOT EXISTS (SELECT FROM urd WHERE urd.id = concept.id AND urd.parent_id = parent.id)
    GROUP BY concept.id, parent.token
"""
ENDED_OF_NEWEST = "gone.id > (SELECT max(id) - 100000 FROM edge_history)"
ENDED_OF = "gone.concept_id = ANY(%s)"
LEXEMES = "SELECT lexeme, messages FROM english_lexeme"
ENGLISH_MESSAGES = 1_000_000  # of which english_lexeme counts those that have a lexeme


@dataclass(slots=True)
class Touched:
    """Rows that were read again since a load began, later than the load's snapshot: the load must not overwrite
    them."""

    soas: set[int] = field(default_factory=set)
    urd: set[int] = field(default_factory=set)
    resolution_queue: set[int] = field(default_factory=set)
    decided_triple: set[int] = field(default_factory=set)
    tables: set[str] = field(default_factory=set)  # those that are read whole

    def add(self, keys: Mapping[str, set[int]], tables: Iterable[str]) -> None:
        """Add rows (``keys`` by table) and whole tables."""
        for table, some in keys.items():
            getattr(self, table).update(some)
        self.tables.update(tables)


async def load_cache(cache: Cache, connection: Connection, touched: Touched | None = None) -> None:
    # No second copy beside the cache: that would double its memory, and growing or freeing dicts of a million rows
    # stalls every stream for a tenth of a second. So each row is compared in place, in slices of a few milliseconds,
    # and rows that were not met are dropped at the end.
    touched = touched or Touched()
    cache.loads += 1
    await read_config(cache, connection)
    cache.words_from = cache.least_threshold
    # A million new objects.
    with pause_collector():
        async with connection.transaction():
            # One snapshot for all tables: otherwise an edge could come with a word that was read before it existed.
            await connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            await read_aliases(cache, connection)  # first: otherwise an alias would be taken for a word of its own
            await _load_soas(cache, connection, touched.soas)
            await _load_urd(cache, connection, touched.urd)
            queued = await read_queue(cache, connection)
            for concept in (queued.keys() | cache.pending_conflicts.keys()) - touched.resolution_queue:
                cache.put_pending(concept, queued.get(concept, {}))
            decided = await read_decided(connection)
            for concept in (decided.keys() | cache.decided.keys()) - touched.decided_triple:
                cache.put_decided(concept, decided.get(concept, set()))
        cache.ended = await read_ended(connection, ENDED.format(which=ENDED_OF_NEWEST))
        if not cache.rarity:
            cache.rarity = weigh_lexemes(await all_rows(connection, LEXEMES))
        await _drop_words(cache, touched.soas)  # after the edges that they were part of
        # The small tables as they are now, not as they were when the load began.
        for table, read in SMALL.items():
            await read(cache, connection)
            while table in touched.tables:
                touched.tables.discard(table)
                await read(cache, connection)
    cache.loaded_at = time.time()


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


async def _load_soas(cache: Cache, connection: Connection, touched: set[int]) -> None:
    share = Shared[float]()  # most words have one of a few saliencies: a million floats less
    async for batch in batches(connection, SOAS + KEPT.format(threshold=cache.words_from)):
        _put_words(cache, batch, touched, share)


async def _drop_words(cache: Cache, touched: set[int]) -> None:
    """Drop the words that the load did not meet."""
    async for some in in_slices(list(cache.soas_by_token.values())):
        for row in some:
            if row.load != cache.loads and row.id not in touched:
                cache.drop_soas(row.id)


def _put_words(cache: Cache, rows: list[TupleRow], touched: set[int], share: "Shared[float]") -> None:
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
            cache.renew_soas(token, row)


async def _load_urd(cache: Cache, connection: Connection, touched: set[int]) -> None:
    share, share_text = Shared[int](), Shared[str]()
    met: set[int] = set()
    edges: list[EdgeRow] = []
    async for batch in batches(connection, URD + "ORDER BY id, dim_id DESC"):
        for concept_id, parent_id, dim_id, is_isa, confidence, source, confirmed, channel, *others in batch:
            is_shared, agent, is_additive, said_at = others
            if edges and edges[0].concept_id != concept_id:
                _put_edges(cache, edges, met, touched)
                edges = []
            concept = edges[0].concept_id if edges else concept_id  # one number for all of them
            parent, dim = share[parent_id], share[dim_id]
            texts = share_text[source], confirmed, share_text[channel], is_shared, share_text[agent]
            edges.append(EdgeRow(concept, parent, dim, is_isa, confidence, *texts, is_additive, said_at))
    if edges:
        _put_edges(cache, edges, met, touched)
    async for some in in_slices(list(cache.urd_by_concept)):
        for concept in some:
            if concept not in met and concept not in touched:
                cache.put_edges(concept, [])


def _put_edges(cache: Cache, edges: list[EdgeRow], met: set[int], touched: set[int]) -> None:
    concept = edges[0].concept_id
    met.add(concept)
    if concept not in touched:
        cache.put_edges(concept, edges)


async def read_queue(
    cache: Cache, connection: Connection, query: str = QUEUE, keys: Sequence[object] | None = None
) -> dict[int, dict[int, tuple[str, ...]]]:
    """Return the claimed parents by concept and dimension, the newest first. Reads their words, too, for their
    spelling."""
    by_concept: dict[int, dict[int, tuple[str, ...]]] = {}
    rows = await all_rows(connection, query + NEWEST_FIRST, keys)
    await read_missing_words(cache, connection, (word for _, _, word, _ in rows))
    for concept, dim, _, parent in rows:
        claimed = by_concept.setdefault(concept, {})
        claimed[dim] = (*claimed.get(dim, ()), *([parent] if parent is not None else []))
    return by_concept


async def read_decided(
    connection: Connection, query: str = DECIDED, keys: Sequence[object] | None = None
) -> dict[int, set[TripleIds]]:
    """Return by concept the triples on which a decision was taken."""
    by_concept: dict[int, set[TripleIds]] = {}
    for concept, dim, parent in await all_rows(connection, query, keys):
        by_concept.setdefault(concept, set()).add(TripleIds(concept, dim, parent))
    return by_concept


async def read_ended(
    connection: Connection, query: str, keys: Sequence[object] | None = None
) -> dict[int, Sequence[Ended]]:
    """Return by concept its facts that are superseded or retired."""
    by_concept: dict[int, list[Ended]] = {}
    for concept, *ended in await all_rows(connection, query, keys):
        by_concept.setdefault(concept, []).append(Ended(*ended))
    return dict(by_concept)


def weigh_lexemes(rows: Iterable[TupleRow]) -> dict[str, float]:
    """Return the weight of lexemes: the fewer messages have one, the larger."""
    return {lexeme: math.log(1 + ENGLISH_MESSAGES / (messages + 0.5)) for lexeme, messages in rows}


async def in_slices(items: list[Cell]) -> AsyncIterator[list[Cell]]:
    pace = Pace()
    for start in range(0, len(items), SWEPT_ROWS):
        yield items[start : start + SWEPT_ROWS]
        await pace.step()


async def read_aliases(cache: Cache, connection: Connection) -> None:
    concept_of: dict[int, int] = dict(await all_rows(connection, "SELECT id, concept_id FROM alias"))
    await read_missing_words(cache, connection, concept_of.values())
    rows = await all_rows(connection, SOAS + "WHERE id = ANY(%s)", sorted(concept_of))
    cache.put_aliases((token, SoasRow(row_id, *columns), concept_of[row_id]) for row_id, token, *columns in rows)


# --- only what changed ---


async def refresh_soas(cache: Cache, connection: Connection, ids: list[int]) -> None:
    async for some in in_slices(ids):
        missing = set(some)
        async for rows in batches(connection, SOAS + "WHERE id = ANY(%s)", some):
            for row_id, token, *columns in rows:
                row = SoasRow(row_id, *columns)
                if token in cache.soas_by_token or cache.is_kept(row):
                    cache.renew_soas(token, row)
                    missing.discard(row_id)
        for row_id in missing:
            cache.drop_soas(row_id)


async def read_missing_words(cache: Cache, connection: Connection, ids: Iterable[int]) -> None:
    """Read words that nobody needed until now."""
    wanted = set(ids)
    if missing := sorted(wanted - cache.soas_by_id.keys()):
        for row_id, token, *columns in await all_rows(connection, SOAS + "WHERE id = ANY(%s)", missing):
            row = SoasRow(row_id, *columns)
            row.load = cache.loads  # a concurrent load must not drop it
            cache.renew_soas(token, row)


async def refresh_urd(cache: Cache, connection: Connection, ids: list[int]) -> None:
    by_concept: dict[int, list[EdgeRow]] = {concept_id: [] for concept_id in ids}
    rows = await all_rows(connection, URD + "WHERE id = ANY(%s)", ids)
    await read_missing_words(cache, connection, (word for row in rows for word in row[:3]))
    for row in rows:
        by_concept[row[0]].append(EdgeRow(*row))
    ended = await read_ended(connection, ENDED.format(which=ENDED_OF), ids)
    for concept_id, edges in by_concept.items():
        cache.put_edges(concept_id, edges)
        cache.ended.pop(concept_id, None)
        cache.ended |= {concept_id: ended[concept_id]} if concept_id in ended else {}


async def refresh_queue(cache: Cache, connection: Connection, ids: list[int]) -> None:
    queued = await read_queue(cache, connection, QUEUE + "WHERE concept_id = ANY(%s)", ids)
    for concept_id in ids:
        cache.put_pending(concept_id, queued.get(concept_id, {}))


async def refresh_decided(cache: Cache, connection: Connection, ids: list[int]) -> None:
    decided = await read_decided(connection, DECIDED + "WHERE concept_id = ANY(%s)", ids)
    await read_missing_words(cache, connection, (key.parent_id for of_one in decided.values() for key in of_one))
    for concept_id in ids:
        cache.put_decided(concept_id, decided.get(concept_id, set()))


# By table: of large tables only the changed rows are read again, small ones are read whole.
REFRESH = {
    "soas": refresh_soas, "urd": refresh_urd, "resolution_queue": refresh_queue, "decided_triple": refresh_decided
}  # fmt: skip
SMALL = {
    "alias": read_aliases, "dimension": read_dimensions, "config": read_config, "agent": read_agents,
    "mute_pattern": read_mutes, "teacher": read_teachers, "project": read_projects,
    "agent_allowed_projects": read_agents, "prompt_opening": read_templates,
}  # fmt: skip
