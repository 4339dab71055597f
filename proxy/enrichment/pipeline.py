"""The hot path between a request's body and the upstream's: read, observe, look for loops, recall, inject.

It works in this process's memory only, except for one search with a deadline (prompt_search.py). Any error in it is
logged and noted, and the original request goes on.
"""

import logging
import time
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from memory import bounds, request_ids
from memory.cache.loader import Pace
from memory.cache.state import Cache
from memory.domain.authorship.voice import Voice
from memory.domain.forgetting import Effect
from memory.domain.switches import Restrictions
from memory.domain.types import Message, SoasRow
from memory.learning.encounters import Encounters
from memory.learning.reader import Allowance, Reader, Reading, digest_message
from memory.learning.setting_aside import ForgetOrder, make_order
from memory.learning.wishes import NOTHING as NO_WISHES
from memory.learning.wishes import Wishes, read_wishes
from memory.recall.left_out import leave_out
from memory.recall.mentions import Mentions
from memory.recall.recollect import recollect
from memory.recall.stated import NOTHING_STATED, judge_prompt
from memory.semantic.domain.scope import Scope
from proxy.access.caller import Caller
from proxy.authorship.programs import find_program
from proxy.authorship.relayed import RelayedAnswers
from proxy.authorship.speakers import find_audience, find_messages
from proxy.domain.config_schema import Loops
from proxy.domain.formats import FORMATS
from proxy.domain.formats.base import Edit, Payload, Prompt, WireFormat
from proxy.domain.formats.bounded_requests import JSON_MAX_BYTES, PARTS_MAX, Excess, read_request
from proxy.domain.formats.flattened import FlattenedPrompt
from proxy.domain.formats.streams import AnswerListener, WholeWatch, listen
from proxy.domain.json_text import Change, splice
from proxy.domain.loops.mitigations import Intervention
from proxy.domain.loops.repeating_tail import Tail
from proxy.domain.loops.tool_calls import without_thinking
from proxy.domain.prefixes import Thread, count_answered, digest_words, opening_of
from proxy.enrichment.beginnings import Beginnings
from proxy.enrichment.blocks import Blocks
from proxy.enrichment.loop_guard import LoopGuard, TailGuard, add_mitigation
from proxy.enrichment.placement import BlockPlacer, Placed, Standing
from proxy.enrichment.prompt_search import RESENT, Lookup, PromptSearch, describe_given
from proxy.enrichment.request_records import RequestInfo, name_request, name_speaker, request_event
from proxy.telemetry import privacy
from proxy.telemetry.events import Events
from proxy.telemetry.prompt_texts import find_last_user_text
from proxy.upstream.relay import StreamGuard

logger = logging.getLogger(__name__)

CANNOT_ANSWER = "the agent has no tools, and has taught nothing so far"
ASKED_NOT_TO = "the message asks not to be kept"
WARM_UP = ("The Glitch University repo is a part of Agent Zero.", "Größe ist kein Cue. Gnommoweb is a repo of Zürich.")
UNTOUCHED = "forwarded as they came"
KEPT_MAX = 100_000  # characters of an answer that is kept: more than an episode has
BOUNDS = {
    Excess.BYTES: bounds.define(Excess.BYTES, f"prompts of over {JSON_MAX_BYTES:,} bytes, {UNTOUCHED}"),
    Excess.VALUES: bounds.define(Excess.VALUES, f"prompts with too many values in their JSON, {UNTOUCHED}"),
    Excess.UNREAD: bounds.define(Excess.UNREAD, f"prompts that are no JSON objects, {UNTOUCHED}"),
    Excess.PARTS: bounds.define(Excess.PARTS, f"prompts of over {PARTS_MAX:,} messages or sections, {UNTOUCHED}"),
}


TurnKind = Literal["new_message", "resent", "tool_result", "program", "other", "unread"]


