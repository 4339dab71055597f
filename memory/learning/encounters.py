"""Counts which tokens new messages name, and learns from them after the request; the flusher writes the result.

A message counts once. It is identified by the digests of its conversation's opening and of its own role and text.
"""

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass, field, replace

from memory.cache.loader import Pace
from memory.cache.state import Cache
from memory.domain.recall.saliency import DAY, HOUR, saliency
from memory.domain.statement import Statement
from memory.domain.steps import Steps
from memory.domain.timing import FirstSeenClock
from memory.domain.types import Message, SoasRow, TripleIds
from memory.learning.extraction import (
    NewMessage,
    extract_statements,
    find_confirmed,
    find_unexplained,
    select_first_named,
    select_often_named,
)
from memory.learning.reader import MessageKey, Reading, read_rest, readable_length

logger = logging.getLogger(__name__)

ANSWER_MAX = 400  # characters, with its envelope, of what a question of the model explains
ASKING_MAX = 8_000  # characters of a message of the model that is looked at for its question
OBSERVED_IN_A_STEP = 16  # messages, at some 10 microseconds
SEEN_MAX = 200_000  # messages, at about 170 bytes
# Bounds of what waits for a flush while Postgres is away: readings in bytes; texts, which only serve as evidence, in
# characters.
READINGS_MAX = 100_000_000
TEXTS_MAX = 16_000_000
# Learning waits until no prompt has come for ``REST_S``, and leaves two thirds of the time to others then. Where
# prompts follow each other closely, all that has come in ``LONG_S`` is learned in one go: a few wait for it, and not
# each for a part. What a prompt states should leave this process within a second: where learning falls behind by
# ``LATE_S``, the others wait longer.
SLICE_S = 0.001
REST_S = 0.002
LONG_S = 0.1
LATE_S = 0.5
LATE_SLICE_S = 0.01
# However often one conversation names an unknown concept, it asks for a flush once in this time.
HURRIED_EVERY_S = HOUR
HANDED_OVER_MAX = 10_000


@dataclass(slots=True)
class Batch:
    """What one flush writes. Times are seconds since the epoch."""

    messages: dict[bytes, NewMessage] = field(default_factory=dict)  # by key
    counts: Counter[str] = field(default_factory=Counter)  # what was added in memory for these messages, by token
    seen_again: dict[bytes, float] = field(default_factory=dict)  # messages that were resent after a day, and when
    asked: dict[int, float] = field(default_factory=dict)  # soas ids that were asked about, and when
    first_named: dict[bytes, list[str]] = field(
        default_factory=dict
    )  # by message, unknown concepts new in its conversation
    unexplained: dict[str, NewMessage] = field(default_factory=dict)  # concepts to explain, and where they were named
    confirmed: dict[TripleIds, float] = field(default_factory=dict)  # facts that were mentioned, and when

    def __bool__(self) -> bool:
        return bool(self.messages or self.seen_again or self.asked)

    def update(self, later: "Batch") -> None:
        self.messages |= later.messages
        self.counts += later.counts
        self.seen_again |= later.seen_again
        self.asked |= later.asked
        self.first_named |= later.first_named
        self.unexplained |= later.unexplained
        self.confirmed |= later.confirmed


