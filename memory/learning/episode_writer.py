"""Carries what is said from the event loop to the table ``episode``, within about a tenth of a second.

While Postgres is away it waits in memory, bounded; what finds no room is counted in ``dropped``. The flusher marks a
message as seen only after `EpisodeWriter.store`, so that it comes again if this process dies before.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from hashlib import blake2b
from typing import Final, NamedTuple

import psycopg

from memory.cache.loader import Pace
from memory.cache.state import Cache
from memory.db.connections import PAST, Connection, columns, first_line, open_connection
from memory.domain.steps import Steps, finish
from memory.domain.timing import LogThrottle, undate
from memory.domain.types import Message
from memory.learning.extraction import NewMessage
from memory.learning.reader import unwrap_readable
from memory.learning.wakeup import Waker
from memory.semantic.domain.episodes import KEPT_MAX, ROLES, EpisodeText, compose_episode
from memory.semantic.domain.scope import Scope
from memory.semantic.lexemes import LEXEMES

logger = logging.getLogger(__name__)

GATHER_S: Final = 0.03  # what comes within this time is written together
RETRY_S: Final = 1.0
WRITE_S: Final = 10.0  # for one batch, before we give up on a Postgres that hangs
LAST_WRITE_S: Final = 2.0  # at the end, when the supervisor waits
BATCH: Final = 200  # messages a statement
WAITING_MAX: Final = 50_000  # messages
WAITING_MAX_CHARACTERS: Final = 32_000_000
TAKEN_MAX: Final = 200_000  # messages that are known to have been taken, at some 100 bytes
SLICE_S: Final = 0.001  # of the event loop, as for learning
REST_S: Final = 0.002
LOGGED_EVERY_S: Final = 60.0

# What is there already, what was forgotten, and what stood in a conversation before this was asked to keep it.
IS_NEW: Final = """
    NOT EXISTS (SELECT FROM forgotten_episode AS gone WHERE gone.digest = said.digest)
    AND (said.is_dated OR NOT EXISTS (SELECT FROM seen_message AS seen WHERE seen.digest = said.key))
"""
FIND_NEW: Final = f"""
    SELECT said.digest FROM unnest(%s::bytea[], %s::bytea[], %s::bool[]) AS said (digest, key, is_dated)
    WHERE NOT EXISTS (SELECT FROM episode WHERE episode.digest = said.digest) AND {IS_NEW}
"""
INSERT: Final = f"""
    INSERT INTO episode (digest, conversation, agent, person, project_id, role, text, quoted, lexemes, said_at)
    SELECT digest, substr(key, 1, 16), agent, person, project, role, text, quoted::int[], {LEXEMES}, {PAST.format("at")}
    FROM unnest(
        %s::bytea[], %s::bytea[], %s::bool[], %s::text[], %s::text[], %s::int8[], %s::text[], %s::text[], %s::text[],
        %s::text[], %s::text[], %s::float8[]
    ) WITH ORDINALITY AS said
        (digest, key, is_dated, agent, person, project, role, text, quoted, own, passed_on, at, place)
    WHERE {IS_NEW} ORDER BY place
    ON CONFLICT (digest) DO NOTHING RETURNING role
"""


class HeardMessage(NamedTuple):
    """A message that may become an episode. ``digest``: of the message and of its scope."""

    digest: bytes
    key: bytes
    is_dated: bool
    scope: Scope
    role: str
    text: str
    at: float
    before: str = ""

    @classmethod
    def of(cls, scope: Scope, message: NewMessage) -> "HeardMessage":
        return cls(
            digest_episode(message.key, scope),
            message.key,
            message.is_dated,
            scope,
            message.reading.role,
            message.text,
            message.at if message.is_live else undate(message.at),
            message.before,
        )

    def row_of(self, episode: EpisodeText) -> tuple[object, ...]:
        """In the order of INSERT."""
        speaker, project = self.scope
        return (
            *(self.digest, self.key, self.is_dated, *speaker, project, self.role, episode.text, episode.places),
            *(episode.own, episode.passed_on, self.at),
        )


def digest_episode(key: bytes, scope: Scope) -> bytes:
    """``key`` is the message's as in ``seen_message``. Two people may say the same in the same words."""
    agent, person = scope.speaker
    told = "\0".join((agent, person, "" if scope.project is None else str(scope.project)))
    return blake2b(key + told.encode("utf-8", "surrogatepass"), digest_size=32).digest()