@dataclass(slots=True)
class Enriched:
    """The body to send, and what was done for it. A body that is no prompt, or is not understood, has neither
    ``prompt`` nor ``asked``.

    - ``step``: the step taken against a loop, if any.
    - ``answer``: content type and body of the answer if the model is not asked at all.
    - ``keep`` takes the model's answer; None if it is not kept.
    - ``is_heard``: the answer is listened to, because later prompts may have it as somebody's words.
    - ``turn``: what the prompt ends with, to be counted, as are all below.
    - ``recall``: the outcome of the recall; ``tokens``: the length of the new block.
    - ``has_blocks``: the body has new blocks or those of earlier turns.
    - ``is_partial``: text was left unread, because it exceeded the allowance.
    """

    body: bytes
    prompt: Prompt | None = None
    asked: RequestInfo | None = None
    lookup: Lookup | None = None
    thread: Thread | None = None
    placed: Placed | None = None
    keep: Callable[[str], None] | None = None
    step: str = ""
    answer: tuple[str, bytes] | None = None
    is_heard: bool = False
    turn: TurnKind = "unread"
    recall: Literal["given", "nothing", "off"] = "off"
    tokens: int = 0
    has_blocks: bool = False
    is_partial: bool = False
    has_failed: bool = False

    @property
    def request(self) -> str:
        """The id for ``/why``; empty if there is none."""
        return self.asked["request"] if self.asked is not None else ""