@dataclass(slots=True)
class Encounters:
    """``learn`` reads and counts right after the request what it did not wait for, and hands statements to
    ``add_statements``."""

    cache: Cache
    add_statements: Callable[[list[Statement]], None] = lambda statements: None
    wanted: asyncio.Event = field(default_factory=asyncio.Event)  # asks for a flush before its time
    dropped: int = 0  # messages that found no room
    _batch: Batch = field(default_factory=Batch)
    _seen: dict[bytes, float] = field(default_factory=dict)  # by key, and when it was last put into a batch
    _sightings: FirstSeenClock = field(default_factory=FirstSeenClock)
    _unlearned: deque[NewMessage] = field(default_factory=deque)
    _prompted: float = 0.0  # when the last new message came, by the monotonic clock
    _has_unlearned: asyncio.Event = field(default_factory=asyncio.Event)
    _learning: asyncio.Lock = field(default_factory=asyncio.Lock)
    _handed_over: dict[str, float] = field(default_factory=dict)  # unexplained concepts, and when
    _waiting_readings: int = 0
    _waiting_texts: int = 0

    def remember(self, seen: Iterable[tuple[bytes, float]]) -> None:
        """Takes over which messages are counted already (keys), and when they were last seen."""
        self._seen.update(seen)

    def observe(
        self,
        opening: bytes,
        messages: Iterable[tuple[Message, Reading | None]],
        now: float,
        agent: str = "",
        *,
        answered: int = 0,
        keep: Callable[[NewMessage], None] | None = None,
    ) -> Steps[list[Reading]]:
        """Counts the messages that are new in the conversation with this opening, and returns the readings of those
        that their own role says now. A message without a reading is counted when it is resent; what it states then
        counts as said now. The first ``answered`` messages were said before the model's last answer: where those are
        new, the conversation was under way before Festinger saw it. ``keep`` gets the new ones, and those said now,
        which another may have said before."""
        new = []
        messages = list(messages)
        prompt = [reading for _, reading in messages]
        passed_on = [index for index, (message, _) in enumerate(messages) if message.is_quoted]
        is_live = False
        for index, (message, reading) in enumerate(messages):
            if index % OBSERVED_IN_A_STEP == OBSERVED_IN_A_STEP - 1:
                yield
            if reading is None:
                # Of one that was answered before, nobody knows when it was said, also when it is read.
                if index >= answered:
                    sighting = (opening, MessageKey.of(message))
                    self._sightings.put_off(sighting, readable_length(self.cache, message), now)
                continue
            key = opening + reading.digest
            # What this process has seen lately. The table ``seen_message`` knows for good, and the flush corrects what
            # was counted by mistake.
            seen_at = self._seen.get(key)
            if seen_at is None or (keep is not None and index >= answered):
                sighting = (opening, MessageKey.of(message))
                is_dated = index >= answered or self._sightings.is_put_off(sighting)
                at = self._sightings.first(sighting, readable_length(self.cache, message), now)
                counted = reading.names - reading.parts
                heard = NewMessage(
                    *(key, reading, message.text, agent, at, counted, message.is_quoted, is_dated, prompt, index),
                    passed_on=passed_on,
                    is_live=is_live or is_dated,
                    before=_find_asking(messages[index - 1][0], message) if index else "",
                )
                if keep is not None:
                    keep(heard)
                if seen_at is None:
                    self._add(heard)
                    if is_dated and not message.is_quoted:
                        new.append(reading)
            is_live = is_live or seen_at is not None
            if seen_at is not None and now - seen_at > DAY:
                self._seen[key] = self._batch.seen_again[key] = now
        return new

    def note_asked(self, rows: Iterable[SoasRow], now: float) -> None:
        for row in rows:
            row.asked_count += 1
            row.asked_at = now
            self._batch.asked[row.id] = now
        if self._batch.asked:
            self.wanted.set()  # the other processes must know soon, or they ask the same

    def pending(self) -> int:
        """How many messages wait to be written."""
        return len(self._batch.messages)

    async def run(self) -> None:
        """Learns from new messages until it is cancelled."""
        while True:
            await self._has_unlearned.wait()
            await self.learn()

    async def learn(self) -> None:
        """Reads the rest of the new messages, in slices, and counts it."""
        async with self._learning:
            calm, hurried, late = Pace(SLICE_S, REST_S), Pace(SLICE_S), Pace(LATE_SLICE_S)
            urgent = 0  # how many messages are learned from without a rest
            self._has_unlearned.clear()
            while self._unlearned:
                message = self._unlearned[0]  # stays there until it is learned: this task may be cancelled in between
                if not urgent and (not await self._wait_for_pause() or time.time() - message.at > LONG_S):
                    urgent = len(self._unlearned)
                is_late = time.time() - message.at > LATE_S
                await self._learn_from(message, late if is_late else hurried if urgent else calm)
                urgent = max(0, urgent - 1)
                if self._unlearned and self._unlearned[0] is message:
                    self._unlearned.popleft()

    async def _wait_for_pause(self) -> bool:
        """Whether no prompt has come for ``REST_S``, for which it waits as long as ``LONG_S``."""
        # First the upstream's answer, which may come at once, and the prompt that its client sends next.
        end = time.monotonic() + LONG_S
        while (left := self._prompted + REST_S - time.monotonic()) > 0:
            if time.monotonic() >= end:
                return False
            await asyncio.sleep(left)
        return True

    async def _learn_from(self, message: NewMessage, pace: Pace) -> None:
        size = message.reading.size
        try:
            await pace.step()  # the message before may have taken all of the slice
            await pace.run(read_rest(self.cache, message.reading))
            if message.key in self._batch.messages:
                self._waiting_readings += message.reading.size - size
            statements = []
            for statement in extract_statements(self.cache, message):
                statements.append(statement)
                await pace.step()
            await pace.step()
            confirmed = await find_confirmed(self.cache, message)
            await pace.step()
            self._note(message, statements, confirmed)
        except Exception:  # one bad message must not keep the others from being learned
            logger.exception("learn.failed", extra={"characters": len(message.text)})

    def take(self) -> Batch:
        """Returns what waits, and starts a new batch. Messages that nobody has learned from stay for the next one: once
        a message is counted, it never teaches again."""
        batch, self._batch = self._batch, Batch()
        self._waiting_readings = self._waiting_texts = 0
        for message in self._unlearned:
            if batch.messages.pop(message.key, None) is not None:
                self._put(message)
                batch.counts.subtract(message.counted)
                self._batch.counts.update(message.counted)
        self.wanted.clear()
        return batch

    def give_back(self, batch: Batch) -> None:
        """Returns what could not be written, to be written with the next batch."""
        batch.update(self._batch)
        self._batch = batch
        self._waiting_readings = sum(message.reading.size for message in batch.messages.values())
        self._waiting_texts = sum(len(message.text) for message in batch.messages.values())

    def settle(self, stored: Iterable[tuple[str, SoasRow]]) -> None:
        """Takes over the rows of the names in a batch that was flushed, as Postgres has them now."""
        for token, row in stored:
            cache = self.cache
            if (old := cache.soas_by_token.get(token)) is not None:
                row.keep_times(old)
            row.load = cache.loads  # a full load under way may have a snapshot from before the flush
            if token in cache.lately_met or (old is None and not cache.is_kept(row)):
                cache.put_lately_met(token, row)
            else:
                cache.put_soas(token, row)
            if count := self._batch.counts[token]:  # counted since, and not yet in Postgres
                self.cache.set_count(token, row, row.encounter_count + count)

    def _add(self, message: NewMessage) -> None:
        if self._waiting_readings + message.reading.size > READINGS_MAX:
            self.dropped += 1
            return
        if self._waiting_texts + len(message.text) > TEXTS_MAX:
            message = replace(message, text="")
        self._put(message)
        self._seen[message.key] = message.at
        if len(self._seen) > SEEN_MAX:
            del self._seen[next(iter(self._seen))]  # the oldest: dicts keep the order of insertion
        # On the hot path only known names are counted, because that may make them salient; `learn` counts the rest.
        self._count(message.counted, message.at)
        self._unlearned.append(message)
        self._prompted = time.monotonic()
        self._has_unlearned.set()

    def _put(self, message: NewMessage) -> None:
        self._waiting_readings += message.reading.size
        self._waiting_texts += len(message.text)
        self._batch.messages[message.key] = message

    def _note(self, message: NewMessage, statements: list[Statement], confirmed: set[TripleIds]) -> None:
        """Notes all that was learned from one message, at once."""
        self._count(message.reading.names - message.reading.parts - message.counted, message.at)
        if statements:
            self.add_statements(statements)
        unexplained = find_unexplained(self.cache, message)
        first = select_first_named(message, unexplained)
        if first:
            self._batch.first_named[message.key] = first
        for name in select_often_named(self.cache, unexplained):
            self._hand_over(name, message, is_first=name in first)
        self._batch.confirmed |= dict.fromkeys(confirmed, message.at)

    def _hand_over(self, name: str, message: NewMessage, *, is_first: bool) -> None:
        self._batch.unexplained[name] = message
        if not is_first and message.at - self._handed_over.get(name, 0.0) < HURRIED_EVERY_S:
            return
        self.wanted.set()
        self._handed_over.pop(name, None)  # so that it goes to the end: the oldest are forgotten first
        self._handed_over[name] = message.at
        if len(self._handed_over) > HANDED_OVER_MAX:
            del self._handed_over[next(iter(self._handed_over))]

    def _count(self, names: Set[str], now: float) -> None:
        rows, counts = self.cache.soas_by_token, self._batch.counts
        counts.update(names)
        known = rows.keys() & names
        for name in known:
            row = rows[name]
            row.last_seen = now
            self.cache.set_count(name, row, row.encounter_count + 1)
        # A new word became salient: it can be recalled once it has an id.
        most = max(map(counts.__getitem__, names - known), default=0)
        if most and saliency(most) >= self.cache.tuning.saliency_read_threshold:
            self.wanted.set()


def _find_asking(before: Message, message: Message) -> str:
    """What may have asked for a short message; empty where it is longer, or nothing did."""
    is_short = len(message.text) <= ANSWER_MAX and len(before.text) <= ASKING_MAX
    return before.text if is_short and before.role == "assistant" and "?" in before.text[-ANSWER_MAX:] else ""
