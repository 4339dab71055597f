"""Holds the state of a running server process: the cache and what keeps it current, the upstream, the enricher."""

import asyncio
import gc
import logging
from contextlib import suppress
from functools import partial

from django.apps import apps
from django.conf import settings

from memory.apps import MemoryConfig
from memory.db.write_behind import LAST_WRITE_S
from memory.learning.asked_and_seen import AskedAndSeen
from memory.learning.encounters import Encounters
from memory.learning.outbox import Outbox
from memory.learning.reader import Reader
from memory.learning.wakeup import send_wakeup
from memory.memories.forgetting import FORGOTTEN
from memory.running.heartbeats import ServerPulse, wait_for_worker
from memory.search.searcher import INDEXED, Searcher
from memory.search.vectors import builtin
from memory.search.vectors.embedders import BUILTIN
from proxy.access.projects import NamedProjects
from proxy.config.file import SettingsFile, environment
from proxy.config.schema import Rules
from proxy.loops.guard import BreakerTrip, LoopGuard
from proxy.prompts.block_log import InjectionFollower, InjectionLog
from proxy.prompts.blocks import Blocks
from proxy.prompts.enricher import Enricher
from proxy.prompts.note_states import STANDING, NoteFollower
from proxy.prompts.plan import Planner
from proxy.prompts.search import PromptSearch
from proxy.telemetry.events import Events
from proxy.upstream.client import Upstream

logger = logging.getLogger(__name__)

TRIPS = "trips"
LEARN = "resolution.tasks.learn"
LOAD_EMBEDDER_AFTER_S = 1.0  # by then the server listens: the libraries hold the interpreter for some 50 ms
WORKER_S = 60.0  # after this, the server is ready without a worker: prompts do not need one