@dataclass(slots=True)
class Enricher:
    """Enriches prompts. ``loops`` returns the current settings for loops."""

    cache: Cache
    reader: Reader
    encounters: Encounters
    blocks: Blocks
    placer: BlockPlacer
    guard: LoopGuard
    events: Events
    loops: Callable[[], Loops]
    prompt_search: PromptSearch
    note_asked: Callable[[Iterable[SoasRow], float], None] = lambda rows, now: None
    beginnings: Beginnings = field(default_factory=Beginnings)
    forget: Callable[[ForgetOrder], None] = lambda order: None
    relayed: RelayedAnswers = field(default_factory=RelayedAnswers)

    def warm_up(self) -> None:
        """Compile the patterns that the first prompt would otherwise wait for, some 20 ms; counts nothing."""
        for text in WARM_UP:
            reading = self.reader.read(Message("user", text))
            recollect(self.cache, Mentions.of([reading]), time.time())

    async def enrich(self, path: str, body: bytes, caller: Caller) -> Enriched:
        """Return what becomes of the request: the very same body if there is nothing to do. Other tasks
        run between its parts where those take long."""
        try:
            return await self._enrich(path, body, caller)
        except Exception:
            # No error here may fail the agent's request: the original goes on.
            logger.exception("enrich.failed", extra={"path": path, "bytes": len(body)})
            return Enriched(body, has_failed=True)

    async def _enrich(self, path: str, body: bytes, caller: Caller) -> Enriched:
        started, now, wire, pace = time.perf_counter(), time.time(), FORMATS[path], Pace()
        privacy.begin(is_private=caller.is_temporary)
        agent, off = caller.name, caller.restrictions
        read = read_request(wire, body)
        await pace.step()
        if read.excess is not None:
            BOUNDS[read.excess].count_bite(path=path, bytes=len(body))
        prompt = read.prompt
        if prompt is None:
            return Enriched(body)
        names, person = self.cache.tuning.names, caller.person_in(read.payload)
        messages = list[Message]()
        for message in find_messages(prompt, read.payload, self.relayed, names, person):
            messages.append(message)
            await pace.step()
        person = find_audience(messages, person)
        asked = name_request(prompt, wire, agent, person, now)
        request_ids.ensure(asked["request"])
        scope = caller.scope_for(read.payload)
        if scope is not None:
            scope = scope._replace(speaker=scope.speaker._replace(person=person))
        done = Enriched(body, prompt, asked)
        if program := find_program(prompt, read.payload, self._templates_of(scope)):
            # Nobody has said its content, and nobody reads the answer.
            off = {"learn": program, "ask": program, **off}
        # Until the vocabulary is loaded, nothing can be read, counted or recalled; loops are found without it.
        is_loaded = self.cache.loaded_at is not None
        recalls, learns = is_loaded and "recall" not in off, is_loaded and "learn" not in off
        is_read = recalls or learns
        readings, digests = await self._read_messages(messages, is_read, pace)
        done.is_heard = bool(
            program
            or read.payload.get("tools")
            or isinstance(prompt, FlattenedPrompt)
            or (messages[-1:] and messages[-1].voice is Voice.NOBODYS)
        )
        answered = count_answered(messages)
        wishes = NO_WISHES if program else read_wishes(messages, readings, answered)
        if len(messages) - 1 in wishes.unkept:
            privacy.begin(is_private=True)
            off = {"learn": ASKED_NOT_TO, "ask": ASKED_NOT_TO, "remember": ASKED_NOT_TO, **off}
        keys = [reading.key if reading else digest for reading, digest in zip(readings, digests, strict=True)]
        conversation = keys[find_opening(messages, readings)]
        thread = done.thread = Thread.of(prompt, digests, name_speaker(scope, agent))
        leaving_out = partial(leave_out, self.cache, wishes.topics, scope.speaker if scope is not None else ("", ""))
        with leaving_out():
            standing = self.placer.find_standing(thread, now) if recalls else Standing()
        await pace.step()

        unkept = range(len(keys)) if caller.is_temporary else wishes.unkept
        kept = {key for index, key in enumerate(keys) if index not in unkept}
        self.encounters.leave_unkept(conversation + keys[index] for index in unkept if keys[index] not in kept)
        if wishes.asking and scope is not None:
            self._ask_to_forget(wishes, messages, keys, scope, conversation, now)
        if recalls and not program and scope is not None:
            whose = scope, conversation, prompt.model
            done.lookup = await self.prompt_search.begin(
                messages, readings, digests, *whose, now=now, is_resent=standing.is_resent
            )
        done.turn = name_turn(messages, readings, done.lookup, is_program=bool(program))
        stated = NOTHING_STATED
        if learns:
            keeper = None if "remember" in caller.restrictions else scope
            observing = self.encounters.observe(
                conversation, messages, readings, keys, now, agent,
                answered=answered, scope=keeper, chat=caller.chat, unkept=wishes.unkept,
            )  # fmt: skip
            if not privacy.is_private():
                done.keep = partial(
                    self.encounters.keep_answer, conversation, now=time.time(), agent=agent, scope=keeper
                )
            stated = judge_prompt(self.cache, observing, now, agent)
        unread = count_unread(messages, readings) if is_read else 0
        done.is_partial = bool(unread)
        await pace.step()
        intervention = self._look_for_loop(prompt, conversation, asked, done)
        await pace.step()
        if intervention is not None and intervention.answer:
            done.step = intervention.step
            done.answer = wire.write_answer(
                prompt.model, intervention.answer, is_stream=prompt.is_stream, now=now, unique=asked["request"]
            )
        else:
            if recalls:
                quoted = [index for index, message in enumerate(messages) if message.is_quoted]
                mentions = self.beginnings.find_mentions(self.cache, thread.links, readings, quoted)
                wanted = await self.prompt_search.finish(done.lookup, messages)
                with leaving_out():
                    done.placed = self.placer.place(
                        thread,
                        standing,
                        mentions,
                        now,
                        why_not_ask=off.get("ask", "") or self._why_not_ask(agent, read.payload, readings),
                        wanted=wanted,
                        project=scope.project if scope is not None and not program else None,
                        warning=intervention.note if intervention is not None else "",
                        stated=stated,
                    )
                self.prompt_search.keep(done.lookup, done.placed.recollection.block.notes, now)
            await pace.step()
            self._apply(wire, read.payload, done, intervention)
        self._record(done, off, unread, started, now, conversation, readings)
        return done

    def _ask_to_forget(
        self,
        wishes: Wishes,
        messages: Sequence[Message],
        keys: Sequence[bytes],
        scope: Scope,
        conversation: bytes,
        now: float,
    ) -> None:
        """Hand over what the prompt asks to forget, once: a client may send it again."""
        for index, effect, topic in wishes.asking:
            if effect is Effect.CONVERSATION and not any(message.role == "user" for message in messages[:index]):
                continue  # it begins with the wish
            speaker = scope.speaker._replace(person=messages[index].person or scope.speaker.person)
            if self.encounters.is_asked_anew((speaker, conversation, keys[index], topic), now):
                request = request_ids.current()
                order = make_order(speaker, effect, topic, now, conversation=conversation, request=request)
                self.forget(order)

    def _record(
        self,
        done: Enriched,
        off: Restrictions,
        unread: int,
        started: float,
        now: float,
        conversation: bytes,
        readings: Sequence[Reading | None],
    ) -> None:
        """Record what was shown and asked, and the event, which is written off the hot path. Call it after the work, so
        that enrich_ms covers it."""
        prompt, asked, lookup, placed = done.prompt, done.asked, done.lookup, done.placed
        assert prompt is not None
        assert asked is not None
        if placed is not None:
            done.recall = "nothing"
        if placed is not None and placed.is_shown:
            if placed.recollection.block:
                done.recall, done.tokens = "given", placed.recollection.block.tokens
            self.note_asked(placed.recollection.asked, now)
            notes = placed.recollection.block.notes
            self.events.add_given(asked["request"], conversation, now, [note.key for note in notes])
        event = request_event(asked, placed, off, unread, started) | {"conversation": conversation.hex()}
        event |= describe_given(lookup, placed)
        if self.cache.tuning.keeps_prompt_text:
            event["said"] = find_last_user_text(prompt.parts, readings)
        self.events.add(event)

    def _templates_of(self, scope: Scope | None) -> Container[bytes]:
        return self.cache.templates.get(tuple(scope.speaker), ()) if scope is not None else ()

    def _why_not_ask(self, agent: str, payload: Payload, readings: Sequence[Reading | None]) -> str:
        # A question tells the agent to run gutask, which takes tools: those of the request or of the prompt's text.
        has_tools = bool(payload.get("tools") or payload.get("functions")) or any(
            reading is not None and reading.has_tools for reading in readings
        )
        return "" if self.cache.audience.can_answer(agent, has_tools=has_tools) else CANNOT_ANSWER

    async def _read_messages(
        self, messages: Sequence[Message], is_read: bool, pace: Pace
    ) -> tuple[list[Reading | None], list[bytes]]:
        """Return the messages' readings, as far as they may be read now, and their digests."""
        readings: list[Reading | None] = [None] * len(messages)
        if is_read:
            readings.clear()
            for reading in self.reader.read_within(messages, Allowance.of_request()):
                readings.append(reading)
                await pace.step()
            readings.reverse()
        return readings, [
            digest_message(message) if reading is None else reading.digest
            for message, reading in zip(messages, readings, strict=True)
        ]

    def guard_of(self, path: str, done: Enriched) -> StreamGuard | None:
        """Return the guard that watches a streamed answer for a repeating tail; None if it is not watched."""
        loops, asked = self.loops(), done.asked
        is_watched = loops.enabled and loops.detector.stream
        if asked is None or done.prompt is None or not (done.prompt.is_stream and is_watched):
            return None
        return TailGuard(FORMATS[path].watch(), Tail(), lambda loop: self.events.tail_met(loop, **asked))

    def listener_of(self, path: str, done: Enriched) -> Callable[[bytes], None] | None:
        """Return the listener for the chunks of the answer: later prompts may have it as somebody's words, or
        have their blocks by it. None if nobody listens."""
        listeners = list[AnswerListener]()
        if done.is_heard:
            listeners.append(self.relayed.listen())
        if done.placed is not None and done.placed.version is not None and done.thread is not None:
            listeners.append(self._note_answer(done.thread, done.placed.version.at))
        watch = WholeWatch if done.prompt is not None and not done.prompt.is_stream else FORMATS[path].watch
        hearers = [listen(watch().feed, listeners)] if listeners else []
        if done.keep is not None:
            hearers.append(listen(watch().feed_content, [keep_whole(done.keep)]))

        def hear(chunk: bytes) -> None:
            for each in hearers:
                each(chunk)

        return hear if hearers else None

    def _note_answer(self, thread: Thread, at: float) -> AnswerListener:
        said = thread.begin_answer()

        def hear(text: str, is_over: bool) -> None:
            said.append(text)
            if is_over:
                self.blocks.note_answer(thread.place, at, digest_words(*said))

        return hear

    def _look_for_loop(
        self, prompt: Prompt, conversation: bytes, asked: RequestInfo, done: Enriched
    ) -> Intervention | None:
        try:  # an error here costs neither the answer nor the recollection, so it is not caught with all others
            intervention = self.guard.look(prompt, conversation, self.loops(), asked["at"])
            if intervention is not None:
                self.events.loop_met(intervention, **asked)
        except Exception:
            done.has_failed = True
            logger.exception("loop.failed", extra={"why": asked["request"], "wire": asked["wire"]})
            return None
        return intervention

    def _apply(self, wire: WireFormat, payload: Payload, done: Enriched, intervention: Intervention | None) -> None:
        """Write the placed blocks and the steps against a loop into the body. Without either it stays as it came."""
        assert done.prompt is not None
        edit, changes = done.placed.edit if done.placed is not None else Edit(), list[Change]()
        if intervention is not None:
            done.step = intervention.step
            if done.placed is None and done.thread is not None and done.thread.spot is not None and intervention.note:
                edit = Edit(tails={done.thread.spot: intervention.note})  # recalling is off
            edit = add_mitigation(edit, done.prompt, intervention)
            if "temperature" in intervention.steps:
                changes += wire.raise_temperature(payload, intervention.warmth, intervention.seed)
        changes += wire.write_edit(payload, done.prompt, edit)
        if changes:
            done.body = splice(done.body, changes)
        done.has_blocks = bool(edit.top or edit.tails)


