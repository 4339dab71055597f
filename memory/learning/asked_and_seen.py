"""Writes what a server process notes of prompts besides their new messages: the concepts that were asked about, and the
messages that were resent after a day, which are remembered for longer."""

import asyncio
import logging
from collections.abc import Iterable
from typing import Final

import psycopg

from memory.cache.loader import all_rows
from memory.cache.state import Cache
from memory.db.connections import PAST, first_line, open_connection
from memory.db.write_behind import WRITE_S, RowQueue, WriteBehind
from memory.models import SeenMessage, Soas

logger = logging.getLogger(__name__)

GATHER_S: Final = 0.5  # the other processes must know of a question soon, or they ask the same
SEEN_LOADED: Final = 100_000  # messages known from the start; the table recognises older ones

# Two processes that ask at the same moment count as one question; a repeated write counts nothing.
ASK: Final = f"""
    UPDATE soas SET asked_count = asked_count + 1, asked_at = {PAST.format("asked.at")}
    FROM jsonb_to_recordset(%s::jsonb) AS asked (id int4, at float8)
    WHERE soas.id = asked.id AND (asked_at IS NULL OR asked_at < to_timestamp(asked.at) - interval '1 minute')
"""
RESEND: Final = f"""
    UPDATE seen_message SET last_seen = least(greatest(last_seen, {PAST.format("at")}), now())
    FROM jsonb_to_recordset(%s::jsonb) AS again (key text, at float8) WHERE digest = decode(key, 'hex')
"""
SEEN: Final = f"""
    SELECT digest, extract(epoch FROM last_seen)::float8 FROM seen_message ORDER BY last_seen DESC LIMIT {SEEN_LOADED}
"""


class AskedAndSeen(WriteBehind):
    def __init__(self, cache: Cache, dsn: str) -> None:
        self._cache = cache
        self._asked, self._resent = RowQueue(Soas, ASK), RowQueue(SeenMessage, RESEND)
        super().__init__(dsn, "asked", GATHER_S, self._asked, self._resent)

    def note_asked(self, words: Iterable[str], now: float) -> None:
        for word in words:
            row = self._cache.soas_by_token[word]
            row.asked_count += 1
            row.asked_at = now
            self.put(self._asked, {"id": row.id, "at": now})

    def note_resent(self, key: bytes, now: float) -> None:
        self.put(self._resent, {"key": key.hex(), "at": now})

    async def load_seen(self) -> list[tuple[bytes, float]]:
        """Return which messages were counted lately, and when they were last seen, the oldest first, so that one resent
        after a restart is not taken for new; none if Postgres is away."""
        try:
            async with asyncio.timeout(WRITE_S), open_connection(self._dsn, self._name) as connection:
                rows = await all_rows(connection, SEEN)
        except (psycopg.Error, OSError) as error:
            logger.warning("seen.not_loaded", extra={"error": first_line(error)})
            return []
        return [(digest, at) for digest, at in reversed(rows)]
