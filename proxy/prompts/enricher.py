"""The hot path between a request's body and the upstream's: a plan is made and carried out. Any error in it is logged
and noted, and the original request goes on."""

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from memory import bounds
from memory.learning.setting_aside import ForgetOrder
from memory.recall.mentions import Mentions
from memory.recall.recollect import recollect
from memory.recall.speakers_graph import SpeakersGraph
from memory.types import Message
from proxy.access.caller import Caller
from proxy.formats import FORMATS
from proxy.formats.base import PARTS_MAX
from proxy.formats.bounded_requests import JSON_MAX_BYTES, Excess
from proxy.formats.prefixes import PrefixDigests, digest_words
from proxy.formats.streams import AnswerListener, Delta, WholeReader
from proxy.loops.calls import without_thinking
from proxy.loops.tail import Tail
from proxy.prompts.answer_watch import AnswerWatch
from proxy.prompts.placement import remember_placed
from proxy.prompts.plan import Plan, Planner, TurnKind, Untouched
from proxy.prompts.records import request_event
from proxy.prompts.search import SearchRun, describe_given
from proxy.telemetry.events import Events
from proxy.telemetry.prompt_texts import find_last_user_text
from proxy.upstream.transport import Answer

logger = logging.getLogger(__name__)

WARM_UP = ("The Glitch University repo is a part of Agent Zero.", "Größe ist kein Cue. Gnommoweb is a repo of Zürich.")
UNTOUCHED = "forwarded as they came"
KEPT_MAX = 100_000  # characters of an answer that is kept: more than an episode has
BOUNDS = {
    Excess.BYTES: bounds.define(Excess.BYTES, f"prompts of over {JSON_MAX_BYTES:,} bytes, {UNTOUCHED}"),
    Excess.VALUES: bounds.define(Excess.VALUES, f"prompts with too many values in their JSON, {UNTOUCHED}"),
    Excess.UNREAD: bounds.define(Excess.UNREAD, f"prompts that are no JSON objects, {UNTOUCHED}"),
    Excess.PARTS: bounds.define(Excess.PARTS, f"prompts of over {PARTS_MAX:,} messages or sections, {UNTOUCHED}"),
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """The body to send, and the plan that was carried out; None for a body that is no prompt, or is not understood."""

    body: bytes
    plan: Plan | None = None
    has_failed: bool = False

    @property
    def request(self) -> str:
        """The id for ``/why``; empty if there is none."""
        return self.plan.asked["request"] if self.plan is not None else ""

    @property
    def answer(self) -> tuple[str, bytes] | None:
        """Content type and body of the answer if the model is not asked at all."""
        return self.plan.answer if self.plan is not None else None

    @property
    def step(self) -> str:
        """The step taken against a loop, if any."""
        return self.plan.step if self.plan is not None else ""

    @property
    def lookup(self) -> SearchRun | None:
        return self.plan.lookup if self.plan is not None else None

    @property
    def turn(self) -> TurnKind:
        return self.plan.turn if self.plan is not None else "unread"

    @property
    def recall(self) -> Literal["given", "nothing", "off"]:
        """The outcome of the recall."""
        if self.plan is None or self.plan.placed is None:
            return "off"
        return "given" if self.tokens else "nothing"

    @property
    def tokens(self) -> int:
        """The length of the new block."""
        placed = self.plan.placed if self.plan is not None else None
        return placed.recollection.block.tokens if placed is not None and placed.is_shown else 0


@dataclass(slots=True)
class Enricher:
    """Plans prompts and carries the plans out."""

    planner: Planner
    events: Events
    note_asked: Callable[[Iterable[str], float], None] = lambda words, now: None
    forget: Callable[[ForgetOrder], None] = lambda order: None

    def warm_up(self) -> None:
        """Compile the patterns that the first prompt would otherwise wait for, some 20 ms; counts nothing."""
        for text in WARM_UP:
            reading = self.planner.reader.read(Message("user", text))
            recollect(SpeakersGraph(self.planner.cache), Mentions.of([reading]), time.time())

    async def enrich(self, path: str, body: bytes, caller: Caller) -> Outcome:
        """Return what becomes of the request: the very same body if there is nothing to do."""
        try:
            plan = await self.planner.plan(path, body, caller)
            if isinstance(plan, Untouched):
                if plan.excess is not None:
                    BOUNDS[plan.excess].count_hit(path=path, bytes=len(body))
                return Outcome(body)
            self._carry_out(plan)
            return Outcome(plan.body, plan, has_failed=plan.verdict is None)
        except Exception:
            # No error here may fail the agent's request: the original goes on.
            logger.exception("enrich.failed", extra={"path": path, "bytes": len(body)})
            return Outcome(body, has_failed=True)

    def _carry_out(self, plan: Plan) -> None:
        """Remember the blocks, hand over what is new and what is to be forgotten, and record the request's event."""
        memory, asked, now = self.planner, plan.asked, plan.asked["at"]
        for key, order in plan.forget:
            if memory.encounters.is_asked_anew(key, now):
                self.forget(order)
        memory.encounters.note(plan.encounter)
        if plan.unread:
            logger.warning("enrich.partial", extra={"unread_characters": plan.unread})
        if plan.verdict is not None:
            memory.guard.note(plan.verdict)
        if plan.intervention is not None:
            self.events.record_loop(plan.intervention, asked)
        placed = plan.placed
        remember_placed(memory.blocks, plan.prefixes, plan.kept, placed)
        notes = placed.recollection.block.notes if placed is not None else ()
        if plan.lookup is not None:
            memory.prompt_search.note(plan.lookup, notes, now)
        if placed is not None and placed.is_shown:
            self.note_asked(placed.recollection.block.questions, now)
            self.events.add_injected(asked["request"], plan.conversation, now, [note.key for note in notes])
        event = request_event(asked, placed, plan.off, plan.unread, plan.started)
        event |= {"conversation": plan.conversation.hex()} | describe_given(plan.lookup, placed)
        if memory.cache.tuning.keeps_prompt_text:
            event["said"] = find_last_user_text(plan.prompt.parts, plan.readings)
        self.events.add(event)

    def watch_answer(self, path: str, done: Outcome, answer: Answer) -> AnswerWatch | None:
        """Return what reads the upstream's answer as it passes: its tail may repeat, and later prompts may have it as
        somebody's words, or have their blocks by it. None if nobody reads it."""
        plan, memory, loops = done.plan, self.planner, self.planner.loops()
        if plan is None or answer.status != 200:
            return None
        listeners = list[AnswerListener]()
        if plan.must_remember_answer:
            listeners.append(memory.relayed.listen())
        if plan.placed is not None and plan.placed.version is not None:
            listeners.append(self._note_answer(plan.prefixes, plan.placed.version.at))
        if plan.is_learned:
            agent = plan.asked["agent"]
            keep = partial(
                memory.encounters.keep_answer, plan.conversation, now=time.time(), agent=agent, scope=plan.keeper
            )
            listeners.append(keep_whole(keep))
        has_tail = answer.is_stream and plan.prompt.is_stream and loops.enabled
        if not (listeners or has_tail):
            return None
        reader = FORMATS[path].reader() if plan.prompt.is_stream else WholeReader()
        return AnswerWatch(
            reader,
            listeners,
            Tail() if has_tail else None,
            lambda loop: self.events.record_tail_loop(loop, plan.asked),
        )

    def _note_answer(self, prefixes: PrefixDigests, at: float) -> AnswerListener:
        said = prefixes.begin_answer()

        def hear(delta: Delta, is_over: bool) -> None:
            said.append(delta.text)
            if is_over:
                self.planner.blocks.note_answer(prefixes.place, at, digest_words(*said))

        return hear


def keep_whole(keep: Callable[[str], None]) -> AnswerListener:
    """Return a listener that hands over a whole answer at its end, without thoughts."""
    said, length = list[str](), 0

    def hear(delta: Delta, is_over: bool) -> None:
        nonlocal length
        if length < KEPT_MAX:
            said.append(delta.content)
            length += len(delta.content)
        if is_over and (answer := without_thinking("".join(said)).strip()):
            keep(answer)

    return hear
