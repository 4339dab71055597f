"""The hot path of a server process, without a server: all words are known, and who teaches is the test."""

import asyncio
from collections.abc import Coroutine, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, cast

import orjson

from memory.access.switches import Restrictions
from memory.cache.state import Cache
from memory.learning.encounters import Encounters
from memory.learning.messages import NewMessage
from memory.learning.reader import Reader
from memory.settings.registry import Tuning
from memory.types import EdgeRow, NoteKey, SoasRow
from proxy.access.caller import Caller
from proxy.config.schema import Loops
from proxy.loops.guard import LoopGuard
from proxy.prompts.blocks import Blocks
from proxy.prompts.enricher import Enricher, Outcome
from proxy.prompts.plan import Planner
from proxy.prompts.search import PromptSearch, RelatedFinder
from proxy.telemetry.events import Events
from tests.steps import count_steps

DOBBY = Caller("dobby", None, is_local=True)
WORDS = ["gnommoweb", "kvasir", "repo", "worker", "type"]


@dataclass
class Written:
    """Events, kept."""

    added: list[dict[str, Any]] = field(default_factory=list)
    given: dict[str, list[NoteKey]] = field(default_factory=dict)

    def add(self, event: dict[str, Any]) -> None:
        self.added.append(event)

    def add_injected(self, request: str, conversation: bytes, at: float, notes: Iterable[NoteKey]) -> None:
        self.given[request] = list(notes)

    def record_loop(self, *_: object) -> None:
        pass

    def record_tail_loop(self, *_: object) -> None:
        pass


class Enriching:
    def __init__(self, searcher: RelatedFinder | None = None, deadline_ms: int = 2_000) -> None:
        self.cache = Cache(loaded_at=1.0, tuning=Tuning(zero_hit_max=0, recollection_style="compact"))
        for number, word in enumerate(WORDS, 1):
            self.cache.put_soas(word, SoasRow(id=number, novelty=1.0))
        self.events = Written()
        self.project: int | None = None
        self.heard: list[NewMessage] = []
        blocks = Blocks()
        planner = Planner(
            cache=self.cache,
            reader=Reader(self.cache),
            encounters=Encounters(self.cache, self.heard.append),
            blocks=blocks,
            guard=LoopGuard(),
            loops=Loops,
            prompt_search=PromptSearch(self.cache, blocks, searcher, deadline_ms=deadline_ms),
        )
        self.enricher = Enricher(planner, cast(Events, self.events))
        self.enricher.warm_up()

    def teach(self, concept: str, parent: str) -> None:
        ids = [self.cache.soas_by_token[word].id for word in (concept, parent, "type")]
        self.cache.put_edges(ids[0], [EdgeRow(*ids, True, 0.9, "gutask", None)])

    def ask(self, path: str, body: bytes | dict[str, Any], off: Restrictions | None = None) -> Outcome:
        """Return what becomes of the request; no error of the enrichment is passed over."""
        text = body if isinstance(body, bytes) else orjson.dumps(body)
        caller = replace(DOBBY, restrictions=off or {}, project=self.project)
        done = asyncio.run(self.enricher.enrich(path, text, caller))
        assert not done.has_failed
        return done


def count_slices(work: Coroutine[Any, Any, object]) -> Iterator[int]:
    """The steps of each piece of the work, between which others run."""
    is_over = False

    def go_on() -> None:
        nonlocal is_over
        try:
            work.send(None)
        except StopIteration:
            is_over = True

    while not is_over:
        yield count_steps(go_on)