class EpisodeWriter:
    """``wake`` tells the workers that users have said something; it may block."""

    def __init__(self, cache: Cache, dsn: str, wake: Callable[[], None]) -> None:
        self.cache = cache
        self.stored = 0  # episodes, since the process started
        self.dropped = 0  # messages that found no room, or that Postgres refused
        self._dsn = dsn
        self._waker = Waker(wake)
        self._heard: deque[HeardMessage] = deque()
        self._in_hand = 0
        self._characters = 0
        self._taken: dict[int, None] = {}
        self._wanted = asyncio.Event()
        self._writing = asyncio.Lock()
        self._connection: Connection | None = None
        self._lifetime = AsyncExitStack()
        self._drop_log = LogThrottle(LOGGED_EVERY_S)

    @property
    def waiting(self) -> int:
        """How many messages are not known to be stored."""
        return len(self._heard) + self._in_hand

    def keep(self, scope: Scope, message: NewMessage) -> None:
        """Takes the message, once. Call it on the event loop's thread; never blocks."""
        if not is_kept(message):
            return
        mark = hash((scope, message.key))
        if mark in self._taken:
            return
        self._taken[mark] = None
        if len(self._taken) > TAKEN_MAX:
            del self._taken[next(iter(self._taken))]
        self._heard.append(HeardMessage.of(scope, message))
        self._characters += len(message.text)
        self._make_room()
        self._wanted.set()

    async def run(self) -> None:
        """Writes what comes, until it is cancelled."""
        while True:
            await self._wanted.wait()
            await asyncio.sleep(GATHER_S)
            # Shielded: a write under way is finished even if this task is cancelled.
            if not await asyncio.shield(self.store()):
                await asyncio.sleep(RETRY_S)

    async def store(self) -> bool:
        """Writes what waits; whether all that was taken before is in the table now. Never raises."""
        async with self._writing:
            self._wanted.clear()
            try:
                while self._heard:
                    async with asyncio.timeout(WRITE_S):
                        await self._write_some()
            except (psycopg.Error, OSError) as error:
                await self._disconnect()
                self._wanted.set()
                logger.warning("episodes.not_written", extra={"waiting": self.waiting, "error": first_line(error)})
            except Exception:  # the next batch must be written, whatever went wrong with this one
                logger.exception("episodes.failed")
                self._wanted.set()
            return not self.waiting

    async def write_last(self) -> None:
        """The last write of a server that stops."""
        await asyncio.wait([asyncio.create_task(self.store())], timeout=LAST_WRITE_S)
        if self.waiting:
            logger.error("episodes.lost", extra={"messages": self.waiting})
        self._waker.close()
        await self._disconnect()

    async def _write_some(self) -> None:
        """Writes the oldest; they wait on where Postgres does not take them. Raises psycopg.Error and OSError."""
        batch = [self._heard.popleft() for _ in range(min(BATCH, len(self._heard)))]
        self._in_hand = len(batch)
        try:
            if self._connection is None:
                self._connection = await self._lifetime.enter_async_context(open_connection(self._dsn, "episodes"))
            rows = await self._compose(await _leave_out_known(self._connection, batch))
            roles = await self._insert(self._connection, rows)
        except BaseException as error:
            if isinstance(error, (psycopg.Error, OSError, asyncio.CancelledError)):
                self._heard.extendleft(reversed(batch))
            else:  # it would go wrong again
                self._count_dropped(len(batch), first_line(error))
            raise
        finally:
            self._in_hand = 0
            self._characters = sum(len(heard.text) for heard in self._heard)
        self.stored += len(roles)
        if "user" in roles:
            self._waker.ask()

    async def _compose(self, batch: Sequence[HeardMessage]) -> list[tuple[object, ...]]:
        rows = []
        pace = Pace(SLICE_S, REST_S)
        for heard in batch:
            try:
                steps = compose_heard(self.cache, heard)
                # Streams must not wait for a step of a long one.
                is_long = len(heard.text) > KEPT_MAX
                episode = await asyncio.to_thread(finish, steps) if is_long else await pace.run(steps)
            except Exception:  # one bad message must not keep the others from being stored
                self.dropped += 1
                logger.exception("episode.failed", extra={"characters": len(heard.text)})
                continue
            if episode is not None:
                rows.append(heard.row_of(episode))
            await pace.step()
        return rows

    async def _insert(self, connection: Connection, rows: Sequence[tuple[object, ...]]) -> list[str]:
        """The roles of those that are new. What Postgres refuses is halved until the bad row is found."""
        if not rows:
            return []
        try:
            cursor = await connection.execute(INSERT, columns(rows, len(rows[0])))
            return [role for (role,) in await cursor.fetchall()]
        except (psycopg.DataError, psycopg.IntegrityError) as error:
            if len(rows) == 1:
                self._count_dropped(1, first_line(error).partition('"')[0])  # the rest may quote what was said
                return []
        middle = len(rows) // 2
        return await self._insert(connection, rows[:middle]) + await self._insert(connection, rows[middle:])

    def _make_room(self) -> None:
        gone = 0
        while len(self._heard) > WAITING_MAX or self._characters > WAITING_MAX_CHARACTERS:
            self._characters -= len(self._heard.popleft().text)
            gone += 1
        self._count_dropped(gone, "no room")

    def _count_dropped(self, count: int, reason: str) -> None:
        self.dropped += count
        if count and self._drop_log.is_due(time.monotonic()):
            logger.error("episodes.dropped", extra={"messages": count, "in_all": self.dropped, "reason": reason})

    async def _disconnect(self) -> None:
        self._connection = None
        with suppress(psycopg.Error, OSError):
            await self._lifetime.aclose()


def is_kept(message: NewMessage) -> bool:
    """True if messages of its kind become episodes."""
    return message.reading.role in ROLES and not message.is_quoted


def compose_heard(cache: Cache, heard: HeardMessage) -> Steps[EpisodeText | None]:
    """What is kept of the message; None where it says too little."""
    said = unwrap_readable(cache, Message(heard.role, heard.text))
    return compose_episode(said.text, said.role, heard.before)


async def _leave_out_known(connection: Connection, batch: Sequence[HeardMessage]) -> list[HeardMessage]:
    # Before they are composed: after a restart clients resend all of their histories.
    cursor = await connection.execute(FIND_NEW, columns([heard[:3] for heard in batch], 3), binary=True)
    new = {digest for (digest,) in await cursor.fetchall()}
    return [heard for heard in batch if heard.digest in new]
