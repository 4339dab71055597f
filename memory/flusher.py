"""Writes what a process counted: encounters, questions asked, new tokens. One transaction a flush."""

import asyncio
import logging
from contextlib import suppress

import psycopg

from memory.cache import Cache
from memory.domain.rows import SoasRow
from memory.learn import Batch, Encounters

logger = logging.getLogger(__name__)

INTERVAL_S = 30.0
# A new word that became salient is flushed early, so that it gets its id; not more often than this.
EARLY_S = 0.5

# Flushers take turns: two that update the same rows in another order would deadlock.
LOCK = "SELECT pg_advisory_xact_lock(75, 0)"
ASK = """
    UPDATE soas SET asked_count = soas.asked_count + new.count, asked_at = now()
    FROM unnest(%s::int[], %s::int[]) AS new (id, count)
    WHERE soas.id = new.id
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
        saliency = log(soas.encounter_count + excluded.encounter_count)
    RETURNING id, token, encounter_count, saliency, novelty, is_common, is_muted,
              extract(epoch FROM last_seen)::float8
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
            # Shielded: a flush that is cut short could not tell whether it was written. The last one waits for it.
            await asyncio.shield(self.flush())

    async def flush(self) -> None:
        """Writes the batch, or keeps it for the next flush when Postgres is away. Never raises."""
        async with self._flushing:
            batch = self.encounters.take()
            if batch:
                await self._try_to_write(batch)

    async def _try_to_write(self, batch: Batch) -> None:
        try:
            await self._write(batch)
        except (psycopg.IntegrityError, psycopg.DataError):
            # It would fail again, and keep everything after it from being written.
            self.encounters.dropped += len(batch.met)
            logger.exception("flush.refused", extra={"tokens": len(batch.met)})
        except (psycopg.Error, OSError) as error:
            self.encounters.give_back(batch)
            logger.warning("flush.failed", extra={"error": str(error).partition("\n")[0]})
        except Exception:  # the next flush must come, whatever this one met
            self.encounters.dropped += len(batch.met)
            logger.exception("flush.failed", extra={"tokens": len(batch.met)})

    async def _write(self, batch: Batch) -> None:
        tallies = batch.met.values()
        met = [list(batch.met), [tally.count for tally in tallies], [tally.last_seen for tally in tallies]]
        async with await psycopg.AsyncConnection.connect(self._dsn, connect_timeout=5) as connection:
            await connection.execute(LOCK)
            await connection.execute(ASK, [list(batch.asked), list(batch.asked.values())])
            cursor = await connection.execute(MEET, met)
            inserted = await cursor.fetchall()
        for row_id, token, *columns in inserted:
            row = SoasRow(row_id, *columns)
            if (old := self.cache.soas_by_token.get(token)) is not None:
                row.keep_ahead(old)
            self.cache.put_soas(token, row)
