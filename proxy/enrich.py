"""The part of the hot path between a request's body and the upstream's: read, observe, recall, inject.

It only reads and writes this process's memory. Whatever goes wrong in it is logged and counted, and the
original request goes on.
"""

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass

import orjson

from memory.cache import Cache
from memory.domain.messages import Message
from memory.learn import Encounters, Reader, Reading
from memory.recall import Recollection, disputes, recollect
from proxy.domain.native import Prompt, WireFormat
from proxy.modelfiles import Modelfiles

logger = logging.getLogger(__name__)

WARM_UP = ("The Glitch University repo is a part of Agent Zero.", "Größe ist kein Cue. Gnommoweb is a repo of Zürich.")


@dataclass(slots=True)
class Counts:
    """Since the process started."""

    requests: int = 0
    enriched: int = 0
    errors: int = 0


class Enricher:
    def __init__(self, cache: Cache, reader: Reader, encounters: Encounters, modelfiles: Modelfiles) -> None:
        self.counts = Counts()
        self._cache = cache
        self._reader = reader
        self._encounters = encounters
        self._modelfiles = modelfiles

    def warm_up(self) -> None:
        """Compiles the patterns that the first prompt would otherwise wait for, some 20 ms; counts nothing."""
        for text in WARM_UP:
            reading = self._reader.read(Message("user", text))
            recollect(self._cache, [reading], time.time())

    def enrich(self, wire: WireFormat, body: bytes) -> bytes:
        """The body with its recollection, or the very same body where there is nothing to add."""
        self.counts.requests += 1
        try:
            return self._enrich(wire, body, time.time())
        except Exception:
            self.counts.errors += 1
            logger.exception("enrich.failed", extra={"wire": wire.name, "bytes": len(body)})
            return body

    def _enrich(self, wire: WireFormat, body: bytes, now: float) -> bytes:
        payload = parse(body)
        prompt = wire.read(payload) if payload is not None else None
        if payload is None or prompt is None:
            return body
        system = "" if prompt.has_system else self._modelfiles.system_of(prompt.model)
        recollection = self._recollect(prompt, now)
        if not recollection.block or not wire.place(payload, recollection.block, system):
            return body
        self._note_asked(recollection, now)
        self.counts.enriched += 1
        return orjson.dumps(payload)

    def _recollect(self, prompt: Prompt, now: float) -> Recollection:
        readings = [self._reader.read(message) for message in prompt.messages]
        new = self._encounters.observe(opening(readings), readings, now)
        disputes(self._cache, new, now)
        return recollect(self._cache, readings, now)

    def _note_asked(self, recollection: Recollection, now: float) -> None:
        for row in recollection.asked:
            row.asked_count += 1
            row.asked_at = now
        self._encounters.note_asked([row.id for row in recollection.asked])


def parse(body: bytes) -> dict[str, object] | None:
    """The JSON object in the body, whatever its Content-Type says; None for anything else."""
    try:
        payload = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return payload if isinstance(payload, dict) else None


def opening(readings: Sequence[Reading]) -> bytes:
    """What tells one conversation from another: its first message that is not the system's, which clients
    rebuild from turn to turn."""
    return next((reading.digest for reading in readings if reading.role != "system"), b"")
