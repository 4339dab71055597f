"""Carries new messages from the event loop to their table, where workers find them.

Within about half a second of `Outbox.add` a message is in Postgres, or in a journal on the disk if Postgres does not
take it within ``SAFE_S``. From then on it survives the death of this process and of Postgres. Once Postgres is back,
the journal is replayed by this process, by another one of the same home, or after a restart; a message that is written
twice is stored once. Messages that find no room anywhere are counted in ``DROPPED``."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

import psycopg

from memory.db.connections import first_line
from memory.learning.journal import Journal, claim, next_lines
from memory.learning.message_table import FindVector, MessageTable, Stored
from memory.learning.messages import NewMessage
from memory.learning.setting_aside import ForgetOrder, decode_order, encode_order
from memory.learning.wakeup import Waker
from memory.log_throttle import LogThrottle
from memory.metrics import Counter, Gauge

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

GATHER_S = 0.03  # messages that come within this time are written together
SAFE_S = 0.3  # how long a message waits for Postgres before it goes to the journal
RETRY_S = (0.1, 0.2, 0.5, 1.0, 2.0)  # between attempts to reach Postgres; the last one repeats
REPLAY_S = 5.0  # between checks for journals that other processes left
LAST_WRITE_S = 2.0  # at the end, when the supervisor waits
BATCH = 200  # messages per write
JOURNAL_BATCH = 2_000  # the same into the journal, some 3 MB
LOGGED_EVERY_S = 60.0
WAITING_MAX_BYTES = 64_000_000  # of messages in memory, roughly

DROPPED = Counter("festinger_dropped_messages", "New messages that were lost")
EPISODES = Counter("festinger_stored_episodes", "Messages that were kept as episodes")
UNWRITTEN = Gauge(
    "festinger_unwritten_messages",
    "New messages in memory that neither the table nor the journal has",
    multiprocess_mode="livesum",
)
JOURNALED = Gauge(
    "festinger_journaled_messages",
    "New messages in the journals of the home",
    multiprocess_mode="livemostrecent",
)


class WaitingMessage(NamedTuple):
    message: NewMessage
    since: float  # seconds, by the monotonic clock


class Buffer:
    """Queued messages in memory, bounded: if there is no room, the oldest are dropped."""

    def __init__(self, bytes_max: int = WAITING_MAX_BYTES) -> None:
        self._queue: deque[WaitingMessage] = deque()
        self._bytes = 0
        self._bytes_max = bytes_max

    def __len__(self) -> int:
        return len(self._queue)

    def waits_since(self) -> float:
        """Return since when the oldest waits; infinite if none does."""
        return self._queue[0].since if self._queue else float("inf")

    def add(self, message: NewMessage, now: float) -> int:
        """Add a message; return how many of the oldest had to be dropped."""
        self._queue.append(WaitingMessage(message, now))
        self._bytes += message.size
        return self._trim()

    def take(self, count: int) -> list[WaitingMessage]:
        """Take the oldest messages, at most ``count``."""
        return [self._pop() for _ in range(min(count, len(self._queue)))]

    def put_back(self, oldest: Sequence[WaitingMessage]) -> int:
        """Put back what was taken last, as the oldest. Returns how many of the oldest had to be dropped."""
        self._queue.extendleft(reversed(oldest))
        self._bytes += sum(waiting.message.size for waiting in oldest)
        return self._trim()

    def _pop(self) -> WaitingMessage:
        waiting = self._queue.popleft()
        self._bytes -= waiting.message.size
        return waiting

    def _trim(self) -> int:
        gone = 0
        while self._bytes > self._bytes_max:
            self._pop()
            gone += 1
        return gone


class UnreadableJournal(Exception):
    """The disk does not give a journal. It is tried again."""


class Outbox:
    """Writes messages to the table or the journal. ``wake`` tells the workers that there is something to do; it may
    block."""

    def __init__(
        self, dsn: str, journal_folder: Path, wake: Callable[[], None], find_vector: FindVector = lambda text: None
    ) -> None:
        self.journaled = 0  # messages in all journals of the home
        self.is_away = False  # Postgres did not take the last batch, or not in time
        self._table = MessageTable(dsn, find_vector)
        self._replayed_to = MessageTable(dsn)
        self._journal = Journal(journal_folder)
        self._waker = Waker(wake)
        self._backlog = Buffer()
        self._orders: list[ForgetOrder] = []  # they go ahead of the messages, so that none of these is set aside
        self._in_hand: list[WaitingMessage] = []  # taken from the backlog and not yet known to be stored
        self._wanted = asyncio.Event()
        self._replay_wanted = asyncio.Event()
        self._writing = asyncio.Lock()
        self._late: asyncio.Task[Stored] | None = None  # the write that took too long; its batch goes to the journal
        self._drop_log = LogThrottle(LOGGED_EVERY_S)
        self._journal_log = LogThrottle(LOGGED_EVERY_S)

    @property
    def waiting(self) -> int:
        """The number of messages that are neither in the table nor in a journal yet, as far as is known."""
        return len(self._backlog) + len(self._in_hand) + len(self._orders)

    def add(self, message: NewMessage) -> None:
        """Add a message. Call it on the event loop's thread. Never blocks."""
        if dropped := self._backlog.add(message, time.monotonic()):
            self._count_dropped(dropped, "no room")
        UNWRITTEN.set(self.waiting)
        self._wanted.set()

    def forget(self, order: ForgetOrder) -> None:
        """Add a request to forget, which is carried out before the messages that wait are written. Never blocks."""
        self._orders.append(order)
        self._wanted.set()

    async def run(self) -> None:
        """Write waiting messages and replay journals, until cancelled."""
        parts = [asyncio.create_task(self._write_on()), asyncio.create_task(self._replay_on())]
        try:
            await asyncio.gather(*parts)
        finally:
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)

    async def write_last(self) -> None:
        """Do the last write of a server that stops, after ``run`` has ended. Messages that neither Postgres nor the
        journal takes within ``LAST_WRITE_S`` are lost."""
        last = asyncio.create_task(self.write())
        await asyncio.wait({last}, timeout=LAST_WRITE_S)
        if self.waiting:
            logger.error("messages.lost", extra={"messages": self.waiting})
        await self._close()

    async def write(self) -> None:
        """Write waiting messages, or keep them if neither Postgres nor the journal takes them. Never raises."""
        async with self._writing:
            self._wanted.clear()
            while self._backlog or self._orders:
                if self._orders and not self.is_away:
                    await self._set_aside()
                    continue
                is_late = time.monotonic() - self._backlog.waits_since() > SAFE_S
                if (self.is_away or is_late) and await self._to_journal():
                    continue
                if self.is_away:
                    return
                await self._to_table()

    def _take(self, count: int) -> list[WaitingMessage]:
        self._in_hand = self._backlog.take(count)
        return self._in_hand

    def _put_back(self, batch: list[WaitingMessage]) -> None:
        self._in_hand = []
        self._count_dropped(self._backlog.put_back(batch), "no room")

    def _count_dropped(self, count: int, reason: str) -> None:
        DROPPED.inc(count)
        if count and self._drop_log.is_due(time.monotonic()):
            logger.error("messages.dropped", extra={"messages": count, "reason": reason})

    # --- to the table ---

    async def _write_on(self) -> None:
        while True:
            with suppress(TimeoutError):
                # With a timeout only if the journal had no room: that is tried again.
                await asyncio.wait_for(self._wanted.wait(), RETRY_S[-1] if self._backlog else None)
            await asyncio.sleep(GATHER_S)
            # Shielded: a write under way is finished even if this task is cancelled, and the last write waits for it.
            await asyncio.shield(self.write())
            UNWRITTEN.set(self.waiting)

    async def _set_aside(self) -> None:
        """Carry out one request to forget. If Postgres is away, it goes to the journal."""
        order = self._orders[0]
        try:
            stored = await self._table.set_aside(order)
        except (psycopg.OperationalError, psycopg.InterfaceError, OSError) as error:
            self._begin_absence(error)
            return
        except Exception as error:
            # Without a traceback: Postgres's error may quote what is to be forgotten.
            logger.error("forgetting.failed", extra={"error": type(error).__name__, "request": order.request})
        else:
            self._note(stored)
        self._orders.remove(order)

    async def _to_table(self) -> None:
        """Write one batch. If Postgres does not take it in time, it waits again, and Postgres counts as away."""
        batch = self._take(BATCH)
        writing = asyncio.create_task(self._table.insert([waiting.message for waiting in batch]))
        await asyncio.wait({writing}, timeout=SAFE_S)
        error = writing.exception() if writing.done() else TimeoutError(f"no answer within {SAFE_S:g} s")
        if isinstance(error, (psycopg.Error, OSError)):
            self._put_back(batch)
            self._begin_absence(error, None if writing.done() else writing)
            return
        self._in_hand = []
        if error is None:
            self._note(writing.result())
        else:  # the next batch must be written, whatever went wrong with this one
            self._count_dropped(len(batch), first_line(error))
            logger.error("messages.failed", exc_info=error)

    def _begin_absence(self, error: BaseException, late: asyncio.Task[Stored] | None = None) -> None:
        self.is_away, self._late = True, late
        self._replay_wanted.set()
        logger.warning("messages.not_written", extra={"error": first_line(error)})

    async def _end_absence(self) -> None:
        """Return when Postgres takes messages. Raises psycopg.Error or OSError if it does not."""
        # The late write is awaited, not cancelled: if it fails or succeeds, Postgres has answered. What it wrote is
        # there beside its copy in the journal.
        late, self._late = self._late, None
        self._note(await (late or self._table.insert([])))
        self.is_away = False
        self._wanted.set()

    def _note(self, stored: Stored) -> None:
        self._count_dropped(stored.refused, "refused")
        EPISODES.inc(stored.episodes)
        if stored.needs_worker:
            self._waker.ask()

    # --- to the journal, and back ---

    async def _to_journal(self) -> bool:
        """Append waiting messages to the journal; return whether it took at least some."""
        batch, orders = self._take(JOURNAL_BATCH), tuple(self._orders)
        kept = 0
        try:
            # Masked and encoded in the thread, too: streams must not wait for thousands of messages.
            kept = await asyncio.to_thread(
                lambda: self._journal.append(
                    [*map(encode_order, orders), *(each.message.mask().to_line() for each in batch)]
                )
            )
            await self._count_journaled()
        except OSError as error:
            self._log_journal_error("journal.not_written", error)
        except Exception as error:  # the next batch must be written, whatever went wrong with this one
            self._count_dropped(len(batch), first_line(error))
            logger.exception("journal.failed")
            kept = len(orders) + len(batch)
        finally:
            del self._orders[: min(kept, len(orders))]
            self._put_back(batch[max(kept - len(orders), 0) :])
        if kept and not self.is_away:
            self._replay_wanted.set()
        return kept > 0

    async def _count_journaled(self) -> None:
        self.journaled = await asyncio.to_thread(self._journal.count)
        JOURNALED.set(self.journaled)

    def _log_journal_error(self, event: str, error: OSError) -> None:
        if self._journal_log.is_due(time.monotonic()):
            logger.error(event, extra={"error": str(error)})

    async def _replay_on(self) -> None:
        """Replay journals whenever Postgres is there; while it is away, look when it is back."""
        failures = 0
        while True:
            try:
                if self.is_away:
                    await self._end_absence()
                await self._replay()
                failures = 0
            except (psycopg.Error, OSError) as error:
                failures += 1
                if not self.is_away:
                    logger.warning("journal.not_replayed", extra={"error": first_line(error)})
            except Exception:  # the next replay must come, whatever went wrong in this one
                logger.exception("journal.failed")
            pause = RETRY_S[min(failures, len(RETRY_S)) - 1] if self.is_away else REPLAY_S
            with suppress(TimeoutError):
                await asyncio.wait_for(self._replay_wanted.wait(), pause)
            self._replay_wanted.clear()

    async def _replay(self) -> None:
        """Replay all journals that no other process holds."""
        try:
            await asyncio.to_thread(self._journal.seal)
            for path in await asyncio.to_thread(self._journal.files):
                with suppress(UnreadableJournal):  # the others can be replayed
                    await self._replay_one(path)
        finally:
            await self._replayed_to.connection.close()
            await self._count_journaled()

    async def _replay_one(self, path: Path) -> None:
        file = await self._read(partial(claim, path))
        if file is None:
            return
        new = unreadable = 0
        with file:
            while lines := await self._read(partial(next_lines, file, BATCH)):
                stored, torn = await self._replay_lines(lines)
                self._note(stored)
                new, unreadable = new + stored.new, unreadable + torn
            # Only once all of it is in the table: a message that is replayed twice is stored once.
            await asyncio.to_thread(path.unlink, missing_ok=True)
        self._count_dropped(unreadable, "unreadable")
        logger.info("journal.replayed", extra={"file": path.name, "new": new, "unreadable": unreadable})

    async def _replay_lines(self, lines: Sequence[bytes]) -> tuple[Stored, int]:
        """Return what was stored, and how many lines were unreadable."""
        stored, unreadable, found = Stored(), 0, list[NewMessage]()
        for line in lines:
            if (order := decode_order(line)) is not None:
                # In the order in which they came: only what was said before is set aside.
                stored += await self._replayed_to.insert(found) + await self._replayed_to.set_aside(order)
                found = []
            elif (one := NewMessage.from_line(line)) is not None:
                found.append(one)
            else:
                unreadable += 1
        return stored + await self._replayed_to.insert(found), unreadable

    async def _read(self, read: Callable[[], Result]) -> Result:
        try:
            return await asyncio.to_thread(read)
        except OSError as error:
            self._log_journal_error("journal.not_read", error)
            raise UnreadableJournal from error

    async def _close(self) -> None:
        if self._late is not None:
            self._late.cancel()
            await asyncio.wait({self._late})
        await self._table.connection.close()
        await asyncio.to_thread(self._journal.seal)
        self._waker.close()
