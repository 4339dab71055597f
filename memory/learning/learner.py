"""Learns from new messages, in a worker: counts their words, reads what they state, keeps the sentences that name a
concept. A message and what is learned from it are one transaction; one worker learns at a time, in the order in which
messages came."""

import asyncio
import logging
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from typing import Any, Final

import psycopg

from memory.cache.loader import SOAS, all_rows
from memory.cache.state import Cache
from memory.db.claims import RETRY_AFTER
from memory.db.connections import PAST, Connection, chunks, columns, first_line, is_lost, open_connection
from memory.db.locks import UNTIL_COMMIT, Lock
from memory.domain.authorship.voice import Voice
from memory.domain.steps import finish
from memory.domain.types import SoasRow, TripleIds
from memory.learning import snippet_store, unexplained
from memory.learning.encounters import IN_NAMED_CHAT
from memory.learning.extraction import NewMessage, extract_statements, find_confirmed, find_unexplained
from memory.learning.heard import HeardMessage, digest_heard
from memory.learning.observations import insert_observations
from memory.learning.openings import count_openings
from memory.learning.vocabulary import WORDS_A_STATEMENT, VocabularyWriter
from memory.semantic.domain.scope import Scope, Speaker

logger = logging.getLogger(__name__)

BATCH: Final = 50  # messages per transaction
ERROR_MAX: Final = 1_000  # characters

WAITING: Final = """
    SELECT id, key, agent, speaker, person, project_id, role, text, extract(epoch FROM said_at)::float8, voice,
        is_dated, request
    FROM heard_message
    WHERE next_attempt_at <= statement_timestamp() AND (%s::bigint IS NULL OR id = %s)
    ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
"""
AT_SAME_PLACE: Final = """
    SELECT earlier.id, earlier.place, earlier.text, now.text FROM episode now JOIN episode earlier
        ON earlier.place = now.place AND (earlier.agent, earlier.person) = (now.agent, now.person)
        AND earlier.project_id IS NOT DISTINCT FROM now.project_id AND earlier.id < now.id
    WHERE now.digest = ANY(%s) AND earlier.replaced_at IS NULL AND earlier.role = 'user'
"""
REPLACE: Final = "UPDATE episode SET replaced_at = statement_timestamp() WHERE id = ANY(%s)"
WORDS: Final = re.compile(r"\w+")
DELETE: Final = "DELETE FROM heard_message WHERE id = ANY(%s)"
INSERT_SEEN: Final = f"""
    INSERT INTO seen_message (digest, last_seen) SELECT digest, {PAST.format("at")}
    FROM unnest(%s::bytea[], %s::float8[]) AS heard (digest, at) ON CONFLICT DO NOTHING RETURNING digest
"""
# Moves ``last_confirmed`` of facts to when they were mentioned, at most hourly for each.
# SKIP LOCKED: a worker that places facts holds locks on edges, and a mention is not worth waiting for.
CONFIRM: Final = f"""
    UPDATE urd SET last_confirmed = {PAST.format("at")} FROM (
        SELECT edge_id, at FROM urd JOIN unnest(%s::int[], %s::int[], %s::int[], %s::float8[])
            AS mentioned (concept, dim, parent, at) ON (urd.id, dim_id, parent_id) = (concept, dim, parent)
        WHERE last_confirmed < to_timestamp(at) - interval '1 hour' FOR UPDATE OF urd SKIP LOCKED
    ) AS due WHERE urd.edge_id = due.edge_id
"""
FAILED: Final = """
    UPDATE heard_message SET attempts = attempts + 1, last_error = %(error)s,
        next_attempt_at = now() + (%(pauses)s::interval[])[attempts + 1]
    WHERE id = %(id)s RETURNING request
"""


