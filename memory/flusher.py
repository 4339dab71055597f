"""Writes what a process counted: encounters, questions asked, new tokens. One transaction a flush."""

import asyncio
import logging
from contextlib import suppress

import psycopg

from memory.cache import Cache
from memory.domain.rows import SoasRow
from memory.domain.saliency import saliency
from memory.learn import Batch, Encounters

logger = logging.getLogger(__name__)

INTERVAL_S = 30.0
# A new word that became salient is flushed early, so that it gets its id; not more often than this.
EARLY_S = 0.5

# Flushers take turns: two that update the same rows in another order would deadlock.
LOCK = "SELECT pg_advisory_xact_lock(75, 0)"
COUNT = """
    UPDATE soas SET
        encounter_count = soas.encounter_count + new.count,
        last_seen = greatest(soas.last_seen, to_timestamp(new.seen)),
        saliency = CASE WHEN is_common THEN 0 ELSE log(greatest(soas.encounter_count + new.count, 1)) END
    FROM unnest(%s::int[], %s::int[], %s::float8[]) AS new (id, count, seen)
    WHERE soas.id = new.id
"""
ASK = """
    UPDATE soas SET asked_count = soas.asked_count + new.count, asked_at = now()
    FROM unnest(%s::int[], %s::int[]) AS new (id, count)
    WHERE soas.id = new.id
"""
INSERT = """
    INSERT INTO soas (token, encounter_count, last_seen, saliency)
    SELECT token, count, to_timestamp(seen), log(greatest(count, 1))
    FROM unnest(%s::text[], %s::int[], %s::float8[]) AS new (token, count, seen)
    ORDER BY token
    ON CONFLICT (token) DO UPDATE SET
        encounter_count = soas.encounter_count + excluded.encounter_count,
        last_seen = greatest(soas.last_seen, excluded.last_seen),
        saliency = CASE WHEN soas.is_common THEN 0
                        ELSE log(greatest(soas.encounter_count + excluded.encounter_count, 1)) END
    RETURNING id, token, encounter_count, is_common, is_muted, novelty
"""


class Flusher:
    """Flushes every ``INTERVAL_S`` seconds, early when asked to, and once more at the end."""

    def __init__(self, cache: Cache, encounters: Encounters, dsn: str) -> None:
        self.cache = cache
        self.encounters = encounters
        self._dsn = dsn

    async def run(self) -> None:
        while True:
            await asyncio.sleep(EARLY_S)
            with suppress(TimeoutError):
                await asyncio.wait_for(self.encounters.wanted.wait(), INTERVAL_S - EARLY_S)
            await self.flush()

    async def flush(self) -> None:
        """Writes the batch, or keeps it for the next flush when Postgres is away."""
        batch = self.encounters.take()
        if not batch:
            return
        try:
            await self._write(batch)
        except (psycopg.Error, OSError) as error:
            self.encounters.give_back(batch)
            logger.warning("flush.failed", extra={"error": str(error).partition("\n")[0]})

    async def _write(self, batch: Batch) -> None:
        rows = self.cache.soas_by_token
        names = self.cache.soas_by_id
        async with await psycopg.AsyncConnection.connect(self._dsn, connect_timeout=5) as connection:
            await connection.execute(LOCK)
            seen = [getattr(rows.get(names.get(row_id, "")), "last_seen", None) for row_id in batch.counts]
            await connection.execute(COUNT, [list(batch.counts), list(batch.counts.values()), seen])
            await connection.execute(ASK, [list(batch.asked), list(batch.asked.values())])
            fresh = batch.fresh.values()
            cursor = await connection.execute(
                INSERT, [list(batch.fresh), [f.count for f in fresh], [f.last_seen for f in fresh]]
            )
            inserted = await cursor.fetchall()
        for row_id, token, count, is_common, is_muted, novelty in inserted:
            self._learn_id(token, row_id, count, is_common, is_muted, novelty, batch)

    def _learn_id(
        self, token: str, row_id: int, count: int, common: bool, muted: bool, novelty: float, batch: Batch
    ) -> None:
        row = SoasRow(
            id=row_id,
            encounter_count=count,
            saliency=0.0 if common else saliency(count),
            novelty=novelty,
            is_common=common,
            is_muted=muted,
            last_seen=batch.fresh[token].last_seen,
        )
        if (old := self.cache.soas_by_token.get(token)) is not None:
            row.keep_ahead(old)
        self.cache.put_soas(token, row)
