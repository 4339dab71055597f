"""Plans what becomes of a prompt: read, find what is new, look for loops, recall, place. Nothing is changed by it but
memos of what was read; ``enricher.py`` carries a plan out.

It works in this process's memory only, except for one search with a deadline (search.py).
"""

import logging
import time
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from memory import request_ids
from memory.access.switches import Restrictions
from memory.attribution.envelopes import is_open_webui
from memory.attribution.forget_requests import Effect
from memory.cache.loader import Pace
from memory.cache.state import Cache
from memory.learning.encounters import Encounter, Encounters, list_unkept
from memory.learning.reader import Reader, Reading, digest_message
from memory.learning.setting_aside import NO_WISHES, ForgetOrder, Wishes, make_order, read_wishes
from memory.memories.scope import Scope
from memory.recall.speakers_graph import NOTHING_STATED, SpeakersGraph, judge_prompt
from memory.running.heartbeats import Use
from memory.types import Message
from memory.voice import Voice
from proxy.access.caller import Caller
from proxy.config.schema import Loops
from proxy.formats import FORMATS
from proxy.formats.base import Edit, Payload, Prompt, WireFormat
from proxy.formats.bounded_requests import Excess, read_request
from proxy.formats.flattened import FlattenedPrompt
from proxy.formats.json_text import Change, splice
from proxy.formats.prefixes import PrefixDigests, count_answered, opening_of
from proxy.loops.guard import LoopGuard, Verdict, add_mitigation
from proxy.loops.mitigations import Intervention
from proxy.prompts.beginnings import Beginnings
from proxy.prompts.blocks import Blocks
from proxy.prompts.placement import KeptBlocks, Placed, find_kept, place
from proxy.prompts.records import RequestInfo, name_speaker, new_request_info
from proxy.prompts.search import RESENT, PromptSearch, SearchRun
from proxy.speakers.programs import find_program
from proxy.speakers.relayed import RelayedAnswers
from proxy.speakers.speakers import find_audience, find_messages
from proxy.telemetry import privacy

logger = logging.getLogger(__name__)

CANNOT_ANSWER = "the agent has no tools, and has taught nothing so far"
ASKED_NOT_TO = "the message asks not to be kept"
NO_USER_IDS = "Open WebUI sends no user's id"

TurnKind = Literal["new_message", "resent", "tool_result", "program", "other", "unread"]