class Learner:
    """Runs on the event loop that keeps ``cache``; nothing else waits on that loop."""

    def __init__(self, cache: Cache, dsn: str) -> None:
        self._cache = cache
        self._dsn = dsn
        self._vocabulary = VocabularyWriter(cache)
        self._connection: Connection | None = None
        self._lifetime = AsyncExitStack()
        self._learning = asyncio.Lock()
        self._is_wanted = False

    async def learn(self) -> int:
        """Learn from the messages that are due, and return from how many. If it is running already, that run continues
        with what came meanwhile, and this call returns 0 at once.

        Raises psycopg.Error or OSError if Postgres is away."""
        self._is_wanted = True
        if self._learning.locked():
            return 0
        count = 0
        async with self._learning:
            try:
                connection = await self._connect()
                while self._is_wanted:
                    self._is_wanted = False
                    while found := await self._learn_batch(connection):
                        count += found
            except BaseException:
                await self.close()
                raise
        return count

    async def close(self) -> None:
        self._connection = None
        with suppress(psycopg.Error, OSError):
            await self._lifetime.aclose()

    async def _connect(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = await self._lifetime.enter_async_context(open_connection(self._dsn, "learning"))
        return self._connection

    async def _learn_batch(self, connection: Connection) -> int:
        """Learn a batch; return how many messages were dealt with. Those that cannot be learned from are put off."""
        ids: list[int] = []
        try:
            return await self._learn_together(connection, ids)
        except Exception as error:
            if is_lost(error):
                raise
            logger.warning("messages.apart", extra={"messages": len(ids), "error": first_line(error)})
        for key in ids:
            try:
                await self._learn_together(connection, [], key)
            except Exception as error:  # one bad message never stops the others
                if is_lost(error):
                    raise
                told = f"{type(error).__name__}: {first_line(error)}"[:ERROR_MAX]
                failed = {"error": told, "pauses": list(RETRY_AFTER), "id": key}
                cursor = await connection.execute(FAILED, failed)
                [request] = await cursor.fetchone() or [""]
                # A traceback if the mistake is ours; Postgres's error would quote what people said.
                is_ours = not isinstance(error, psycopg.Error)
                facts = {"row": key, "error": first_line(error), "request": request}
                logger.warning("message.unread", exc_info=is_ours and error, extra=facts)
        return len(ids)

    async def _learn_together(self, connection: Connection, ids: list[int], only: int | None = None) -> int:
        """Learn a batch in one transaction; adds the ids of its messages to ``ids``."""
        async with connection.transaction():
            await connection.execute(UNTIL_COMMIT, [Lock.VOCABULARY, [0]])
            rows = await take_due(connection, only)
            ids += [row[0] for row in rows]
            if rows:
                new = await insert_seen(connection, [read_row(self._cache, *row[1:]) for row in rows])
                await mark_replaced(connection, new)
                await count_openings(connection, new)
                await self._store(connection, new)
                await connection.execute(DELETE, [ids])
        if rows:
            requests = ",".join(sorted({message.request for message in new if message.request}))
            logger.info("messages.learned", extra={"messages": len(rows), "new": len(new), "requests": requests})
        return len(rows)

    async def _store(self, connection: Connection, new: Sequence[NewMessage]) -> None:
        cache = self._cache
        await self._vocabulary.count_words(connection, new)
        rows = await self._read_rows(connection, new)
        named = {
            (name, message.conversation): message for message in new for name in find_unexplained(cache, message, rows)
        }
        await unexplained.count_conversations(connection, named.keys())
        if statements := [statement for message in new for statement in extract_statements(cache, message)]:
            await insert_observations(connection, statements)
        # Before the concepts are handed over: a worker may ask about one as soon as its row exists.
        await snippet_store.store_snippets(connection, cache, new, rows)
        await unexplained.hand_over(connection, cache, {name: message for (name, _), message in named.items()})
        await confirm(connection, {triple: message.at for message in new for triple in find_confirmed(cache, message)})

    async def _read_rows(self, connection: Connection, new: Sequence[NewMessage]) -> dict[str, SoasRow]:
        """Return the rows of the names with their present counts."""
        canonical = self._cache.canonical
        names = {name for message in new for name in message.names}
        stored: dict[str, SoasRow] = {}
        for some in chunks(sorted(set(map(canonical, names))), WORDS_A_STATEMENT):
            for row_id, token, *facts in await all_rows(connection, SOAS + "WHERE token = ANY(%s)", some):
                stored[token] = SoasRow(row_id, *facts)
        return {name: row for name in names if (row := stored.get(canonical(name))) is not None}


def read_row(
    cache: Cache, key: bytes, agent: str, speaker: str, person: str, project: int | None, role: str,
    text: str, at: float, voice: str, is_dated: bool, request: str,
) -> NewMessage:  # fmt: skip
    scope = Scope(Speaker(speaker, person), project) if speaker else None
    heard = HeardMessage(key, agent, scope, role, text, at, voice=Voice(voice), is_dated=is_dated, request=request)
    return finish(NewMessage.of(cache, heard))


async def take_due(connection: Connection, only: int | None) -> list[tuple[Any, ...]]:
    """Return the messages that are due, the oldest first, or only one of them."""
    cursor = await connection.execute(WAITING, [only, only, BATCH], binary=True)
    return await cursor.fetchall()


async def insert_seen(connection: Connection, messages: Iterable[NewMessage]) -> list[NewMessage]:
    """Store the digests of the messages; return those that were not stored yet, and so have taught nothing."""
    by_key: dict[bytes, NewMessage] = {}
    for message in messages:
        by_key.setdefault(message.key, message)
    keys = [(key, message.at) for key, message in by_key.items()]
    cursor = await connection.execute(INSERT_SEEN, columns(keys, 2), binary=True)
    new = {digest for (digest,) in await cursor.fetchall()}
    return [message for key, message in by_key.items() if key in new]


async def mark_replaced(connection: Connection, messages: Iterable[NewMessage]) -> None:
    """Mark what was in the place of these messages before their clients edited it: its statements are taken back next
    (resolution.memories.replacing)."""
    digests = [
        digest_heard(message.key, message.scope)
        for message in messages
        if message.role == "user" and message.is_dated and message.scope is not None
    ]
    if not digests:
        return
    cursor = await connection.execute(AT_SAME_PLACE, [digests], binary=True)
    replaced = [
        row
        for row, place, said_before, said_now in await cursor.fetchall()
        if place[:1] == IN_NAMED_CHAT or is_edited(said_before, said_now)
    ]
    if replaced:
        await connection.execute(REPLACE, [replaced])


def is_edited(before: str, now: str) -> bool:
    """True if ``now`` is probably ``before`` with some words changed: the same words may precede different messages of
    two conversations."""
    first, second = (set(WORDS.findall(text.casefold())) for text in (before, now))
    return 2 * len(first & second) >= min(len(first), len(second)) > 1


async def confirm(connection: Connection, confirmed: Mapping[TripleIds, float]) -> None:
    rows: Collection[tuple[Any, ...]] = [(*triple, at) for triple, at in sorted(confirmed.items())]
    for some in chunks(rows, WORDS_A_STATEMENT):
        await connection.execute(CONFIRM, columns(some, 4))
