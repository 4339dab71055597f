"""Learns from new messages, in a worker: counts their words, reads what they state, keeps the sentences that name a
concept. A message and what is learned from it are one transaction; one worker learns at a time, in the order in which
messages came."""

import asyncio
import logging
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

import psycopg
from django.apps import apps
from django.conf import settings

from memory.apps import MemoryConfig
from memory.attribution.forget_requests import Topic, TopicKind
from memory.cache.loader import SOAS, all_rows
from memory.cache.state import Cache
from memory.db.connections import PAST, Connection, KeptConnection, chunks, columns, first_line, is_lost
from memory.db.leases import RETRY_AFTER
from memory.db.locks import UNTIL_COMMIT, Lock
from memory.english.stems import content_stems
from memory.learning.messages import AGAIN_S, NewMessage
from memory.learning.openings import count_openings
from memory.learning.setting_aside import EDIT, make_order, run_on, set_aside
from memory.learning.statements import extract_statements, find_confirmed, insert_observations
from memory.learning.vocabulary import WORDS_A_STATEMENT, VocabularyWriter
from memory.memories.scope import Speaker
from memory.questions import evidence, unexplained
from memory.types import SoasRow, TripleIds

logger = logging.getLogger(__name__)

BATCH: Final = 50  # messages per transaction
ERROR_MAX: Final = 1_000  # characters
LOAD_S: Final = 5.0  # how long a task waits for the graph; the next one finds it loaded
LEARN_S: Final = 60.0  # how long a task waits for the learner, which continues by itself
STOP_S: Final = 2.0

WAITING: Final = """
    SELECT id, key, agent, speaker, person, project_id, role, text, extract(epoch FROM said_at)::float8, voice,
        is_dated, request, ends_request
    FROM heard_message
    WHERE next_attempt_at <= statement_timestamp() AND (%s::bigint IS NULL OR id = %s)
    ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
"""
AT_SAME_PLACE: Final = """
    SELECT earlier.id, earlier.agent, earlier.person, earlier.text, now.text FROM episode now JOIN episode earlier
        ON earlier.place = now.place AND (earlier.agent, earlier.person) = (now.agent, now.person)
        AND earlier.project_id IS NOT DISTINCT FROM now.project_id AND earlier.id < now.id
    WHERE now.digest = ANY(%s) AND earlier.set_aside_at IS NULL AND earlier.role = 'user'
"""
ASKED_TO_FORGET: Final = """
    SELECT id, agent, person, topic_kind, topic, conversation, extract(epoch FROM said_at)::float8
    FROM forget_request JOIN unnest(%s::text[], %s::text[]) AS heard (agent, person) USING (agent, person)
    WHERE effect IN ('about', 'conversation') AND undone_at IS NULL AND deleted_at IS NULL
"""
SET_ASIDE_LATE: Final = """
    WITH late AS (
        UPDATE episode SET set_aside_at = statement_timestamp(), set_aside_by_id = asked.request
        FROM unnest(%s::bytea[], %s::bigint[]) AS asked (digest, request)
        WHERE episode.digest = asked.digest AND set_aside_at IS NULL RETURNING asked.request
    )
    UPDATE forget_request SET row_count = row_count + found.count
    FROM (SELECT request, count(*) FROM late GROUP BY request) AS found WHERE id = found.request
"""
# The model's answers to messages that were set aside before these came.
ANSWERS_LATE: Final = """
    SELECT answer.digest, request.id FROM episode AS answer CROSS JOIN LATERAL (
        SELECT role, set_aside_by_id FROM episode AS one
        WHERE one.conversation = answer.conversation AND one.id < answer.id
            AND (one.agent, one.person) = (answer.agent, answer.person)
        ORDER BY one.id DESC LIMIT 1
    ) AS said JOIN forget_request AS request ON request.id = said.set_aside_by_id AND answer.said_at < request.said_at
    WHERE answer.digest = ANY(%s) AND said.role = 'user'
"""
DELETED: Final = "SELECT digest FROM forgotten_episode WHERE digest = ANY(%s)"
DELETE: Final = "DELETE FROM heard_message WHERE id = ANY(%s)"
SEEN_LONG_AGO: Final = f"""
    DELETE FROM seen_message USING unnest(%s::bytea[], %s::float8[]) AS again (key, at)
    WHERE digest = key AND last_seen < to_timestamp(again.at) - interval '{AGAIN_S} seconds'
"""
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
        self._vocabulary = VocabularyWriter(cache)
        self._connection = KeptConnection(dsn, "learning")
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
                connection = await self._connection.get()
                while self._is_wanted:
                    self._is_wanted = False
                    while found := await self._learn_batch(connection):
                        count += found
            except BaseException:
                await self.close()
                raise
        return count

    async def close(self) -> None:
        await self._connection.close()

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
            rows = await (await connection.execute(WAITING, [only, only, BATCH], binary=True)).fetchall()
            ids += [row[0] for row in rows]
            if rows:
                new = await insert_seen(connection, [NewMessage.from_row(row[1:], self._cache) for row in rows])
                new = await leave_out_forgotten(connection, new)
                await set_aside_edited(connection, new)
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
        if statements := [statement for message in new for statement in extract_statements(cache, message)]:
            await insert_observations(connection, statements)
        # Before the concepts are handed over: a worker may ask about one as soon as its row exists.
        await evidence.store_snippets(connection, cache, new, rows)
        await unexplained.hand_over(connection, cache, new, rows)
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


