"""Plans a request without carrying the plan out, to tell what would become of it."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import orjson

from memory.access.switches import Restrictions
from memory.cache.state import Cache
from memory.graph.statement import Statement
from memory.learning.encounters import Encounters
from memory.learning.messages import NewMessage
from memory.learning.reader import Reader
from memory.learning.statements import extract_statements
from memory.recall.block import render_note, render_state, show_state
from memory.recall.recollect import Recollection
from memory.search.searcher import Searcher
from memory.types import NoteKey
from proxy.access.caller import Caller
from proxy.config.schema import Loops
from proxy.loops.guard import LoopGuard
from proxy.prompts.blocks import Blocks
from proxy.prompts.plan import Plan, Planner, Untouched
from proxy.prompts.search import PromptSearch, SearchRun, tell_how
from proxy.speakers.relayed import RelayedAnswers

SEARCH_MS: Final = 5_000  # no model waits for it
TEXT_PATH: Final = "/api/chat"  # the format in which a mere text is sent


class LookedAt(NamedTuple):
    """A value of the project, a memory or an episode: its line in a block, and why it is included or not, and how
    it was found."""

    key: NoteKey
    line: str
    why: str
    how: str


@dataclass(frozen=True, slots=True)
class Lesson:
    """A message that would be new, and what would be learned from it."""

    message: NewMessage
    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class DryRun:
    """The plan for a request in a conversation that begins with it, and what would be learned from it."""

    cache: Cache
    caller: Caller
    planned: Plan | Untouched
    lessons: tuple[Lesson, ...] = ()

    @property
    def plan(self) -> Plan | None:
        """None if the request would go on unchanged."""
        return self.planned if isinstance(self.planned, Plan) else None

    @property
    def recollection(self) -> Recollection:
        if self.plan is None or self.plan.placed is None:
            return Recollection(style=self.cache.tuning.recollection_style)
        return self.plan.placed.recollection

    @property
    def block(self) -> str:
        return self.plan.placed.text if self.plan is not None and self.plan.placed is not None else ""

    @property
    def lookup(self) -> SearchRun | None:
        return self.plan.lookup if self.plan is not None else None

    @property
    def restrictions(self) -> Restrictions:
        """The switches that are off, each with the reason."""
        return self.plan.off if self.plan is not None else {}

    @property
    def step(self) -> str:
        """The step against a loop."""
        return self.plan.step if self.plan is not None else ""

    @property
    def answer(self) -> bytes:
        """The answer in place of the model's, empty if there is none."""
        return self.plan.answer[1] if self.plan is not None and self.plan.answer is not None else b""

    @property
    def notes(self) -> list[LookedAt]:
        """The notes, in the order in which they were considered."""
        return list(_list_notes(self.cache, self.lookup, self.recollection))


def write_prompt(text: str, role: str) -> bytes:
    """Return the body for TEXT_PATH of a request with nothing but the text."""
    sayable = text.encode("utf-8", "replace").decode()
    return orjson.dumps({"model": "", "messages": [{"role": role, "content": sayable}], "stream": False})


async def run_dry(
    cache: Cache,
    loops: Callable[[], Loops],
    searcher: Searcher | None,
    *,
    path: str,
    body: bytes,
    caller: Caller,
    relayed: RelayedAnswers | None = None,
) -> DryRun:
    """Plan the request as the first of its conversation.

    Call it on the event loop that owns the cache. ``searcher`` is None if the caller may not see what is remembered.
    ``relayed`` holds earlier answers.
    """
    blocks = Blocks()
    planner = Planner(
        cache=cache,
        reader=Reader(cache),
        encounters=Encounters(cache),
        blocks=blocks,
        guard=LoopGuard(),
        loops=loops,
        prompt_search=PromptSearch(cache, blocks, searcher, deadline_ms=SEARCH_MS, is_counted=False),
        relayed=relayed or RelayedAnswers(),
    )
    planned = await planner.plan(path, body, caller)
    lessons = list[Lesson]()
    for met in planned.encounter.messages if isinstance(planned, Plan) else ():
        message = met.heard.read_by(cache)
        lessons.append(Lesson(message, tuple(extract_statements(cache, message))))
        await asyncio.sleep(0)
    return DryRun(cache, caller, planned, tuple(lessons))


def _list_notes(cache: Cache, lookup: SearchRun | None, recollection: Recollection) -> Iterator[LookedAt]:
    found = lookup.found if lookup is not None else ()
    lines = {note.key: render_note(note) for note in (*found, *recollection.block.notes)}
    states = (cache.states.find(key.id) for key in recollection.notes if key.kind == "state")
    lines |= {NoteKey("state", row.id): render_state(show_state(row)) for row in states if row is not None}
    alike = lookup.alike if lookup is not None else {}
    for key, why in ((lookup.reasons if lookup is not None else {}) | recollection.notes).items():
        yield LookedAt(key, lines.get(key, ""), why, tell_how(alike.get(key, {})))
