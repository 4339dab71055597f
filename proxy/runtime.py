"""What a server process holds while it runs: the cache and what keeps it, the upstream, the enricher."""

import asyncio
import gc
import logging
from dataclasses import dataclass, field
from functools import partial

from django.conf import settings

from festinger_site.celery import wake
from memory import cache
from memory.coherence import Coherence
from memory.encounters import Encounters
from memory.flusher import Flusher
from memory.observations import Observations
from memory.reading import Reader
from proxy.enrich import Enricher
from proxy.events import Events
from proxy.modelfiles import Modelfiles
from proxy.upstream import Upstream

logger = logging.getLogger(__name__)

MODELS_CHANGED = "models"
SETTLE = "resolution.tasks.settle_observations"
LEARN_S = 1.0  # for what was heard last, when the supervisor waits


@dataclass(slots=True)
class Runtime:
    """Started and stopped by the ASGI lifespan."""

    world: cache.Cache
    upstream: Upstream
    modelfiles: Modelfiles
    observations: Observations
    encounters: Encounters
    enricher: Enricher
    coherence: Coherence
    flusher: Flusher
    events: Events
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    @classmethod
    def from_settings(cls) -> "Runtime":
        world = cache.world
        upstream = Upstream(settings.FESTINGER_UPSTREAM)
        coherence = Coherence(world, settings.DATABASE_URL)
        modelfiles = Modelfiles(upstream, tell_others=partial(coherence.signal, MODELS_CHANGED))
        coherence.subscribe(MODELS_CHANGED, modelfiles.forget)
        observations = Observations(settings.DATABASE_URL, settings.JOURNAL, wake=partial(wake, SETTLE))
        encounters = Encounters(world, observations.add)
        events = Events(settings.DATABASE_URL)
        return cls(
            world=world,
            upstream=upstream,
            modelfiles=modelfiles,
            observations=observations,
            encounters=encounters,
            enricher=Enricher(world, Reader(world), encounters, modelfiles, events),
            coherence=coherence,
            flusher=Flusher(world, encounters, settings.DATABASE_URL),
            events=events,
        )

    async def start(self) -> None:
        """Returns when the cache is loaded; without it where Postgres is away: prompts then go on as they are
        until it is back."""
        parts = (self.coherence, self.encounters, self.observations, self.flusher, self.events)
        self._tasks = [asyncio.create_task(part.run()) for part in parts]
        await self.coherence.wait_tried()
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
        await asyncio.gather(self.observations.write(), self.flusher.flush_last(), self.events.write_last())
        await self.observations.write_last()  # also what the last flush learned
        await self.modelfiles.aclose()
        await self.upstream.aclose()


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
