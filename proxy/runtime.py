"""What a server process holds while it runs: the cache and what keeps it, the upstream, the enricher."""

import asyncio
import gc
import logging
from dataclasses import dataclass, field
from functools import partial

from django.apps import apps
from django.conf import settings

from memory.apps import MemoryConfig
from memory.cache.state import Cache
from memory.cache.sync import Coherence
from memory.heartbeats import ServerPulse
from memory.ingest.encounters import Encounters
from memory.ingest.flusher import Flusher
from memory.ingest.reader import Reader
from memory.outbox.outbox import Outbox
from memory.outbox.wakeup import send_wakeup
from proxy.config_file.watcher import SettingsFile
from proxy.domain.config_schema import Rules
from proxy.enrichment.conversations import Conversations
from proxy.enrichment.injection_log import InjectionFollower, InjectionLog
from proxy.enrichment.loop_guard import LoopGuard, Trip
from proxy.enrichment.pipeline import Counts, Enricher
from proxy.enrichment.placement import BlockPlacer
from proxy.telemetry.events import Events
from proxy.upstream.client import Upstream
from proxy.upstream.modelfiles import Modelfiles

logger = logging.getLogger(__name__)

MODELS_CHANGED = "models"
TRIPS = "trips"
SETTLE = "resolution.tasks.settle_observations"
LEARN_S = 1.0  # for what was heard last, when the supervisor waits


@dataclass(slots=True)
class Runtime:
    """Started and stopped by the ASGI lifespan."""

    world: Cache
    settings_file: SettingsFile
    upstream: Upstream
    modelfiles: Modelfiles
    outbox: Outbox
    encounters: Encounters
    enricher: Enricher
    coherence: Coherence
    flusher: Flusher
    events: Events
    conversations: Conversations
    injection_log: InjectionLog
    pulse: ServerPulse
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    @classmethod
    def from_settings(cls) -> "Runtime":
        app = apps.get_app_config("memory")
        assert isinstance(app, MemoryConfig)
        world, coherence = app.cache, app.coherence
        settings_file = SettingsFile.from_settings()
        server = settings_file.rules.upstream
        upstream = Upstream(server.url, server.connect_timeout_s)
        modelfiles = Modelfiles(upstream, broadcast=partial(coherence.signal, MODELS_CHANGED))
        coherence.subscribe(MODELS_CHANGED, lambda _: modelfiles.forget())
        outbox = Outbox(settings.DATABASE_URL, settings.JOURNAL, wake=partial(send_wakeup, SETTLE))
        encounters = Encounters(world, outbox.add)
        events = Events(settings.DATABASE_URL)
        injection_log = InjectionLog(settings.DATABASE_URL)
        conversations = Conversations(record=injection_log.add)
        coherence.follow("injection", InjectionFollower(conversations))
        guard = LoopGuard(broadcast=partial(tell_trip, coherence))
        coherence.subscribe(TRIPS, lambda told: guard.remember(trip_of(told)))
        settings_file.subscribe(partial(follow, upstream, modelfiles, conversations))
        follow(upstream, modelfiles, conversations, settings_file.rules)
        enricher = Enricher(
            cache=world,
            reader=Reader(world),
            encounters=encounters,
            conversations=conversations,
            placer=BlockPlacer(world, conversations, modelfiles),
            guard=guard,
            events=events,
            loops=lambda: settings_file.rules.loops,
            counts=Counts(),
        )
        return cls(
            world=world,
            settings_file=settings_file,
            upstream=upstream,
            modelfiles=modelfiles,
            outbox=outbox,
            encounters=encounters,
            enricher=enricher,
            coherence=coherence,
            flusher=Flusher(world, encounters, settings.DATABASE_URL),
            events=events,
            conversations=conversations,
            injection_log=injection_log,
            pulse=ServerPulse(settings.DATABASE_URL),
        )

    async def start(self) -> None:
        """Returns when the cache is loaded; without it where Postgres is away: prompts then go on as they are
        until it is back."""
        writers = (self.outbox, self.flusher, self.events, self.injection_log)
        parts = (self.settings_file, self.coherence, self.encounters, self.pulse, *writers)
        self._tasks = [asyncio.create_task(part.run()) for part in parts]
        await self.coherence.tried.wait()
        if self.world.loaded_at is not None:
            await self.flusher.remember_seen()
        self.enricher.warm_up()
        # What is there now stays: the collector need not look through it again and again.
        gc.collect()
        gc.freeze()

    async def stop(self) -> None:
        """Writes what was counted, closes what was opened."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)  # whatever ended one: the last flush must come
        await asyncio.wait([asyncio.create_task(self.encounters.learn())], timeout=LEARN_S)
        await asyncio.gather(
            self.outbox.write(),
            self.flusher.flush_last(),
            self.events.write_last(),
            self.injection_log.write_last(),
            self.pulse.write_last(),
        )
        await self.outbox.write_last()  # also what the last flush learned
        await self.modelfiles.aclose()
        await self.upstream.aclose()


def follow(upstream: Upstream, modelfiles: Modelfiles, conversations: Conversations, rules: Rules) -> None:
    """The upstream moves to where the rules say it is."""
    conversations.conversations_max = rules.limits.conversations
    if upstream.move(rules.upstream.url, rules.upstream.connect_timeout_s):
        modelfiles.forget()


_telling: set[asyncio.Task[None]] = set()


def tell_trip(coherence: Coherence, trip: Trip) -> None:
    """The model rests whichever process serves its conversation next."""
    task = asyncio.create_task(coherence.signal(TRIPS, f"{trip.conversation.hex()} {trip.until!r} {trip.count}"))
    _telling.add(task)
    task.add_done_callback(_telling.discard)


def trip_of(told: str) -> Trip:
    conversation, until, count = told.split()
    return Trip(bytes.fromhex(conversation), float(until), int(count))


_current: Runtime | None = None


def current() -> Runtime:
    """The running process's runtime. Raises RuntimeError outside a server."""
    if _current is None:
        raise RuntimeError("the server has not started")
    return _current


async def start() -> None:
    global _current
    runtime = Runtime.from_settings()
    await runtime.start()
    _current = runtime


async def stop() -> None:
    global _current
    if _current is not None:
        runtime, _current = _current, None
        await runtime.stop()
