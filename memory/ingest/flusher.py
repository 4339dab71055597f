"""Writes what a process heard: which messages are new, how often they name each word, the sentences they name it
in, the questions asked. Counts are exact: a message counts with the transaction that stores its digest."""

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress

import psycopg

from memory.cache.loader import SOAS, Pace, all_rows, batches
from memory.cache.state import Cache
from memory.db.connections import Connection, chunks, columns, connected, first_line
from memory.db.locks import UNTIL_COMMIT, Lock
from memory.domain.types import SoasRow, TripleIds
from memory.ingest import snippet_store
from memory.ingest.encounters import Batch, Encounters
from memory.ingest.extraction import Heard

logger = logging.getLogger(__name__)

INTERVAL_S = 30.0
# What cannot wait is flushed early: a new word that became salient, to get its id, and a question that was asked,
# for the other processes to know. Not more often than this.
EARLY_S = 0.5
WRITE_S = 20.0  # for one transaction, before a Postgres that stands still is given up
LAST_WRITE_S = 4.0  # the same at the end, when the supervisor waits
# New words of one statement. Over 2,000 would make every process load everything anew.
WORDS_A_STATEMENT = 1_500
# Of readings, in one transaction: what Postgres was away for is written step by step, however much it is.
PORTION_BYTES = 500_000
SEEN_LOADED = 100_000  # messages known from the start; those of older conversations are told apart by the flush

HEAR = """
    INSERT INTO seen_message (digest, last_seen) SELECT digest, to_timestamp(at)
    FROM unnest(%s::bytea[], %s::float8[]) AS heard (digest, at) ON CONFLICT DO NOTHING RETURNING digest
"""
SEE_AGAIN = """
    UPDATE seen_message SET last_seen = greatest(last_seen, to_timestamp(at))
    FROM unnest(%s::bytea[], %s::float8[]) AS again (key, at) WHERE digest = key
"""
SEEN = f"""
    SELECT digest, extract(epoch FROM last_seen)::float8 FROM seen_message ORDER BY last_seen DESC LIMIT {SEEN_LOADED}
"""
# Two processes that ask at the same moment have asked once. Written twice, it is the same question.
ASK = """
    UPDATE soas SET asked_count = asked_count + 1, asked_at = to_timestamp(asked.at)
    FROM unnest(%s::int[], %s::float8[]) AS asked (id, at)
    WHERE soas.id = asked.id AND (asked_at IS NULL OR asked_at < to_timestamp(asked.at) - interval '1 minute')
"""
# Known words are updated, only new ones inserted: an upsert would use up an id for every word it meets again.
MEET = """
    WITH met AS (SELECT * FROM unnest(%s::text[], %s::int[], %s::float8[]) AS met (token, count, seen)),
    known AS (
        UPDATE soas SET
            encounter_count = soas.encounter_count + met.count,
            last_seen = greatest(soas.last_seen, to_timestamp(met.seen)),
            saliency = CASE WHEN is_common THEN 0 ELSE log(soas.encounter_count + met.count) END
        FROM met WHERE soas.token = met.token
    )
    INSERT INTO soas (token, encounter_count, last_seen, saliency)
    SELECT token, count, to_timestamp(seen), log(count) FROM met
    WHERE NOT EXISTS (SELECT FROM soas WHERE soas.token = met.token)
    ORDER BY token
    ON CONFLICT (token) DO UPDATE SET
        encounter_count = soas.encounter_count + excluded.encounter_count,
        last_seen = greatest(soas.last_seen, excluded.last_seen),
        saliency = CASE WHEN soas.is_common THEN 0 ELSE log(soas.encounter_count + excluded.encounter_count) END
"""

# A worker asks a language model about them, or waits until there is one. One that waits already is not asked twice.
HAND_OVER = """
    INSERT INTO observation (kind, concept, digest, role, agent, said_at)
    SELECT 'concept', concept, digest, role, agent, to_timestamp(at)
    FROM unnest(%s::text[], %s::bytea[], %s::text[], %s::text[], %s::float8[])
        AS unexplained (concept, digest, role, agent, at)
    ON CONFLICT DO NOTHING
"""
# Whoever places facts holds locks on edges: what is locked is mentioned again.
CONFIRM = """
    UPDATE urd SET last_confirmed = to_timestamp(at) FROM (
        SELECT edge_id, at FROM urd JOIN unnest(%s::int[], %s::int[], %s::int[], %s::float8[])
            AS mentioned (concept, dim, parent, at) ON (urd.id, dim_id, parent_id) = (concept, dim, parent)
        WHERE last_confirmed < to_timestamp(at) - interval '1 hour' FOR UPDATE OF urd SKIP LOCKED
    ) AS due WHERE urd.edge_id = due.edge_id
"""


