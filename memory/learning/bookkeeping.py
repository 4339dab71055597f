"""Writes what a server process notes of prompts besides their new messages: the concepts that were asked about, and the
messages that were resent after a day, which are remembered for longer."""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import psycopg

from memory.cache.loader import all_rows
from memory.db.connections import PAST, chunks, columns, first_line, open_connection
from memory.learning.encounters import Encounters

logger = logging.getLogger(__name__)

INTERVAL_S: Final = 30.0
GATHER_S: Final = 0.5  # for questions: the other processes must know soon, or they ask the same
WRITE_S: Final = 20.0  # timeout for a Postgres that hangs
LAST_WRITE_S: Final = 4.0  # the same at the end, when the supervisor waits
ROWS_A_STATEMENT: Final = 1_500
SEEN_LOADED: Final = 100_000  # messages known from the start; the table recognises older ones

# Two processes that ask at the same moment count as one question; a repeated write counts nothing.
ASK: Final = f"""
    UPDATE soas SET asked_count = asked_count + 1, asked_at = {PAST.format("asked.at")}
    FROM unnest(%s::int[], %s::float8[]) AS asked (id, at)
    WHERE soas.id = asked.id AND (asked_at IS NULL OR asked_at < to_timestamp(asked.at) - interval '1 minute')
"""
RESENT: Final = f"""
    UPDATE seen_message SET last_seen = least(greatest(last_seen, {PAST.format("at")}), now())
    FROM unnest(%s::bytea[], %s::float8[]) AS again (key, at) WHERE digest = key
"""
SEEN: Final = f"""
    SELECT digest, extract(epoch FROM last_seen)::float8 FROM seen_message ORDER BY last_seen DESC LIMIT {SEEN_LOADED}
"""


class Bookkeeper:
    """Writes soon after a question, otherwise every ``INTERVAL_S`` seconds, and once more at the end."""

    def __init__(self, encounters: Encounters, dsn: str) -> None:
        self.encounters = encounters
        self._asked: dict[int, float] = {}  # ids, and when
        self._wanted = asyncio.Event()
        self._writing = asyncio.Lock()
        self._dsn = dsn

    def note_asked(self, words: Iterable[str], now: float) -> None:
        for word in words:
            row = self.encounters.cache.soas_by_token[word]
            row.asked_count += 1
            row.asked_at = now
            self._asked[row.id] = now
            self._wanted.set()

    async def run(self) -> None:
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wanted.wait(), INTERVAL_S)
            await asyncio.sleep(GATHER_S)
            # Shielded: a write under way is finished even if this task is cancelled, and the last write waits for it.
            await asyncio.shield(self.write())

    async def remember_seen(self) -> None:
        """Load which messages were counted lately, so that one resent after a restart is not taken for new."""
        try:
            async with asyncio.timeout(WRITE_S), open_connection(self._dsn, "bookkeeping") as connection:
                rows = await all_rows(connection, SEEN)
                self.encounters.remember((digest, at) for digest, at in reversed(rows))
        except (psycopg.Error, OSError) as error:
            logger.warning("seen.not_loaded", extra={"error": first_line(error)})

    async def write(self) -> None:
        """Write the pending notes, or keep them for the next time if Postgres is away. Never raises."""
        async with self._writing:
            self._wanted.clear()
            asked, resent = self._asked, list(self.encounters.resent)
            if not asked and not resent:
                return
            self._asked = {}
            self.encounters.resent.clear()
            try:
                async with asyncio.timeout(WRITE_S), open_connection(self._dsn, "bookkeeping") as connection:
                    await connection.execute(ASK, columns(sorted(asked.items()), 2))
                    for some in chunks(sorted(resent), ROWS_A_STATEMENT):
                        await connection.execute(RESENT, columns(some, 2))
            except (psycopg.Error, OSError) as error:
                self._asked = asked | self._asked
                self.encounters.resent.extendleft(reversed(resent))
                logger.warning("bookkeeping.not_written", extra={"error": first_line(error)})

    async def write_last(self) -> None:
        await asyncio.wait([asyncio.create_task(self.write())], timeout=LAST_WRITE_S)
