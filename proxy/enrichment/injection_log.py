"""The table ``injection``: what each process put into prompts, for the others and for the time after a restart."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import psycopg

from memory.cache.loader import batches
from memory.db.connections import Connection, first_line, open_connection
from memory.domain.recall.rendering import Block, ShownFact
from proxy.domain.prefixes import SIZE
from proxy.enrichment.conversations import Conversations, Injection
from proxy.telemetry.events import WriteBehind

logger = logging.getLogger(__name__)

GATHER_S = 0.05  # what comes meanwhile is written together; a client's next turn takes longer
RETRY_S = 1.0
WRITE_S = 10.0
LAST_WRITE_S = 1.0
LOADED_MAX = 200_000  # rows, the newest

# Types by column, but for ``at``.
COLUMNS = {
    "conversation": "bytea",
    "keys": "bytea",
    "place": "bytea",
    "block": "text",
    "content": "jsonb",
    "system": "text",
}
READ = f"SELECT {', '.join(COLUMNS)}, extract(epoch FROM at)::float8 FROM"
RECENT = f"""
    {READ} (
        SELECT * FROM injection WHERE at >= now() - interval '24 hours' ORDER BY id DESC LIMIT {LOADED_MAX}
    ) AS newest ORDER BY id
"""
SOME = f"{READ} injection WHERE id = ANY(%s) ORDER BY id"


class InjectionLog:
    """Writes injections in the background, soon after they come."""

    def __init__(self, dsn: str) -> None:
        self._dsn = dsn
        self._waiting = WriteBehind("injection", COLUMNS)
        self._wanted = asyncio.Event()

    @property
    def dropped(self) -> int:
        return self._waiting.dropped

    def add(self, injection: Injection) -> None:
        self._waiting.add(as_row(injection))
        self._wanted.set()

    async def run(self) -> None:
        """Writes what comes, over one connection."""
        while True:
            try:
                async with open_connection(self._dsn, "injections") as connection:
                    await self._write_on(connection)
            except (psycopg.Error, OSError) as error:
                logger.warning("injections.not_written", extra={"error": first_line(error)})
            await asyncio.sleep(RETRY_S)

    async def _write_on(self, connection: Connection) -> None:
        while True:
            await self._wanted.wait()
            await asyncio.sleep(GATHER_S)
            await self._write(connection)

    async def _write(self, connection: Connection) -> None:
        self._wanted.clear()
        try:
            async with asyncio.timeout(WRITE_S):
                await self._waiting.write(connection)
        finally:
            if len(self._waiting):
                self._wanted.set()

    async def write_last(self) -> None:
        """What is left when ``run`` has ended, as far as Postgres takes it at once."""
        with suppress(psycopg.Error, OSError):
            async with asyncio.timeout(LAST_WRITE_S), open_connection(self._dsn, "injections") as connection:
                await self._write(connection)


class InjectionFollower:
    """Keeps this process's conversations in step with the table."""

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations

    async def load(self, connection: Connection) -> None:
        """Reads what was injected lately, by this process before it was started, or by others."""
        async for injection in read_injections(connection, RECENT):
            self._conversations.remember(injection)

    async def refresh(self, connection: Connection, keys: list[int]) -> None:
        """Reads the rows that were just announced."""
        async for injection in read_injections(connection, SOME, keys):
            self._conversations.remember(injection)


async def read_injections(
    connection: Connection, query: str, keys: list[int] | None = None
) -> AsyncIterator[Injection]:
    """What ``RECENT``, or ``SOME`` with keys of rows, finds; in the order in which it was written."""
    async for rows in batches(connection, query, keys):
        for conversation, others, place, text, content, system, at in rows:
            others = tuple(bytes(others[start : start + SIZE]) for start in range(0, len(others), SIZE))
            # A block without text may still tell what was asked (placement ``system``).
            block = Block(text, tuple(ShownFact(*fact) for fact in content["facts"]), tuple(content["questions"]))
            yield Injection(bytes(conversation), others, bytes(place), block, system, at)


def as_row(injection: Injection) -> dict[str, Any]:
    block = injection.block
    return {
        "conversation": as_text(injection.conversation),
        "keys": as_text(b"".join(injection.keys)),
        "place": as_text(injection.place),
        "block": block.text,
        "content": {"facts": [tuple(fact) for fact in block.facts], "questions": block.questions},
        "system": None if injection.system is None else injection.system.replace("\0", ""),  # Postgres takes no NUL
        "at": injection.at,
    }


def as_text(value: bytes) -> str:
    """As Postgres reads it into ``bytea``."""
    return "\\x" + value.hex()