def keep_whole(keep: Callable[[str], None]) -> AnswerListener:
    """Return a listener that hands over a whole answer at its end, without thoughts."""
    said, length = list[str](), 0

    def hear(text: str, is_over: bool) -> None:
        nonlocal length
        if text and length < KEPT_MAX:
            said.append(text)
            length += len(text)
        if is_over and (answer := without_thinking("".join(said)).strip()):
            keep(answer)

    return hear


def name_turn(
    messages: Sequence[Message], readings: Sequence[Reading | None], lookup: Lookup | None, *, is_program: bool
) -> TurnKind:
    """Name what the prompt ends with. A user's message counts as new unless it was searched for before."""
    if is_program:
        return "program"
    if not messages:
        return "other"
    last = readings[-1] or messages[-1]
    if last.role == "user":
        return "resent" if lookup is not None and lookup.outcome == RESENT else "new_message"
    return "tool_result" if last.role == "tool" else "other"


def count_unread(messages: Sequence[Message], readings: Sequence[Reading | None]) -> int:
    """Count the unread characters, and log them."""
    unread = sum(len(message.text) for message, reading in zip(messages, readings, strict=True) if reading is None)
    if unread:
        logger.warning("enrich.partial", extra={"unread_characters": unread})
    return unread


def find_opening(messages: Sequence[Message], readings: Sequence[Reading | None]) -> int:
    """Return the index of the first message in which somebody says something; it tells a conversation from others."""
    said = (
        index
        for index, (message, reading) in enumerate(zip(messages, readings, strict=True))
        if message.role != "system" and (reading is None or reading.text.strip())
    )
    return next(said, opening_of(message.role for message in messages) or 0)
