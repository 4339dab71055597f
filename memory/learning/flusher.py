"""Writes what a process learned from new messages: their digests, how often they name each token, the sentences they
name it in, and the questions that were asked."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, suppress

import psycopg

from memory.cache.loader import SOAS, all_rows, batches
from memory.cache.state import Cache
from memory.db.connections import PAST, Connection, chunks, columns, first_line, open_connection
from memory.db.locks import UNTIL_COMMIT, Lock
from memory.domain.types import SoasRow
from memory.learning import snippet_store, unexplained
from memory.learning.encounters import Batch, Encounters
from memory.learning.extraction import NewMessage
from memory.learning.vocabulary import WORDS_A_STATEMENT, VocabularyWriter

logger = logging.getLogger(__name__)

INTERVAL_S = 30.0
# What cannot wait is flushed early, but not more often than this: a new word that became salient needs its id, and the
# other processes must know of a question.
EARLY_S = 0.5
WRITE_S = 20.0  # for one transaction, before we give up on a Postgres that hangs
LAST_WRITE_S = 4.0  # the same at the end, when the supervisor waits
# Of readings, in one transaction: after an outage, what waits is written in portions.
PORTION_BYTES = 500_000
SEEN_LOADED = 100_000  # messages known from the start; the flush recognises older ones

INSERT_MESSAGES = f"""
    INSERT INTO seen_message (digest, last_seen) SELECT digest, {PAST.format("at")}
    FROM unnest(%s::bytea[], %s::float8[]) AS heard (digest, at) ON CONFLICT DO NOTHING RETURNING digest
"""
UPDATE_MESSAGES = f"""
    UPDATE seen_message SET last_seen = least(greatest(last_seen, {PAST.format("at")}), now())
    FROM unnest(%s::bytea[], %s::float8[]) AS again (key, at) WHERE digest = key
"""
SEEN = f"""
    SELECT digest, extract(epoch FROM last_seen)::float8 FROM seen_message ORDER BY last_seen DESC LIMIT {SEEN_LOADED}
"""
# Two processes that ask at the same moment have asked once; a flush that is repeated has not asked again.
ASK = f"""
    UPDATE soas SET asked_count = asked_count + 1, asked_at = {PAST.format("asked.at")}
    FROM unnest(%s::int[], %s::float8[]) AS asked (id, at)
    WHERE soas.id = asked.id AND (asked_at IS NULL OR asked_at < to_timestamp(asked.at) - interval '1 minute')
"""
# Moves ``last_confirmed`` of facts to when they were mentioned, at most hourly for each.
# SKIP LOCKED: a worker that places facts holds locks on edges, and a mention is not worth waiting for.
CONFIRM = f"""
    UPDATE urd SET last_confirmed = {PAST.format("at")} FROM (
        SELECT edge_id, at FROM urd JOIN unnest(%s::int[], %s::int[], %s::int[], %s::float8[])
            AS mentioned (concept, dim, parent, at) ON (urd.id, dim_id, parent_id) = (concept, dim, parent)
        WHERE last_confirmed < to_timestamp(at) - interval '1 hour' FOR UPDATE OF urd SKIP LOCKED
    ) AS due WHERE urd.edge_id = due.edge_id