@dataclass(frozen=True, slots=True)
class Untouched:
    """A request that goes on as it came: no prompt, or one beyond the bounds (``excess``)."""

    body: bytes
    excess: Excess | None


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan for a prompt, which changes nothing.

    - ``body``: to be sent; the very same if there is nothing to do.
    - ``off``: what is switched off, and why.
    - ``encounter``: the messages that are new in the ``conversation``; ``keeper``: for whom they are kept.
    - ``use``: how the model is to be loaded.
    - ``forget``: what the prompt asks to forget, each with what tells the request from others.
    - ``verdict``: about a loop, None if the look for one failed, which costs neither the answer nor the recollection.
    - ``answer``: content type and body of the answer if the model is not asked at all.
    - ``turn``: what the prompt ends with, to be counted.
    - ``must_remember_answer``: later prompts may have the answer as somebody's words; ``is_learned``: it is kept.
    - ``unread``: characters that were left unread, because they exceeded the allowance.
    """

    body: bytes
    prompt: Prompt
    use: Use
    asked: RequestInfo
    started: float  # by the performance counter
    off: Restrictions
    conversation: bytes
    readings: Sequence[Reading | None]
    prefixes: PrefixDigests
    kept: KeptBlocks
    encounter: Encounter
    keeper: Scope | None
    forget: Sequence[tuple[object, ForgetOrder]]
    lookup: SearchRun | None
    placed: Placed | None
    edit: Edit
    verdict: Verdict | None
    answer: tuple[str, bytes] | None
    turn: TurnKind
    must_remember_answer: bool
    is_learned: bool
    unread: int

    @property
    def intervention(self) -> Intervention | None:
        return self.verdict.intervention if self.verdict is not None else None

    @property
    def step(self) -> str:
        """The step taken against a loop; empty if none is."""
        return self.intervention.step if self.intervention is not None else ""


@dataclass(slots=True)
class Planner:
    """Plans prompts with the memory of one process. ``loops`` returns the current settings for loops."""

    cache: Cache
    reader: Reader
    encounters: Encounters
    blocks: Blocks
    guard: LoopGuard
    loops: Callable[[], Loops]
    prompt_search: PromptSearch
    beginnings: Beginnings = field(default_factory=Beginnings)
    relayed: RelayedAnswers = field(default_factory=RelayedAnswers)

    async def plan(self, path: str, body: bytes, caller: Caller) -> Plan | Untouched:
        """Plan the prompt. Other tasks run between the parts where those take long."""
        started, now, wire, pace = time.perf_counter(), time.time(), FORMATS[path], Pace()
        privacy.begin(is_private=caller.is_temporary)
        read = read_request(wire, body)
        await pace.step()
        prompt = read.prompt
        if prompt is None:
            return Untouched(body, read.excess)
        person = caller.person_in(read.payload)
        messages = list[Message]()
        for message in find_messages(prompt, read.payload, self.relayed, self.cache.tuning.names, person):
            messages.append(message)
            await pace.step()
        person = find_audience(messages, person)
        asked = new_request_info(prompt, wire, caller.name, person, now)
        request_ids.ensure(asked["request"])
        scope = caller.scope_for(read.payload)
        if scope is not None:
            scope = scope._replace(speaker=scope.speaker._replace(person=person))
        off = caller.restrictions
        if program := find_program(prompt, read.payload, self._templates_of(scope)):
            # Nobody has said its content, and nobody reads the answer.
            off = {"learn": program, "ask": program, **off}
        if messages and not person and is_open_webui(messages[-1].text):
            off = {"persons": NO_USER_IDS, **off}
        # Until the vocabulary is loaded, nothing can be read, counted or recalled; loops are found without it.
        is_loaded = self.cache.loaded_at is not None
        recalls, learns = is_loaded and "recall" not in off, is_loaded and "learn" not in off
        is_read = recalls or learns
        readings, digests = await self._read_messages(messages, is_read, pace)
        answered = count_answered(messages)
        wishes = NO_WISHES if program else read_wishes(messages, readings, answered)
        if len(messages) - 1 in wishes.unkept:
            privacy.begin(is_private=True)
            off = {"learn": ASKED_NOT_TO, "ask": ASKED_NOT_TO, "remember": ASKED_NOT_TO, **off}
        keys = [reading.key if reading else digest for reading, digest in zip(readings, digests, strict=True)]
        conversation = keys[find_opening(messages, readings)]
        prefixes = PrefixDigests.of(prompt, digests, name_speaker(scope, caller.name))
        whose_graph, kept = (self.cache, prefixes.holder, wishes.topics), KeptBlocks()
        if recalls:
            told_at = partial(self.prompt_search.told_at, scope, conversation)
            kept = find_kept(SpeakersGraph.of(*whose_graph), self.blocks, prefixes, now, told_at)
        await pace.step()

        lookup = None
        if recalls and not program and scope is not None:
            whose = scope, conversation, prompt.model
            lookup = await self.prompt_search.begin(
                messages, readings, digests, *whose, now=now, is_resent=kept.is_resent
            )
        keeper, stated = None if "remember" in caller.restrictions else scope, NOTHING_STATED
        unkept = range(len(keys)) if caller.is_temporary else wishes.unkept
        if learns:
            encounter = self.encounters.find_new(
                conversation, messages, readings, keys, now, caller.name,
                answered=answered, scope=keeper, chat=caller.chat, unkept=unkept,
            )  # fmt: skip
            stated = judge_prompt(self.cache, encounter.stated, now, caller.name)
        else:
            encounter = Encounter(now, unkept=list_unkept(conversation, keys, unkept))
        await pace.step()
        verdict = self._look_for_loop(prompt, conversation, asked)
        intervention = verdict.intervention if verdict is not None else None
        await pace.step()
        placed, answer, edit = None, None, Edit()
        if intervention is not None and intervention.answer:
            answer = wire.write_answer(
                prompt.model, intervention.answer, is_stream=prompt.is_stream, now=now, unique=asked["request"]
            )
        else:
            if recalls:
                quoted = [index for index, message in enumerate(messages) if message.is_quoted]
                mentions = self.beginnings.find_mentions(self.cache, prefixes.links, readings, quoted)
                mentions.counted = encounter.count_names()
                wanted = await self.prompt_search.finish(lookup, messages)
                placed = place(
                    SpeakersGraph.of(*whose_graph, stated),
                    prefixes,
                    kept,
                    mentions,
                    now,
                    why_not_ask=off.get("ask", "") or self._why_not_ask(caller.name, read.payload, readings),
                    wanted=wanted,
                    project=scope.project if scope is not None and not program else None,
                    warning=intervention.note if intervention is not None else "",
                )
            await pace.step()
            edit = _make_edit(prompt, prefixes, placed, intervention)
            body = _write(wire, read.payload, body, prompt, edit, intervention)
        return Plan(
            body=body,
            prompt=prompt,
            use=Use(prompt.model, read.payload.get("options"), read.payload.get("keep_alive")),
            asked=asked,
            started=started,
            off=off,
            conversation=conversation,
            readings=readings,
            prefixes=prefixes,
            kept=kept,
            encounter=encounter,
            keeper=keeper,
            forget=_list_orders(wishes, messages, keys, scope, conversation, now),
            lookup=lookup,
            placed=placed,
            edit=edit,
            verdict=verdict,
            answer=answer,
            turn=name_turn(messages, readings, lookup, is_program=bool(program)),
            must_remember_answer=bool(
                program
                or read.payload.get("tools")
                or isinstance(prompt, FlattenedPrompt)
                or (messages[-1:] and messages[-1].voice is Voice.NOBODYS)
            ),
            is_learned=learns and not privacy.is_private(),
            unread=count_unread(messages, readings) if is_read else 0,
        )

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
            for reading in self.reader.read_within(messages):
                readings.append(reading)
                await pace.step()
            readings.reverse()
        return readings, [
            digest_message(message) if reading is None else reading.digest
            for message, reading in zip(messages, readings, strict=True)
        ]

    def _look_for_loop(self, prompt: Prompt, conversation: bytes, asked: RequestInfo) -> Verdict | None:
        """Return None if the look failed."""
        try:  # an error here costs neither the answer nor the recollection, so it is not caught with all others
            return self.guard.look(prompt, conversation, self.loops(), asked["at"])
        except Exception:
            logger.exception("loop.failed", extra={"why": asked["request"], "wire": asked["wire"]})
            return None


def _list_orders(
    wishes: Wishes,
    messages: Sequence[Message],
    keys: Sequence[bytes],
    scope: Scope | None,
    conversation: bytes,
    now: float,
) -> list[tuple[object, ForgetOrder]]:
    orders = list[tuple[object, ForgetOrder]]()
    for index, effect, topic in wishes.asking if scope is not None else ():
        assert scope is not None
        if effect is Effect.CONVERSATION and not any(message.role == "user" for message in messages[:index]):
            continue  # it begins with the wish
        speaker = scope.speaker._replace(person=messages[index].person or scope.speaker.person)
        order = make_order(speaker, effect, topic, now, conversation=conversation, request=request_ids.current())
        orders.append(((speaker, conversation, keys[index], topic), order))
    return orders


def _make_edit(
    prompt: Prompt, prefixes: PrefixDigests, placed: Placed | None, intervention: Intervention | None
) -> Edit:
    """Join the placed blocks and the steps against a loop."""
    edit = placed.edit if placed is not None else Edit()
    if intervention is None:
        return edit
    if placed is None and prefixes.spot is not None and intervention.note:
        edit = Edit(tails={prefixes.spot: intervention.note})  # recalling is off
    return add_mitigation(edit, prompt, intervention)


def _write(
    wire: WireFormat, payload: Payload, body: bytes, prompt: Prompt, edit: Edit, intervention: Intervention | None
) -> bytes:
    """Return the body with the edit, and with another temperature against a loop."""
    changes = list[Change]()
    if intervention is not None and "temperature" in intervention.steps:
        changes += wire.raise_temperature(payload, intervention.warmth, intervention.seed)
    changes += wire.write_edit(payload, prompt, edit)
    return splice(body, changes) if changes else body


def name_turn(
    messages: Sequence[Message], readings: Sequence[Reading | None], lookup: SearchRun | None, *, is_program: bool
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
    """Count the unread characters."""
    return sum(len(message.text) for message, reading in zip(messages, readings, strict=True) if reading is None)


def find_opening(messages: Sequence[Message], readings: Sequence[Reading | None]) -> int:
    """Return the index of the first message in which somebody says something; it tells a conversation from others."""
    said = (
        index
        for index, (message, reading) in enumerate(zip(messages, readings, strict=True))
        if message.role != "system" and (reading is None or reading.text.strip())
    )
    return next(said, opening_of(message.role for message in messages) or 0)
