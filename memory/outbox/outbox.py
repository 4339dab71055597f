"""What was read in messages, on its way to the table ``observation``, where workers find it.

A statement is in Postgres, or on the disk in a journal, within about half a second after `Observations.add`: what
Postgres has not taken within ``SAFE_S`` goes to the journal first. From then on neither the death of this process nor
that of Postgres loses it. The journal is replayed once Postgres takes statements again, by this process, by another
of the same home, or after a restart; what comes to the table twice is there once. What finds room neither there, nor
in the journal, nor in memory is counted in ``dropped``.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import psycopg

from memory.db.connections import first_line
from memory.domain.statement import Statement, decode, encode, storable
from memory.domain.timing import LogThrottle
from memory.outbox.buffer import Backlog, Waiting
from memory.outbox.journal import Journal, claim, next_lines
from memory.outbox.table import ObservationTable, Stored
from memory.outbox.wakeup import Waker

logger = logging.getLogger(__name__)

GATHER_S = 0.03  # what comes together is written together
SAFE_S = 0.3  # how long a statement waits for Postgres, before it goes to the journal
RETRY_S = (0.1, 0.2, 0.5, 1.0, 2.0)  # between two looks whether Postgres is back
REPLAY_S = 5.0  # between two looks whether another process left a journal
LAST_WRITE_S = 2.0  # at the end, when the supervisor waits
BATCH = 500  # statements a write
JOURNAL_BATCH = 5_000  # the same into the journal, some 3 MB
TOLD_EVERY_S = 60.0


class Observations:
    """``journaled`` counts the statements in all journals of the home, ``dropped`` those that this process lost.
    ``wake`` tells the workers that there is something to do; it may block."""

    def __init__(self, dsn: str, journal_folder: Path, wake: Callable[[], None]) -> None:
        self.journaled = 0
        self.dropped = 0
        self._table = ObservationTable(dsn)
        self._replayed_to = ObservationTable(dsn)
        self._journal = Journal(journal_folder)
        self._waker = Waker(wake)
        self._backlog = Backlog()
        self._in_hand: list[Waiting] = []
        self._wanted = asyncio.Event()
        self._replay_wanted = asyncio.Event()
        self._writing = asyncio.Lock()
        self._absence: asyncio.Task[None] | None = None  # of Postgres: ends when it is back
        self._may_tell_drop = LogThrottle(TOLD_EVERY_S)
        self._may_tell_journal = LogThrottle(TOLD_EVERY_S)

    @property
    def waiting(self) -> int:
        """Statements that are neither in the table nor in a journal yet, as far as is known."""
        return len(self._backlog) + len(self._in_hand)

    @property
    def is_away(self) -> bool:
        return self._absence is not None and not self._absence.done()

    def add(self, observed: Iterable[Statement]) -> None:
        """From the event loop's thread. Never blocks."""
        self._drop(self._backlog.add(map(storable, observed), time.monotonic()), "no room")
        if self._backlog:
            self._wanted.set()

    async def run(self) -> None:
        """As long as it runs, writes what waits and replays journals."""
        parts = [asyncio.create_task(self._write_on()), asyncio.create_task(self._replay_on())]
        try:
            await asyncio.gather(*parts)
        finally:
            for part in parts:
                part.cancel()
            await asyncio.gather(*parts, return_exceptions=True)

    async def write_last(self) -> None:
        """The last write of a server that stops, after ``run`` has ended. What neither Postgres nor the journal took in
        time is lost."""
        last = asyncio.create_task(self.write())
        await asyncio.wait({last}, timeout=LAST_WRITE_S)
        if self.waiting:
            logger.error("observations.lost", extra={"statements": self.waiting})
        await self._close()

    async def write(self) -> None:
        """Writes what waits, or keeps it where neither Postgres nor the journal takes it. Never raises."""
        async with self._writing:
            self._wanted.clear()
            while self._backlog:
                if (self.is_away or self._is_late()) and await self._to_journal():
                    continue
                if self.is_away:
                    return
                await self._to_table()

    def _take(self, count: int) -> list[Waiting]:
        self._in_hand = self._backlog.take(count)
        return self._in_hand

    def _put_back(self, batch: list[Waiting]) -> None:
        self._in_hand = []
        self._drop(self._backlog.put_back(batch), "no room")

    def _drop(self, count: int, reason: str) -> None:
        self.dropped += count
        if count and self._may_tell_drop.is_due(time.monotonic()):
            logger.error("observations.dropped", extra={"statements": count, "in_all": self.dropped, "reason": reason})

    def _is_late(self) -> bool:
        return time.monotonic() - self._backlog.waits_since() > SAFE_S

    # --- to the table ---

    async def _write_on(self) -> None:
        while True:
            with suppress(TimeoutError):
                # What the journal had no room for is tried again.
                await asyncio.wait_for(self._wanted.wait(), RETRY_S[-1] if self._backlog else None)
            await asyncio.sleep(GATHER_S)
            # Shielded: it is finished, also where this task is cancelled. The last write waits for it.
            await asyncio.shield(self.write())

    async def _to_table(self) -> None:
        """Where Postgres does not take the batch in time, it waits again, and Postgres counts as away."""
        batch = self._take(BATCH)
        writing = asyncio.create_task(self._table.insert([waiting.observed for waiting in batch]))
        try:
            await asyncio.wait({writing}, timeout=SAFE_S)
        except BaseException:
            self._put_back(batch)
            raise
        error = writing.exception() if writing.done() else TimeoutError(f"no answer within {SAFE_S:g} s")
        if error is None:
            self._in_hand = []
            self._note(writing.result())
        elif isinstance(error, (psycopg.Error, OSError)):
            self._put_back(batch)
            self._absence = asyncio.create_task(self._wait_for_return(writing))
            logger.warning("observations.not_written", extra={"error": first_line(error)})
        else:  # what comes next must be written, whatever this one met
            self._in_hand = []
            self._drop(len(batch), first_line(error))
            logger.error("observations.failed", exc_info=error)

    async def _wait_for_return(self, late: asyncio.Task[Stored]) -> None:
        """Returns when Postgres takes statements again. ``late`` may still come, or have failed; the journal has its
        batch, and counts what is refused of it."""
        failures = 0
        trying = late
        while True:
            try:
                await asyncio.wait({trying})
            except asyncio.CancelledError:
                trying.cancel()
                await asyncio.wait({trying})
                raise
            if trying.exception() is None:
                break
            await asyncio.sleep(RETRY_S[min(failures, len(RETRY_S) - 1)])
            failures += 1
            trying = asyncio.create_task(self._table.insert([]))
        if trying is late and late.result().new:
            self._waker.ask()
        self._replay_wanted.set()
        self._wanted.set()

    def _note(self, stored: Stored) -> None:
        self._drop(stored.refused, "refused")
        if stored.new:
            self._waker.ask()

    # --- to the journal, and back ---

    async def _to_journal(self) -> bool:
        """Whether the journal took at least some of what waits."""
        batch = self._take(JOURNAL_BATCH)
        kept = 0
        try:
            kept = await asyncio.to_thread(self._append, batch)
        except OSError as error:
            self._tell_journal("journal.not_written", error)
        except Exception as error:  # what comes next must be written, whatever this one met
            self._drop(len(batch), first_line(error))
            logger.exception("journal.failed")
            kept = len(batch)
        finally:
            self._put_back(batch[kept:])
        if kept and not self.is_away:
            self._replay_wanted.set()
        return kept > 0

    def _append(self, batch: list[Waiting]) -> int:
        kept = self._journal.append([encode(waiting.observed) for waiting in batch])
        self.journaled = self._journal.count()
        return kept

    def _tell_journal(self, event: str, error: OSError) -> None:
        if self._may_tell_journal.is_due(time.monotonic()):
            logger.error(event, extra={"error": str(error)})

    async def _replay_on(self) -> None:
        while True:
            try:
                await self._replay()
            except (psycopg.Error, OSError) as error:
                logger.warning("journal.not_replayed", extra={"error": first_line(error)})
            except Exception:  # the next replay must come, whatever this one met
                logger.exception("journal.failed")
            with suppress(TimeoutError):
                await asyncio.wait_for(self._replay_wanted.wait(), REPLAY_S)
            self._replay_wanted.clear()

    async def _replay(self) -> None:
        """All journals that nobody holds, unless Postgres is away."""
        try:
            if not self.is_away:
                await asyncio.to_thread(self._journal.seal)
                for path in await asyncio.to_thread(self._journal.files):
                    await self._replay_one(path)
        finally:
            await self._replayed_to.close()
            self.journaled = await asyncio.to_thread(self._journal.count)

    async def _replay_one(self, path: Path) -> None:
        try:
            file = await asyncio.to_thread(claim, path)
        except OSError as error:  # the others can be replayed
            self._tell_journal("journal.not_read", error)
            return
        if file is not None:
            with file:
                stored, unreadable = await self._copy(file)
                # Not before all of it is in the table. Replayed twice, it is there once.
                await asyncio.to_thread(path.unlink, missing_ok=True)
            self._drop(stored.refused, "refused")
            self._drop(unreadable, "unreadable")
            logger.info("journal.replayed", extra={"file": path.name, "new": stored.new, "unreadable": unreadable})

    async def _copy(self, file: BinaryIO) -> tuple[Stored, int]:
        """Brings a journal to the table; how much of it is new there or refused, and how many lines are torn."""
        stored, unreadable = Stored(), 0
        while lines := await asyncio.to_thread(next_lines, file, BATCH):
            statements = [observed for line in lines if (observed := decode(line)) is not None]
            unreadable += len(lines) - len(statements)
            more = await self._replayed_to.insert(statements)
            if more.new:
                self._waker.ask()
            stored = Stored(stored.new + more.new, stored.refused + more.refused)
        return stored, unreadable

    async def _close(self) -> None:
        if self._absence is not None:
            self._absence.cancel()
            await asyncio.wait({self._absence})
        await self._table.close()
        await asyncio.to_thread(self._journal.seal)
        self._waker.close()