class Flusher:
    """Flushes every ``INTERVAL_S`` seconds, early when asked to, and once more at the end."""

    def __init__(self, cache: Cache, encounters: Encounters, dsn: str) -> None:
        self.cache = cache
        self.encounters = encounters
        self._dsn = dsn
        self._flushing = asyncio.Lock()

    async def run(self) -> None:
        while True:
            await asyncio.sleep(EARLY_S)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.encounters.wanted.wait(), INTERVAL_S - EARLY_S)
            # Shielded: it is finished, also where this task is cancelled. The last flush waits for it.
            await asyncio.shield(self.flush())

    async def remember_seen(self) -> None:
        """Loads which messages were counted lately, so that one resent after a restart is not taken for new."""
        try:
            async with asyncio.timeout(WRITE_S), connected(self._dsn, "flusher") as connection:
                rows = await all_rows(connection, SEEN)
                self.encounters.remember((digest, at) for digest, at in reversed(rows))
        except (psycopg.Error, OSError) as error:
            logger.warning("seen.not_loaded", extra={"error": first_line(error)})

    async def flush(self) -> None:
        """Writes what waits, or keeps it for the next flush when Postgres is away. Never raises."""
        async with self._flushing:
            await self.encounters.learn()
            batch = self.encounters.take()
            if batch:
                await self._try_to_write(batch)

    async def flush_last(self) -> None:
        """The flush of a server that stops: what Postgres does not take in time is lost."""
        waiting = self.encounters.pending()
        last = asyncio.create_task(self.flush())
        await asyncio.wait([last], timeout=LAST_WRITE_S)
        if not last.done() or self.encounters.pending():
            logger.error("flush.lost", extra={"messages": waiting})

    async def _try_to_write(self, batch: Batch) -> None:
        try:
            await self._write(batch)
        except (psycopg.IntegrityError, psycopg.DataError):
            # It would fail again, and keep everything after it from being written.
            self.encounters.dropped += len(batch.heard)
            logger.exception("flush.refused", extra={"messages": len(batch.heard)})
        except (psycopg.Error, OSError) as error:
            # Also where nobody knows whether it was written: the digests will tell.
            self.encounters.give_back(batch)
            logger.warning("flush.failed", extra={"error": first_line(error)})
        except asyncio.CancelledError:
            self.encounters.give_back(batch)
            raise
        except Exception:  # the next flush must come, whatever this one met
            self.encounters.dropped += len(batch.heard)
            logger.exception("flush.failed", extra={"messages": len(batch.heard)})

    async def _write(self, batch: Batch) -> None:
        new: list[Heard] = []
        async with connected(self._dsn, "flusher") as connection:
            for portion in portions(batch.heard.values()):
                async with turn(connection):
                    heard = await hear(connection, portion)
                    await meet(connection, heard)
                new += heard
            async with turn(connection):
                for again in chunks(batch.seen_again.items(), WORDS_A_STATEMENT):
                    await connection.execute(SEE_AGAIN, columns(again, 2))
                await connection.execute(ASK, columns(batch.asked.items(), 2))
            await self._settle(connection, batch.named)
            await self._teach(connection, batch, new)

    async def _settle(self, connection: Connection, names: Iterable[str]) -> None:
        for some in chunks(names, WORDS_A_STATEMENT):
            async with asyncio.timeout(WRITE_S):
                async for rows in batches(connection, SOAS + "WHERE token = ANY(%s)", some):
                    self.encounters.settle([(token, SoasRow(row_id, *facts)) for row_id, token, *facts in rows])

    async def _teach(self, connection: Connection, batch: Batch, new: Iterable[Heard]) -> None:
        """The messages are counted: what fails here costs only what else they teach."""
        try:
            async with asyncio.timeout(WRITE_S):
                await snippet_store.keep(connection, self.cache, new)
                await hand_over(connection, batch.unexplained)
                await confirm(connection, batch.confirmed)
        except Exception as error:
            is_ours = not isinstance(error, (psycopg.Error, OSError))
            logger.warning("teaching.lost", exc_info=is_ours, extra={"error": first_line(error)})


@asynccontextmanager
async def turn(connection: Connection) -> AsyncIterator[None]:
    """One transaction of one flusher at a time. Raises TimeoutError."""
    async with asyncio.timeout(WRITE_S), connection.transaction():
        await connection.execute(UNTIL_COMMIT, [Lock.VOCABULARY, [0]])
        yield


def portions(heard: Iterable[Heard]) -> Iterator[list[Heard]]:
    portion: list[Heard] = []
    size = 0
    for message in heard:
        portion.append(message)
        size += message.reading.size
        if size >= PORTION_BYTES:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


async def hear(connection: Connection, messages: Iterable[Heard]) -> list[Heard]:
    """Stores the digests of the messages; returns those that were not there, and so have not been counted."""
    heard = {message.key: message for message in messages}
    keys = [(key, message.at) for key, message in heard.items()]
    cursor = await connection.execute(HEAR, columns(keys, 2), binary=True)
    return [heard[digest] for (digest,) in await cursor.fetchall()]


async def meet(connection: Connection, new: Iterable[Heard]) -> None:
    """Counts the words of new messages, in the order of the words."""
    counts: Counter[str] = Counter()
    last_seen: dict[str, float] = {}
    pace = Pace()
    for message in sorted(new, key=lambda message: message.at):
        for words in chunks(message.reading.words.split(), WORDS_A_STATEMENT):
            counts.update(words)
            last_seen.update(dict.fromkeys(words, message.at))
            await pace.step()
    met = [(word, counts[word], last_seen[word]) for word in sorted(counts)]
    for chunk in chunks(met, WORDS_A_STATEMENT):
        await connection.execute(MEET, columns(chunk, 3))


async def hand_over(connection: Connection, unexplained: Mapping[str, Heard]) -> None:
    """The concepts go to the workers, after the sentences that name them."""
    rows = [(name, heard.key, heard.reading.role, heard.agent, heard.at) for name, heard in unexplained.items()]
    for chunk in chunks(rows, WORDS_A_STATEMENT):
        await connection.execute(HAND_OVER, columns(chunk, 5))


async def confirm(connection: Connection, mentioned: Mapping[TripleIds, float]) -> None:
    for chunk in chunks(((*triple, at) for triple, at in mentioned.items()), WORDS_A_STATEMENT):
        await connection.execute(CONFIRM, columns(chunk, 4))