async def insert_seen(connection: Connection, messages: Iterable[NewMessage]) -> list[NewMessage]:
    """Store the digests of the messages; return those that were not stored yet, and so have taught nothing."""
    by_key: dict[bytes, NewMessage] = {}
    for message in messages:
        by_key.setdefault(message.key, message)
    keys = [(key, message.at) for key, message in by_key.items()]
    again = [(key, at) for key, at in keys if by_key[key].ends_request]
    if again:
        await connection.execute(SEEN_LONG_AGO, columns(again, 2))
    cursor = await connection.execute(INSERT_SEEN, columns(keys, 2), binary=True)
    new = {digest for (digest,) in await cursor.fetchall()}
    return [message for key, message in by_key.items() if key in new]


async def leave_out_forgotten(connection: Connection, messages: Sequence[NewMessage]) -> list[NewMessage]:
    """Set aside those of the messages that were said before their speaker asked to forget them, with their answers, and
    return the others. Clients send old histories again, and what waits to be written comes after the request."""
    scopes = {message.scope.speaker for message in messages if message.scope is not None}
    cursor = await connection.execute(ASKED_TO_FORGET, columns(sorted(scopes), 2), binary=True)
    asked = await cursor.fetchall()
    late = {}
    for message in messages if asked else ():
        for request, agent, person, kind, text, conversation, at in asked:
            topic = Topic(TopicKind(kind), text) if kind else None
            is_before = not message.is_dated or message.at < at
            if message.scope is None or message.scope.speaker != (agent, person) or not is_before:
                continue
            if topic.is_in(message.text) if topic is not None else message.conversation == bytes(conversation or b""):
                late[message.digest] = request
    await _set_aside_late(connection, late)
    answers = [one.digest for one in messages if one.scope is not None and one.role == "assistant"]
    if answers:
        cursor = await connection.execute(ANSWERS_LATE, [answers], binary=True)
        answered = {bytes(digest): request for digest, request in await cursor.fetchall()}
        await _set_aside_late(connection, answered)
        late |= answered
    resent = [one.digest for one in messages if one.scope is not None and not one.is_dated]
    cursor = await connection.execute(DELETED, [resent], binary=True)
    gone = late.keys() | {bytes(digest) for (digest,) in await cursor.fetchall()}
    return [one for one in messages if one.scope is None or one.digest not in gone]


async def _set_aside_late(connection: Connection, late: Mapping[bytes, int]) -> None:
    if late:
        await connection.execute(SET_ASIDE_LATE, columns(sorted(late.items()), 2))


async def set_aside_edited(connection: Connection, messages: Iterable[NewMessage]) -> None:
    """Set aside what was in the place of these messages before their clients edited it."""
    said = {
        message.digest: message
        for message in messages
        if message.role == "user" and message.is_dated and message.scope is not None
    }
    if not said:
        return
    cursor = await connection.execute(AT_SAME_PLACE, [list(said)], binary=True)
    for row, agent, person, said_before, said_now in await cursor.fetchall():
        if is_edited(said_before, said_now):
            at = max(message.at for message in said.values())
            await run_on(connection, set_aside(make_order(Speaker(agent, person), EDIT, None, at, episodes=[row])))


def is_edited(before: str, now: str) -> bool:
    """True if ``now`` is ``before`` with some words changed: more than half of its content words are the same. Anything
    else in its place is another branch of the conversation."""
    words = set(content_stems(now))
    return 2 * len(words & set(content_stems(before))) > len(words)


async def confirm(connection: Connection, confirmed: Mapping[TripleIds, float]) -> None:
    rows: Collection[tuple[Any, ...]] = [(*triple, at) for triple, at in sorted(confirmed.items())]
    for some in chunks(rows, WORDS_A_STATEMENT):
        await connection.execute(CONFIRM, columns(some, 4))


class LearningLoop:
    """The learner of a worker process, on an event loop of its own that keeps the process's copy of the graph in step.
    Its thread ends with the process, or on ``stop``."""

    def __init__(self) -> None:
        app = apps.get_app_config("memory")
        assert isinstance(app, MemoryConfig)
        self._coherence = app.coherence
        self._learner = Learner(app.cache, settings.DATABASE_URL)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="learning", daemon=True)
        self._thread.start()

    def learn(self) -> int:
        """Learn from what is due, and return from how many messages. Blocks.

        Raises psycopg.Error or OSError if Postgres is away, TimeoutError if it takes too long."""
        return asyncio.run_coroutine_threadsafe(self._learn(), self._loop).result(LEARN_S)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(STOP_S)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._following = self._loop.create_task(self._coherence.run())
        self._loop.run_forever()

    async def _learn(self) -> int:
        cache = self._coherence.cache
        async with asyncio.timeout(LOAD_S):
            while cache.loaded_at is None:
                self._coherence.tried.clear()
                await self._coherence.tried.wait()
        return await self._learner.learn()


@cache
def start_learning() -> LearningLoop:
    """Return the learning loop of this process."""
    return LearningLoop()
