"""What would become of a request: the pipeline of prompts itself, on stand-ins for all that a prompt changes."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from memory.cache.state import Cache
from memory.domain.recall.notes import NoteKey
from memory.domain.statement import Statement
from memory.domain.switches import Restrictions
from memory.domain.types import SoasRow
from memory.ingest.encounters import Encounters
from memory.ingest.extraction import NewMessage, extract_statements
from memory.ingest.reader import Reader, Reading, read_rest
from proxy.auth import OFF_FOR_AGENT, Caller
from proxy.domain.config_schema import Loops
from proxy.domain.formats.base import Prompt
from proxy.domain.loops.mitigations import Intervention
from proxy.enrichment.conversations import Conversations
from proxy.enrichment.loop_guard import LoopGuard
from proxy.enrichment.pipeline import Counts, Enricher
from proxy.enrichment.placement import BlockPlacer, Placed
from proxy.enrichment.prompt_search import Lookup, PromptSearch, RelatedFinder
from proxy.enrichment.turns import Turns
from proxy.telemetry.events import Events, Given
from proxy.telemetry.write_behind import Row
from proxy.upstream.modelfiles import Modelfiles

SEARCH_MS = 1_000  # nobody's prompt waits
TEXT_PATH = "/api/chat"  # how a mere text is asked about


@dataclass(frozen=True, slots=True)
class HeardMessage:
    """A message that would be new, what would be learned from it, and its text as it is read."""

    message: NewMessage
    text: str
    statements: tuple[Statement, ...]

    @property
    def reading(self) -> Reading:
        return self.message.reading


@dataclass(frozen=True, slots=True)
class DryRun:
    """What would become of a request in a conversation that begins with it. ``prompt`` is None where it would go on as
    it is; ``step``: what would be done against a loop; ``answer``: in place of the model's."""

    agent: str
    body: bytes  # as it would be sent
    prompt: Prompt | None
    placed: Placed | None
    heard: tuple[HeardMessage, ...]
    step: str = ""
    answer: bytes = b""
    unread_characters: int = 0
    restrictions: Restrictions = field(default_factory=dict)  # what is not done, and why
    lookup: Lookup | None = None  # of memories and episodes


@dataclass(slots=True)
class _Listener(Encounters):
    """Hears what is new, and counts nothing."""

    heard: list[NewMessage] = field(default_factory=list)

    def note_asked(self, rows: Iterable[SoasRow], now: float) -> None:
        pass

    def _add(self, message: NewMessage) -> None:
        self.heard.append(message)


class _Placer(BlockPlacer):
    """Remembers what was placed last."""

    placed: Placed | None = None

    def place(self, *said: Any, **more: Any) -> Placed:
        self.placed = super().place(*said, **more)
        return self.placed


class _Events(Events):
    """Keeps the event, and writes nothing."""

    def __init__(self) -> None:
        super().__init__("")
        self.event: Row = {}

    def add(self, event: Row) -> None:
        self.event = event

    def add_given(self, given: Given, used: Mapping[NoteKey, bool | None]) -> None:
        pass

    def loop_met(self, met: Intervention, **asked: Any) -> None:
        pass


def write_prompt(text: str, role: str, model: str = "") -> bytes:
    """The body for TEXT_PATH of a request that says nothing but the text."""
    return orjson.dumps({"model": model, "messages": [{"role": role, "content": text}]})


async def run_dry(
    cache: Cache,
    modelfiles: Modelfiles,
    loops: Callable[[], Loops],
    turns: Turns,
    searcher: RelatedFinder | None = None,
    *,
    path: str,
    body: bytes,
    agent: str,
) -> DryRun:
    """Changes nothing. Call it on the event loop that keeps the cache."""
    fork = cache.fork()
    conversations, encounters, events = Conversations(), _Listener(fork), _Events()
    placer = _Placer(fork, conversations, modelfiles)
    enricher = Enricher(
        cache=fork,
        reader=Reader(fork),
        encounters=encounters,
        conversations=conversations,
        placer=placer,
        guard=LoopGuard(),
        events=events,
        loops=loops,
        counts=Counts(),
        prompt_search=PromptSearch(fork, conversations, searcher, deadline_ms=SEARCH_MS),
        turns=turns,
    )
    # As its token would have it; an agent that is not registered has no settings.
    token = next((row for row in cache.agents.values() if row.name == agent), None)
    off = dict.fromkeys(token.off, OFF_FOR_AGENT) if token is not None else {}
    project = token.project if token is not None else None
    done = await enricher.enrich(path, body, Caller(agent, token, is_local=True, restrictions=off, project=project))
    turn, heard = turns.begin(), []
    for message in encounters.heard:
        text = message.reading.text  # secrets are blanked when all is read
        await turn.run(read_rest(fork, message.reading))
        heard.append(HeardMessage(message, text, tuple(extract_statements(fork, message))))
        await turn.step()
    return DryRun(
        agent=agent,
        body=done.body,
        prompt=done.prompt,
        placed=placer.placed,
        heard=tuple(heard),
        step=done.step,
        answer=done.answer[1] if done.answer is not None else b"",
        unread_characters=events.event.get("unread_characters", 0),
        restrictions=events.event.get("restrictions", {}),
        lookup=done.lookup,
    )