"""


async def has_none() -> bool:
    """Of a process whose messages state nothing."""
    return True


class Flusher:
    """Flushes every ``INTERVAL_S`` seconds, early when asked to, and once more at the end. ``store_statements`` says
    whether all that ``encounters`` has handed over survives the end of this process."""

    def __init__(
        self,
        cache: Cache,
        encounters: Encounters,
        dsn: str,
        store_statements: Callable[[], Awaitable[bool]] = has_none,
    ) -> None:
        self.cache = cache
        self.encounters = encounters
        self._store_statements = store_statements
        self._dsn = dsn
        self._flushing = asyncio.Lock()
        self._vocabulary = VocabularyWriter(cache)

    async def run(self) -> None:
        while True:
            await asyncio.sleep(EARLY_S)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.encounters.wanted.wait(), INTERVAL_S - EARLY_S)
            # Shielded: a flush under way is finished even if this task is cancelled, and the last flush waits for it.
            await asyncio.shield(self.flush())

    async def remember_seen(self) -> None:
        """Loads which messages were counted lately, so that one resent after a restart is not taken for new."""
        try:
            async with asyncio.timeout(WRITE_S), open_connection(self._dsn, "flusher") as connection:
                rows = await all_rows(connection, SEEN)
                self.encounters.remember((digest, at) for digest, at in reversed(rows))
        except (psycopg.Error, OSError) as error:
            logger.warning("seen.not_loaded", extra={"error": first_line(error)})

    async def flush(self) -> None:
        """Writes what waits, or keeps it for the next flush when Postgres is away. Never raises."""
        async with self._flushing:
            await self.encounters.learn()
            batch = self.encounters.take()
            if not batch:
                return
            # A message whose digest is stored never teaches again: what it states is stored first.
            if await self._store_statements():
                await self._try_to_write(batch)
            else:
                self.encounters.give_back(batch)
                logger.warning("flush.put_off", extra={"messages": len(batch.messages)})

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
        except (psycopg.IntegrityError, psycopg.DataError) as error:
            # It would fail again, and keep everything after it from being written.
            self._drop(len(batch.messages), error)
        except (psycopg.Error, OSError) as error:
            # Possibly it was written after all: then the digests are there, and nothing counts twice.
            self.encounters.give_back(batch)
            logger.warning("flush.failed", extra={"error": first_line(error)})
        except asyncio.CancelledError:
            self.encounters.give_back(batch)
            raise
        except Exception:  # the next flush must come, whatever went wrong in this one
            self.encounters.dropped += len(batch.messages)
            logger.exception("flush.failed", extra={"messages": len(batch.messages)})

    async def _write(self, batch: Batch) -> None:
        new: list[NewMessage] = []
        async with open_connection(self._dsn, "flusher") as connection:
            for portion in split_portions(batch.messages.values()):
                new += await self._write_messages(connection, portion, batch)
            async with take_turn(connection):
                for again in chunks(batch.seen_again.items(), WORDS_A_STATEMENT):
                    await connection.execute(UPDATE_MESSAGES, columns(again, 2))
                await connection.execute(ASK, columns(batch.asked.items(), 2))
            await self._take_over_rows(connection, batch.counts)
            await self._write_learned(connection, batch, new)

    async def _write_messages(
        self, connection: Connection, messages: list[NewMessage], batch: Batch
    ) -> list[NewMessage]:
        """Those that are new. What Postgres refuses is halved until the bad message is found, which is dropped."""
        try:
            # Counts are exact: a message counts in the transaction that stores its digest. So a flush of which nobody
            # knows whether it was committed is simply done again.
            async with take_turn(connection):
                inserted = await insert_new_messages(connection, messages)
                await self._vocabulary.count_words(connection, inserted)
                first_named = (name for message in inserted for name in batch.first_named.get(message.key, ()))
                await unexplained.count_conversations(connection, first_named)
                return inserted
        except (psycopg.IntegrityError, psycopg.DataError) as error:
            if len(messages) == 1:
                self._drop(1, error)
                return []
        middle = len(messages) // 2
        first = await self._write_messages(connection, messages[:middle], batch)
        return first + await self._write_messages(connection, messages[middle:], batch)

    def _drop(self, messages: int, error: psycopg.Error) -> None:
        self.encounters.dropped += messages
        # Without a traceback: Postgres' detail quotes the row.
        logger.error("flush.refused", extra={"messages": messages, "error": first_line(error)})

    async def _take_over_rows(self, connection: Connection, names: Iterable[str]) -> None:
        for some in chunks(names, WORDS_A_STATEMENT):
            async with asyncio.timeout(WRITE_S):
                async for rows in batches(connection, SOAS + "WHERE token = ANY(%s)", some):
                    self.encounters.settle([(token, SoasRow(row_id, *facts)) for row_id, token, *facts in rows])

    async def _write_learned(self, connection: Connection, batch: Batch, new: Iterable[NewMessage]) -> None:
        # The messages are counted by now: an error here costs only what else they teach.
        try:
            async with asyncio.timeout(WRITE_S):
                await snippet_store.store_snippets(connection, self.cache, new)
                # After the sentences that name them: a worker may ask about a concept as soon as its row is there.
                await unexplained.hand_over(connection, self.cache, batch.unexplained)
                for some in chunks(((*triple, at) for triple, at in batch.confirmed.items()), WORDS_A_STATEMENT):
                    await connection.execute(CONFIRM, columns(some, 4))
        except Exception as error:
            is_ours = not isinstance(error, (psycopg.Error, OSError))
            logger.warning("teaching.lost", exc_info=is_ours, extra={"error": first_line(error)})


@asynccontextmanager
async def take_turn(connection: Connection) -> AsyncIterator[None]:
    """A transaction; one flusher at a time, over all processes. Raises TimeoutError."""
    async with asyncio.timeout(WRITE_S), connection.transaction():
        await connection.execute(UNTIL_COMMIT, [Lock.VOCABULARY, [0]])
        yield


def split_portions(messages: Iterable[NewMessage]) -> Iterator[list[NewMessage]]:
    portion: list[NewMessage] = []
    size = 0
    for message in messages:
        portion.append(message)
        size += message.reading.size
        if size >= PORTION_BYTES:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


async def insert_new_messages(connection: Connection, messages: Iterable[NewMessage]) -> list[NewMessage]:
    """Stores the digests of the messages; returns those that were not stored yet, and so have not been counted."""
    by_key = {message.key: message for message in messages}
    keys = [(key, message.at) for key, message in by_key.items()]
    cursor = await connection.execute(INSERT_MESSAGES, columns(keys, 2), binary=True)
    return [by_key[digest] for (digest,) in await cursor.fetchall()]