class Runtime:
    """The parts of a server process, started and stopped by the ASGI lifespan."""

    def __init__(self) -> None:
        app = apps.get_app_config("memory")
        assert isinstance(app, MemoryConfig)
        self.cache, self.coherence = app.cache, app.coherence
        self.settings_file = SettingsFile(settings.CONFIG_FILE, environment())
        server = self.settings_file.rules.upstream
        self.upstream = Upstream(server.url, server.connect_timeout_s)
        self.projects = NamedProjects(self.cache, settings.DATABASE_URL)
        self.searcher = Searcher(settings.DATABASE_URL, self.cache)
        wake = partial(send_wakeup, LEARN)
        self.outbox = Outbox(settings.DATABASE_URL, settings.JOURNAL, wake, self.searcher.cached_vector)
        self.asked_and_seen = AskedAndSeen(self.cache, settings.DATABASE_URL)
        self.encounters = Encounters(self.cache, self.outbox.add, self.asked_and_seen.note_resent)
        self.events = Events(settings.DATABASE_URL)
        self.injection_log = InjectionLog(settings.DATABASE_URL)
        self.blocks = Blocks(record=self.injection_log.add)
        guard = LoopGuard(broadcast=self._tell_trip)
        self.planner = Planner(
            cache=self.cache,
            reader=Reader(self.cache),
            encounters=self.encounters,
            blocks=self.blocks,
            guard=guard,
            loops=lambda: self.settings_file.rules.loops,
            prompt_search=PromptSearch(self.cache, self.blocks, self.searcher),
        )
        self.enricher = Enricher(self.planner, self.events, self.asked_and_seen.note_asked, self.outbox.forget)
        self.pulse = ServerPulse(settings.DATABASE_URL)
        self.has_worker = not settings.IS_LAUNCHED
        self._tasks: list[asyncio.Task[None]] = []
        self._telling: set[asyncio.Task[None]] = set()  # the event loop keeps only weak references to tasks

        # Messages of other processes, and changes of config.yaml.
        self.coherence.subscribe(FORGOTTEN, self._follow_forgotten)
        self.coherence.follow("injection", InjectionFollower(self.blocks))
        for kind in STANDING:  # after the injections, which show the notes
            self.coherence.follow(kind, NoteFollower(self.cache, self.blocks, kind))
        for table, of in INDEXED.items():
            self.coherence.follow(table, self.searcher.indexes.follower(of))
        self.coherence.before_barriers(self.searcher.indexes.settle)
        self.coherence.subscribe(TRIPS, lambda told: guard.remember(read_trip(told)))
        self.settings_file.subscribe(self._follow)
        self._follow(self.settings_file.rules)

    @property
    def is_ready(self) -> bool:
        """True if prompts are recalled for, and what they teach is placed soon. It stays so while Postgres, the
        upstream or the worker is away."""
        return self.cache.loaded_at is not None and self.has_worker

    async def start(self) -> None:
        """Start all parts, and return when the cache is loaded. If Postgres is away, return without it: prompts are
        then forwarded unchanged until it is back."""
        writers = (self.outbox, self.asked_and_seen, self.events, self.injection_log)
        parts = (self.settings_file, self.coherence, self.searcher, self.pulse, *writers)
        self._tasks = [asyncio.create_task(part.run()) for part in parts]
        self._tasks += [asyncio.create_task(self._load_embedder()), asyncio.create_task(self._find_worker())]
        await self.coherence.tried.wait()
        if self.cache.loaded_at is not None:
            self.encounters.remember(await self.asked_and_seen.load_seen())
        self.enricher.warm_up()
        # The cache stays: a full collection would walk through all of it while every stream waits.
        gc.collect()
        gc.freeze()

    async def stop(self) -> None:
        """Write what is queued, and close what was opened."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)  # the last write must come, however a task ended
        await asyncio.gather(
            self.outbox.write_last(),
            self.asked_and_seen.write(LAST_WRITE_S),
            self.events.write(LAST_WRITE_S),
            self.injection_log.write(LAST_WRITE_S),
            self.pulse.write_last(),
        )
        await self.upstream.aclose()

    async def _load_embedder(self) -> None:
        """Load the embedder before anybody waits for it. Until then, searches work without vectors."""
        await asyncio.sleep(LOAD_EMBEDDER_AFTER_S)
        if self.cache.tuning.embedder == BUILTIN:
            builtin.load_in_background()

    async def _find_worker(self) -> None:
        """Wait for the worker, which starts together with the server: facts taught before would have to wait for it."""
        if not self.has_worker:
            with suppress(TimeoutError):
                async with asyncio.timeout(WORKER_S):
                    await wait_for_worker(settings.DATABASE_URL)
            self.has_worker = True

    def _follow_forgotten(self, told: str) -> None:
        """Forget what this process alone knows of it; ``told``: the conversations, if only some messages went."""
        self.events.forget_newest()
        self.encounters.forget([bytes.fromhex(name) for name in told.split()])

    def _follow(self, rules: Rules) -> None:
        """Apply new rules; the upstream may move to another address."""
        self.upstream.move(rules.upstream.url, rules.upstream.connect_timeout_s)

    def _tell_trip(self, trip: BreakerTrip) -> None:
        """Tell the other processes, so that the model rests whichever process serves its conversation next."""
        told = f"{trip.conversation.hex()} {trip.until!r} {trip.count}"
        task = asyncio.create_task(self.coherence.signal(TRIPS, told))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)


def read_trip(told: str) -> BreakerTrip:
    conversation, until, count = told.split()
    return BreakerTrip(bytes.fromhex(conversation), float(until), int(count))


_current: Runtime | None = None


def current() -> Runtime:
    """Return the running process's runtime. Raises RuntimeError outside a server."""
    if _current is None:
        raise RuntimeError("the server has not started")
    return _current


async def start() -> None:
    global _current
    runtime = Runtime()
    await runtime.start()
    _current = runtime


async def stop() -> None:
    global _current
    if _current is not None:
        runtime, _current = _current, None
        await runtime.stop()
