"""Runs the pipeline of prompts on stand-ins for everything that a prompt changes, to tell what would become of a
request."""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import orjson

from memory.cache.state import Cache
from memory.domain.recall.notes import NoteKey, render_note
from memory.domain.recall.project_state import render_state
from memory.domain.statement import Statement
from memory.domain.switches import Restrictions
from memory.learning.encounters import Encounters
from memory.learning.extraction import NewMessage, extract_statements
from memory.learning.heard import HeardMessage
from memory.learning.reader import Reader
from memory.recall.recollect import Recollection
from memory.search.ranking import ForPrompt
from memory.search.searcher import Searcher
from memory.semantic.domain.scope import Scope
from proxy.access.caller import Caller
from proxy.authorship.relayed import RelayedAnswers
from proxy.domain.config_schema import Loops
from proxy.domain.formats.base import Prompt
from proxy.domain.loops.mitigations import Intervention
from proxy.enrichment.blocks import Blocks
from proxy.enrichment.loop_guard import LoopGuard
from proxy.enrichment.pipeline import Enricher
from proxy.enrichment.placement import BlockPlacer, Placed
from proxy.enrichment.prompt_search import Lookup, PromptSearch
from proxy.telemetry.events import Events
from proxy.telemetry.write_behind import Row

SEARCH_MS: Final = 5_000  # no model waits for it
TEXT_PATH: Final = "/api/chat"  # the format in which a mere text is sent


class LookedAt(NamedTuple):
    """A value of the project, a memory or an episode: its line in a block, and why it is included or not."""

    key: NoteKey
    line: str
    why: str


@dataclass(frozen=True, slots=True)
class Lesson:
    """A message that would be new, and what would be learned from it."""

    heard: HeardMessage
    message: NewMessage
    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class DryRun:
    """The result for a request in a conversation that begins with it. ``prompt`` is None if the request would go on
    unchanged; ``step`` is the step against a loop; ``answer`` would replace the model's."""

    body: bytes  # as it would be sent
    prompt: Prompt | None
    placed: Placed | None
    recollection: Recollection
    lessons: tuple[Lesson, ...]
    step: str = ""
    answer: bytes = b""
    unread_characters: int = 0
    restrictions: Restrictions = field(default_factory=dict)  # what is switched off, and why
    lookup: Lookup | None = None  # of memories and episodes
    notes: tuple[LookedAt, ...] = ()

    @property
    def block(self) -> str:
        return self.placed.text if self.placed is not None else ""


class _Listener(Encounters):
    """Counts in the fork only."""

    def count(self, names: Set[str], now: float) -> None:
        # This very message may make a name salient.
        self.cache.copy_rows(names)
        super().count(names, now)


class _Events(Events):
    """Keeps the event, and writes nothing."""

    def __init__(self) -> None:
        super().__init__("")
        self.event: Row = {}

    def add(self, event: Row) -> None:
        self.event = event

    def add_given(self, request: str, conversation: bytes, at: float, notes: Iterable[NoteKey]) -> None:
        pass

    def loop_met(self, met: Intervention, **asked: Any) -> None:
        pass


@dataclass(frozen=True, slots=True)
class _UncountedFinder:
    """Searches as prompts do, without counting it among their searches."""

    searcher: Searcher

    async def find_related(
        self, scope: Scope, texts: Sequence[str], conversation: bytes, *, deadline_ms: int, before: float
    ) -> ForPrompt | None:
        find = self.searcher.find_related
        return await find(scope, texts, conversation, deadline_ms=deadline_ms, before=before, is_counted=False)


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
    """Do everything for the request that is done for the caller's prompts, without changing anything.

    Call it on the event loop that owns the cache. ``searcher`` is None if the caller may not see what is remembered.
    ``relayed`` holds earlier answers.
    """
    fork = cache.fork()
    heard: list[HeardMessage] = []
    blocks, encounters, events = Blocks(), _Listener(fork, heard.append), _Events()
    finder = _UncountedFinder(searcher) if searcher is not None else None
    enricher = Enricher(
        cache=fork,
        reader=Reader(fork),
        encounters=encounters,
        blocks=blocks,
        placer=BlockPlacer(fork, blocks),
        guard=LoopGuard(),
        events=events,
        loops=loops,
        prompt_search=PromptSearch(fork, blocks, finder, deadline_ms=SEARCH_MS),
        relayed=relayed or RelayedAnswers(),
    )
    done = await enricher.enrich(path, body, caller)
    lessons = list[Lesson]()
    for one in heard:
        message = NewMessage.of(fork, one)
        lessons.append(Lesson(one, message, tuple(extract_statements(fork, message))))
        await asyncio.sleep(0)
    placed = done.placed
    recollection = placed.recollection if placed is not None else Recollection(style=fork.tuning.recollection_style)
    return DryRun(
        body=done.body,
        prompt=done.prompt,
        placed=placed,
        recollection=recollection,
        lessons=tuple(lessons),
        step=done.step,
        answer=done.answer[1] if done.answer is not None else b"",
        unread_characters=events.event.get("unread_characters", 0),
        restrictions=events.event.get("restrictions", {}),
        lookup=done.lookup,
        notes=tuple(_list_notes(fork, done.lookup, recollection, caller.project)),
    )


def _list_notes(
    cache: Cache, lookup: Lookup | None, recollection: Recollection, project: int | None
) -> Iterator[LookedAt]:
    """Yield the notes in the order in which they were considered."""
    lines = {note.key: render_note(note) for note in (lookup.found if lookup is not None else ())}
    lines |= {NoteKey("state", key): render_state(row) for key, row in cache.states.of(project).rows.items()}
    for key, why in ((lookup.reasons if lookup is not None else {}) | recollection.notes).items():
        yield LookedAt(key, lines.get(key, ""), why)
